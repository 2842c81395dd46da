#include <cmath>

#include <gmock/gmock.h>

#include "base/random.h"
#include "engine/dense/low_rank_head_impl.h"
#include "engine/memory.h"
#include "engine/networks.h"
#include "engine/plain_forward.h"
#include "engine/recorder.h"
#include "linalg/gemm.h"
#include "network/seen_keys.h"
#include <rankfall/decompose.h>
#include <rankfall/error.h>
#include <rankfall/forward.h>
#include <rankfall/process.h>
#include <rankfall/split.h>
#include <rankfall/variants.h>

namespace rankfall {
namespace {

using testing::HasSubstr;

constexpr Index kN = 37;
constexpr Index kD = 6;

Matrix<double> drawn(const char* name, Index rows, Index cols) {
  Matrix<float> out(rows, cols);
  fill_normal(random_key(5, name), 0, std::span(out.data(), static_cast<std::size_t>(out.size())), 0.8);
  return out.cast<double>();
}

struct Case {
  const char* name;
  AttentionWeights weights;
  bool causal;
};
const Case kCases[] = {
    {"linformer", LinformerWeights{.k = 9, .seed = 3}, false},
    {"linformer, more rows than tokens", LinformerWeights{.k = 50}, false},
    {"linformer, pooled", LinformerWeights{.k = 5, .pooled = true}, false},
    {"nystrom", NystromWeights{.landmarks = 7}, false},
    {"performer", FeatureWeights{.features = 20, .seed = 1}, false},
    {"performer, causal", FeatureWeights{.features = 20}, true},
};

Attention attention_of(const Case& c) {
  Attention a;
  a.d_head = kD;
  a.scale = 0.7;
  a.mask.causal = c.causal;
  a.weights = c.weights;
  return a;
}

std::vector<std::uint8_t> padding(Index n) {
  std::vector<std::uint8_t> valid(static_cast<std::size_t>(n), 1);
  valid[0] = valid[1] = valid[10] = valid[static_cast<std::size_t>(n - 1)] = 0;
  return valid;
}

template <class T>
Matrix<T> drawn_for(const Attention& a, Index block, Index head) {
  return drawn_matrix(a, block, head, 400).cast<T>();
}

// The definitions, a number at a time and with whole matrices.
class Plain {
 public:
  Plain(const Attention& a, Matrix<double> q, Matrix<double> k, std::vector<std::uint8_t> valid, Index block = 2,
        Index head = 1)
      : a_(a), q_(std::move(q)), k_(std::move(k)), valid_(std::move(valid)), block_(block), head_(head) {}

  Matrix<double> p() const {
    return std::visit([&](const auto& weights) { return of(weights); }, a_.weights);
  }

 private:
  bool sees(Index i, Index j) const {
    return (valid_.empty() || valid_[static_cast<std::size_t>(j)] != 0) && (!a_.mask.causal || j <= i);
  }
  bool is_token(Index j) const { return valid_.empty() || valid_[static_cast<std::size_t>(j)] != 0; }

  static Matrix<double> softmax(const Matrix<double>& z) {
    Matrix<double> p = z.array().exp();
    for (Index i = 0; i < p.rows(); ++i) p.row(i) /= p.row(i).sum();
    return p;
  }

  // Newton's iteration for the inverse, of products alone. 60 steps are enough for a condition of 1e9.
  static Matrix<double> inverse_of(const Matrix<double>& a) {
    Matrix<double> x = a.transpose() / a.squaredNorm();
    for (int step = 0; step < 60; ++step) x = 2 * x - x * (a * x);
    return x;
  }

  // [runs, n]: row r takes the mean of run r of the tokens that are no padding.
  Matrix<double> pooling(Index runs) const {
    std::vector<Index> tokens;
    for (Index j = 0; j < k_.rows(); ++j) {
      if (is_token(j)) tokens.push_back(j);
    }
    const auto n = static_cast<Index>(tokens.size());
    Matrix<double> e = Matrix<double>::Zero(runs, k_.rows());
    for (Index t = 0; t < n; ++t) {
      Index run = 0;
      while ((run + 1) * n / runs <= t) ++run;
      e(run, tokens[static_cast<std::size_t>(t)]) = 1;
    }
    for (Index r = 0; r < runs; ++r) e.row(r) /= e.row(r).sum();
    return e;
  }

  Matrix<double> of(const SoftmaxWeights&) const {
    Matrix<double> p = Matrix<double>::Zero(q_.rows(), k_.rows());
    for (Index i = 0; i < q_.rows(); ++i) {
      for (Index j = 0; j < k_.rows(); ++j) {
        if (sees(i, j)) p(i, j) = std::exp(a_.scale * q_.row(i).dot(k_.row(j)));
      }
      if (p.row(i).sum() > 0) p.row(i) /= p.row(i).sum();
    }
    return p;
  }
  Matrix<double> of(const GaussianWeights&) const { return {}; }
  Matrix<double> of(const LinformerWeights& w) const {
    Matrix<double> e = w.pooled ? pooling(w.k) : drawn_matrix(a_, block_, head_, k_.rows());
    for (Index j = 0; j < k_.rows(); ++j) {
      if (!is_token(j)) e.col(j).setZero();
    }
    return softmax(a_.scale * q_ * (e * k_).transpose()) * e;
  }
  Matrix<double> of(const NystromWeights& w) const {
    const Matrix<double> means = pooling(w.landmarks);
    const Matrix<double> queries = means * q_;
    const Matrix<double> keys = means * k_;
    Matrix<double> across = (a_.scale * queries * k_.transpose()).array().exp();
    for (Index j = 0; j < k_.rows(); ++j) {
      if (!is_token(j)) across.col(j).setZero();
    }
    for (Index r = 0; r < across.rows(); ++r) across.row(r) /= across.row(r).sum();
    const Matrix<double> middle = softmax(a_.scale * queries * keys.transpose());
    return softmax(a_.scale * q_ * keys.transpose()) * inverse_of(middle) * across;
  }
  Matrix<double> of(const FeatureWeights& w) const {
    const Matrix<double> directions = drawn_matrix(a_, block_, head_, k_.rows());
    const auto feature = [&](const Matrix<double>& x, Index i, Index f) {
      const RowVector<double> scaled = std::sqrt(a_.scale) * x.row(i);
      return std::exp(directions.row(f).dot(scaled) - scaled.squaredNorm() / 2);
    };
    Matrix<double> p = Matrix<double>::Zero(q_.rows(), k_.rows());
    for (Index i = 0; i < q_.rows(); ++i) {
      for (Index j = 0; j < k_.rows(); ++j) {
        if (!sees(i, j)) continue;
        for (Index f = 0; f < w.features; ++f) p(i, j) += feature(q_, i, f) * feature(k_, j, f);
      }
      if (p.row(i).sum() > 0) p.row(i) /= p.row(i).sum();
    }
    return p;
  }

  const Attention& a_;
  Matrix<double> q_, k_;
  std::vector<std::uint8_t> valid_;
  Index block_, head_;
};

template <class T>
void expect_as_defined(double tolerance) {
  const BlasThreads one_blas_thread(1);
  const Matrix<double> q = drawn("q", kN, kD);
  const Matrix<double> k = drawn("k", kN, kD);
  const Matrix<double> v = drawn("v", kN, 4);
  for (const Case& c : kCases) {
    for (const bool padded : {false, true}) {
      SCOPED_TRACE(std::string(c.name) + (padded ? ", padded" : ""));
      const Attention a = attention_of(c);
      const auto valid = padded ? padding(kN) : std::vector<std::uint8_t>();
      const Matrix<double> expected = Plain(a, q, k, valid).p();
      const LowRankHead<T> head(a, drawn_for<T>(a, 2, 1), q.cast<T>(), k.cast<T>(), valid);
      Matrix<T> p(kN, kN);
      head.rows(0, p);
      EXPECT_LE((p.template cast<double>() - expected).cwiseAbs().maxCoeff(), tolerance);
      Matrix<T> part(5, kN);
      head.rows(11, part);
      EXPECT_LE((part.template cast<double>() - expected.middleRows(11, 5)).cwiseAbs().maxCoeff(), tolerance);
      Matrix<T> out(kN, 4);
      head.attend(v.cast<T>(), out);
      EXPECT_LE((out.template cast<double>() - expected * v).cwiseAbs().maxCoeff(), 10 * tolerance);
    }
  }
}

TEST(AttentionKinds, AreAsDefined) {
  expect_as_defined<double>(1e-12);
  expect_as_defined<float>(1e-4);
}

// Causal random features pass over runs of 128 rows.
TEST(AttentionKinds, RunsOfRowsJoin) {
  const BlasThreads one_blas_thread(1);
  const Index n = 2 * kQueryRows + 9;
  const Attention a = attention_of(kCases[5]);
  const Matrix<double> q = drawn("q", n, kD);
  const Matrix<double> k = drawn("k", n, kD);
  const Matrix<double> v = drawn("v", n, 3);
  const auto valid = padding(n);
  const LowRankHead<double> head(a, drawn_for<double>(a, 2, 1), q, k, valid);
  Matrix<double> out(n, 3);
  head.attend(v, out);
  EXPECT_LE((out - Plain(a, q, k, valid).p() * v).cwiseAbs().maxCoeff(), 1e-12);
}

// Random features of block and head 0 from their definition; e^x of 80-bit numbers reaches 10^4932.
Matrix<double> widest(const Attention& a, const Matrix<double>& q, const Matrix<double>& k,
                      const std::vector<std::uint8_t>& valid) {
  const Matrix<double> w = std::sqrt(a.scale) * drawn_matrix(a, 0, 0, k.rows());
  const Matrix<double> of_queries = q * w.transpose();
  Matrix<double> of_keys = k * w.transpose();
  for (Index j = 0; j < k.rows(); ++j) of_keys.row(j).array() -= a.scale / 2 * k.row(j).squaredNorm();
  Matrix<double> p = Matrix<double>::Zero(q.rows(), k.rows());
  for (Index i = 0; i < q.rows(); ++i) {
    std::vector<long double> row(static_cast<std::size_t>(k.rows()), 0);
    long double sum = 0;
    for (Index j = 0; j < k.rows(); ++j) {
      const auto at = static_cast<std::size_t>(j);
      if ((!valid.empty() && valid[at] == 0) || (a.mask.causal && j > i)) continue;
      for (Index f = 0; f < w.rows(); ++f)
        row[at] += std::exp(static_cast<long double>(of_queries(i, f)) + of_keys(j, f));
      sum += row[at];
    }
    for (Index j = 0; j < k.rows() && sum > 0; ++j)
      p(i, j) = static_cast<double>(row[static_cast<std::size_t>(j)] / sum);
  }
  return p;
}

// Exponents far beyond what e^x can hold, in float and in double: queries that look where no key is, and, with a causal
// mask, keys that grow so that the sums of early rows are nothing beside those of late ones.
template <class T>
void expect_large_exponents(double size, double tolerance) {
  const BlasThreads one_blas_thread(1);
  const Index n = kQueryRows + 40;
  Matrix<double> q = size * drawn("q", n, kD);
  Matrix<double> k = drawn("k", n, kD);
  for (Index i = 0; i < n; ++i) k.row(i) *= size * static_cast<double>(n - i) / static_cast<double>(n);
  q = q.cast<T>().template cast<double>();
  k = k.cast<T>().template cast<double>();
  const Matrix<double> v = drawn("v", n, 3);
  for (const bool causal : {false, true}) {
    for (const bool padded : {false, true}) {
      const Attention a = attention_of({"", FeatureWeights{.features = 24}, causal});
      const auto valid = padded ? padding(n) : std::vector<std::uint8_t>();
      const LowRankHead<T> head(a, drawn_for<T>(a, 0, 0), q.cast<T>(), k.cast<T>(), valid);
      Matrix<T> p(n, n);
      head.rows(0, p);
      EXPECT_LE((p.template cast<double>() - widest(a, q, k, valid)).cwiseAbs().maxCoeff(), tolerance);
      for (Index i = 0; i < n; ++i) {
        const bool sees = !padded || !causal || i >= 2;
        EXPECT_NEAR(static_cast<double>(p.row(i).sum()), sees ? 1 : 0, 1e-5) << i;
      }
      Matrix<T> out(n, 3);
      head.attend(v.cast<T>(), out);
      EXPECT_LE((out.template cast<double>() - p.template cast<double>() * v).cwiseAbs().maxCoeff(), 1e-5);
    }
  }
}
TEST(AttentionKinds, RandomFeaturesDoNotLeaveTheRange) {
  expect_large_exponents<float>(20, 5e-3);  // exponents of thousands, to 7 digits
  expect_large_exponents<double>(40, 1e-9);
}

// Landmarks that are nearly alike, as they are where tokens collapse: float is as good as double.
TEST(AttentionKinds, LandmarksMayBeAlike) {
  const BlasThreads one_blas_thread(1);
  const Attention a = attention_of({"", NystromWeights{.landmarks = 16}, false});
  for (const double spread : {1.0, 1e-1, 1e-2}) {
    const Matrix<float> q = (Matrix<double>::Constant(kN, kD, 0.3) + spread * drawn("q", kN, kD)).cast<float>();
    const Matrix<float> k = (Matrix<double>::Constant(kN, kD, 0.3) + spread * drawn("k", kN, kD)).cast<float>();
    Matrix<float> p(kN, kN);
    Matrix<double> expected(kN, kN);
    LowRankHead<float>(a, drawn_for<float>(a, 0, 0), q, k, {}).rows(0, p);
    LowRankHead<double>(a, drawn_for<double>(a, 0, 0), q.cast<double>(), k.cast<double>(), {}).rows(0, expected);
    EXPECT_LE((p.cast<double>() - expected).norm(), 1e-4 * expected.norm()) << spread;
  }
}

// One token, two, nothing but padding.
TEST(AttentionKinds, FewTokens) {
  const BlasThreads one_blas_thread(1);
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const Attention a = attention_of(c);
    for (const Index n : {Index{1}, Index{2}}) {
      const Matrix<double> q = drawn("q", n, kD);
      const Matrix<double> k = drawn("k", n, kD);
      const Matrix<double> v = drawn("v", n, 4);
      Matrix<double> p(n, n), out(n, 4);
      const LowRankHead<double> head(a, drawn_for<double>(a, 0, 0), q, k, {});
      head.rows(0, p);
      head.attend(v, out);
      EXPECT_TRUE(p.allFinite());
      EXPECT_LE((out - p * v).cwiseAbs().maxCoeff(), 1e-13);
      if (has_distributions(c.weights)) {
        EXPECT_NEAR(p.row(n - 1).sum(), 1, 1e-14);
      }
      const std::vector<std::uint8_t> none(static_cast<std::size_t>(n), 0);
      const LowRankHead<double> blind(a, drawn_for<double>(a, 0, 0), q, k, none);
      blind.rows(0, p);
      blind.attend(v, out);
      EXPECT_EQ(p, (Matrix<double>::Zero(n, n)));
      EXPECT_EQ(out, (Matrix<double>::Zero(n, 4)));
    }
  }
}

TEST(AttentionKinds, WhatIsNoNumberIsFound) {
  const Model model = open_model("san:layers=1,heads=1,dim=4,features=4,norm=none,input_norm=0,std=0.5", 2);
  for (const char* kind : {"gaussian", "linformer:k=4", "linformer:k=4,pooled=1", "nystrom:m=4", "performer:m=4",
                           "window:w=8", "bigbird:w=8,global=0"}) {
    for (const double wrong : {std::numeric_limits<double>::quiet_NaN(), 1e30}) {
      const Network network = with_attention(model.network, attention_named(kind));
      Sample sample = random_samples(network, 1, 1, 20)[0];
      std::get<Features>(sample.content).values.row(7).setConstant(wrong);
      try {
        forward<float>(network, *model.weights, std::span(&sample, 1), {});
        // Where one key is far away its weight is one or nothing, which may be right.
        EXPECT_FALSE(std::isnan(wrong)) << kind;
      } catch (const Error& e) {
        EXPECT_EQ(e.kind(), ErrorKind::kNumerical) << kind;
      }
    }
  }
}

TEST(AttentionKinds, EnoughLandmarksAreExact) {
  const BlasThreads one_blas_thread(1);
  const Matrix<double> q = drawn("q", kN, kD);
  const Matrix<double> k = drawn("k", kN, kD);
  const auto valid = padding(kN);
  for (const AttentionWeights& weights : {AttentionWeights(NystromWeights{.landmarks = kN}),
                                          AttentionWeights(LinformerWeights{.k = kN, .pooled = true})}) {
    Attention a = attention_of({"", weights, false});
    Matrix<double> p(kN, kN);
    LowRankHead<double>(a, drawn_for<double>(a, 0, 0), q, k, valid).rows(0, p);
    a.weights = SoftmaxWeights{};
    // Landmarks: P P^+ P of a matrix whose small singular values count as zero.
    EXPECT_LE((p - Plain(a, q, k, valid).p()).cwiseAbs().maxCoeff(), 1e-8);
  }
}

// Monte Carlo: 64 times the features, an eighth of the error. Of longer vectors the variance, e^(|q + k|^2) of each
// product, asks for more features than a test has time for.
TEST(AttentionKinds, RandomFeaturesConverge) {
  const BlasThreads one_blas_thread(1);
  const Matrix<double> q = 0.5 * drawn("q", kN, kD);
  const Matrix<double> k = 0.5 * drawn("k", kN, kD);
  const auto error = [&](Index features) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Attention a = attention_of({"", FeatureWeights{.features = features, .seed = seed}, false});
      Matrix<double> p(kN, kN);
      LowRankHead<double>(a, drawn_for<double>(a, 0, 0), q, k, {}).rows(0, p);
      a.weights = SoftmaxWeights{};
      sum += (p - Plain(a, q, k, {}).p()).squaredNorm();
    }
    return std::sqrt(sum);
  };
  const double ratio = error(48) / error(64 * 48);
  EXPECT_GT(ratio, 5);
  EXPECT_LT(ratio, 12);
}

TEST(AttentionKinds, DirectionsAreOrthogonalInGroups) {
  const auto drawn_with = [](const AttentionWeights& weights, Index block, Index head, Index n) {
    Attention a;
    a.d_head = 4;
    a.weights = weights;
    return drawn_matrix(a, block, head, n);
  };
  const FeatureWeights features{.features = 10};
  const Matrix<double> w = drawn_with(features, 0, 0, 1);
  const Matrix<double> products = w * w.transpose();
  for (Index i = 0; i < 10; ++i) {
    for (Index j = 0; j < i; ++j) {
      if (i / 4 == j / 4) {
        EXPECT_NEAR(products(i, j), 0, 1e-12);
      } else {
        EXPECT_GT(std::abs(products(i, j)), 1e-6);
      }
    }
  }
  // No direction is preferred: 4,000 vectors with N(0, 1) in each channel, within four deviations.
  const Matrix<double> many = drawn_with(FeatureWeights{.features = 4000}, 0, 0, 1);
  EXPECT_LT(many.colwise().mean().cwiseAbs().maxCoeff(), 4 / std::sqrt(4000.0));
  EXPECT_LT((many.transpose() * many / 4000 - Matrix<double>::Identity(4, 4)).cwiseAbs().maxCoeff(), 0.1);
  for (Index first = 0; first < 4; ++first) {  // by place in the group
    RowVector<double> mean = RowVector<double>::Zero(4);
    for (Index i = first; i < 4000; i += 4) mean += many.row(i) / 1000;
    EXPECT_LT(mean.cwiseAbs().maxCoeff(), 4 / std::sqrt(1000.0)) << first;
  }
  EXPECT_NE(drawn_with(features, 0, 1, 1), w);
  EXPECT_NE(drawn_with(features, 1, 0, 1), w);
  EXPECT_NE(drawn_with(FeatureWeights{.features = 10, .seed = 1}, 0, 0, 1), w);
  EXPECT_EQ(drawn_with(FeatureWeights{.features = 10, .shift = {2, 1}}, 1, 0, 1), drawn_with(features, 3, 1, 1));
  // E of fewer tokens is its beginning; of many N(0, 1/k).
  const Matrix<double> e = drawn_with(LinformerWeights{.k = 16}, 0, 0, 4000);
  EXPECT_EQ(drawn_with(LinformerWeights{.k = 16}, 0, 0, 30), e.leftCols(30));
  EXPECT_NEAR(e.squaredNorm() / 4000, 1, 0.05);
  EXPECT_EQ(drawn_with(LinformerWeights{.pooled = true}, 0, 0, 30).size(), 0);
}

Network network_with(const Network& network, const char* kind) {
  return with_attention(network, attention_named(kind));
}

Matrix<double> last(const Network& network, const Model& model, const Sample& sample,
                    std::span<Observer<double>* const> observers = {}) {
  return forward<double>(network, *model.weights, std::span(&sample, 1), observers)[0];
}

// The plain pass, for its queries and keys.
struct Opened : plain::Forward<double> {
  using plain::Forward<double>::Forward;
  plain::Table<double> map(const Linear& f, const plain::Table<double>& x) const { return linear(f, x); }
  plain::Table<double> normed(const SubLayer& layer, const Matrix<double>& state) const {
    plain::Table<double> x;
    for (Index i = 0; i < state.rows(); ++i) x.emplace_back(state.row(i).begin(), state.row(i).end());
    return layer.branches[0].in ? norm(*layer.branches[0].in, x) : x;
  }
  Matrix<double> projected(const Attention& a, const Linear& f, const plain::Table<double>& x) const {
    const plain::Table<double> y = rotated(a, linear(f, x));
    Matrix<double> out(static_cast<Index>(y.size()), f.n_out());
    for (std::size_t i = 0; i < y.size(); ++i) {
      out.row(static_cast<Index>(i)) = Eigen::Map<const RowVector<double>>(y[i].data(), f.n_out());
    }
    return out;
  }
};

// A kernel that falls with the distance of queries and keys, from its definition.
TEST(AttentionKinds, GaussianWeightsAreThoseOfDistances) {
  const Model model = open_model("san:layers=1,heads=2,dim=8,vocab=30,std=0.6,norm=none", 4);
  const Network network = network_with(model.network, "gaussian");
  const Sample sample = random_samples(network, 1, 1, 12)[0];
  Recorder<double> recorder;
  std::vector<Observer<double>*> observers = {&recorder};
  last(network, model, sample, observers);
  const auto& a = std::get<Attention>(network.layers[0].branches[0].f);
  Opened opened(network, *model.weights);
  const auto states = opened.states(sample);
  const auto q = opened.map(a.q, states[0]);
  const auto k = opened.map(a.k, states[0]);
  for (const auto& [where, p] : recorder.attentions) {
    const auto first = static_cast<std::size_t>(where.second * a.d_head);
    for (std::size_t i = 0; i < q.size(); ++i) {
      std::vector<double> kernel(k.size());
      double sum = 0;
      for (std::size_t j = 0; j < k.size(); ++j) {
        double distance = 0;
        for (std::size_t c = first; c < first + static_cast<std::size_t>(a.d_head); ++c) {
          distance += (q[i][c] - k[j][c]) * (q[i][c] - k[j][c]);
        }
        kernel[j] = std::exp(-a.scale * distance / 2);
        sum += kernel[j];
      }
      for (std::size_t j = 0; j < k.size(); ++j) {
        EXPECT_NEAR(p(static_cast<Index>(i), static_cast<Index>(j)), kernel[j] / sum, 1e-13);
      }
    }
  }
}

// BigBird: as many blocks as asked for, none of them twice or seen anyway; the table is the definition.
TEST(AttentionKinds, BlocksOfKeysAreDrawn) {
  for (const bool causal : {false, true}) {
    Mask mask = *attention_named("bigbird:w=10,global=70,random=2").mask;
    mask.causal = causal;
    for (const Index n : {Index{1}, Index{64}, Index{300}, Index{20 * 64 + 5}}) {
      const Index n_blocks = (n + mask.block - 1) / mask.block;
      const SeenKeys table(mask, n);
      for (Index i = 0; i < n_blocks; ++i) {
        Index drawn = 0;
        for (Index j = 0; j < n_blocks; ++j) {
          EXPECT_EQ(table.draws(i, j), plain::draws(mask, i, j, n)) << n << " " << i << " " << j;
          if (plain::draws(mask, i, j, n)) ++drawn;
        }
        // Neither block 0, which is global, nor the block itself, nor later ones; block 1 is partly global.
        const Index candidates = causal ? std::max<Index>(i - 1, 0) : n_blocks - (i > 0 ? 2 : 1);
        EXPECT_EQ(drawn, std::min<Index>(2, candidates)) << n << " " << i;
      }
      for (Index i = 0; i < n; i += 7) {
        for (Index j = 0; j < n; ++j) ASSERT_EQ(table.allows(i, j), plain::allows(mask, i, j, n)) << i << " " << j;
        EXPECT_TRUE(plain::allows(mask, i, i, n));
        if (causal) {
          EXPECT_FALSE(plain::allows(mask, i, i + 1, n + 1));
        }
      }
    }
  }
  const Mask mask = *attention_named("bigbird").mask;
  const Mask other = *attention_named("bigbird:seed=1").mask;
  const auto drawn = [](const Mask& m) {
    std::vector<std::pair<Index, Index>> pairs;
    std::vector<Index> by_key(64);
    for (Index i = 0; i < 64; ++i) {
      for (Index j = 0; j < 64; ++j) {
        if (!plain::draws(m, i, j, 64 * m.block)) continue;
        pairs.emplace_back(i, j);
        ++by_key[static_cast<std::size_t>(j)];
      }
    }
    EXPECT_LT(*std::ranges::max_element(by_key), 12);  // three each on average
    return pairs;
  };
  EXPECT_EQ(drawn(mask).size(), 64U * 3U);
  EXPECT_NE(drawn(mask), drawn(other));
}

// The number of keys by arithmetic is the number by counting.
TEST(AttentionKinds, SeenKeysAreCounted) {
  for (const char* kind :
       {"window:w=3", "window:w=9,global=4", "bigbird:w=2,global=3,random=2,block=4",
        "bigbird:w=9,global=9,random=1,block=8", "bigbird:w=1,global=0,random=3,block=16", "bigbird"}) {
    for (const bool causal : {false, true}) {
      Mask mask = *attention_named(kind).mask;
      mask.causal = causal;
      for (const Index n : {1, 7, 50, 200}) {
        Index counted = 0;
        for (Index i = 0; i < n; ++i) {
          for (Index j = 0; j < n; ++j) counted += plain::allows(mask, i, j, n) ? 1 : 0;
        }
        EXPECT_DOUBLE_EQ(mean_seen_keys(mask, n), static_cast<double>(counted) / static_cast<double>(n))
            << kind << ' ' << causal << ' ' << n;
      }
    }
  }
  EXPECT_EQ(mean_seen_keys({}, 12), 12);
  EXPECT_EQ(mean_seen_keys({.causal = true}, 3), 2);
}

// Neither threads nor whoever looks on change a bit.
TEST(AttentionKinds, ObserversAndThreadsChangeNothing) {
  const Model model = open_model("san:layers=2,heads=3,dim=12,mlp=16,vocab=40,std=0.3", 2);
  for (const char* kind : {"gaussian", "linformer:k=8", "linformer:k=8,pooled=1", "nystrom:m=6", "performer:m=24",
                           "window:w=3", "bigbird:w=4,global=2,random=1"}) {
    SCOPED_TRACE(kind);
    const Network network = network_with(model.network, kind);
    const Sample sample = random_samples(network, 1, 1, 150)[0];
    const Matrix<double> expected = last(network, model, sample);
    EXPECT_NE(expected, last(model.network, model, sample));
    Recorder<double> recorder;
    std::vector<Observer<double>*> observers = {&recorder};
    EXPECT_EQ(last(network, model, sample, observers), expected);
    EXPECT_EQ(recorder.attentions.size(), 6U);
    set_threads(3);
    EXPECT_EQ(last(network, model, sample), expected);
    set_threads(0);
  }
}

// Mean and residual apart, and together.
TEST(AttentionKinds, CollapseIsFollowedWhereRowsSumToOne) {
  for (const char* spec : {"san:layers=3,heads=2,dim=8,vocab=40,std=0.4,norm=none",
                           "san:layers=3,heads=2,dim=8,vocab=40,std=0.4,mlp=12,relative=xlnet"}) {
    const Model model = open_model(spec, 2);
    for (const char* kind : {"gaussian", "window:w=3,global=1", "bigbird:w=2,global=0,random=1"}) {
      SCOPED_TRACE(std::string(spec) + " " + kind);
      const Network network = network_with(model.network, kind);
      const Sample sample = random_samples(network, 1, 1, 140)[0];
      const Matrix<double> x = last(network, model, sample);
      const SplitState split = track(network, *model.weights, std::span(&sample, 1), {}, {})[0];
      const Matrix<double> joined =
          (std::exp(split.residual.log) * split.residual.value).rowwise() + std::exp(split.mean.log) * split.mean.value;
      EXPECT_LE((joined - x).cwiseAbs().maxCoeff(), 1e-11 * x.cwiseAbs().maxCoeff());
    }
  }
  const Model model = open_model("san:layers=1,heads=2,dim=8,vocab=40", 2);
  for (const char* kind : {"linformer:k=8", "nystrom:m=8", "performer:m=8"}) {
    const Network network = network_with(model.network, kind);
    const Sample sample = random_samples(network, 1, 1, 20)[0];
    try {
      track(network, *model.weights, std::span(&sample, 1), {}, {});
      ADD_FAILURE() << kind;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kUsage);
      EXPECT_THAT(e.what(), HasSubstr("P is a softmax of logits"));
    }
  }
}

// Heads that share keys, and rotary positions, in a network: P of each head from the plain pass's queries and keys.
TEST(AttentionKinds, HeadsMayShareKeys) {
  const Model model = open_small(small_configs()[1], 3);
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    Network network = model.network;
    for (SubLayer& layer : network.layers) {
      auto* a = std::get_if<Attention>(&layer.branches[0].f);
      if (!a) continue;
      a->mask.causal = c.causal;
      a->weights = c.weights;
    }
    Sample sample = random_samples(network, 1, 1, kN)[0];
    sample.valid = padding(kN);
    Recorder<double> recorder;
    std::vector<Observer<double>*> observers = {&recorder};
    last(network, model, sample, observers);
    const Opened opened(network, *model.weights);
    for (const SubLayer& layer : network.layers) {
      const auto* a = std::get_if<Attention>(&layer.branches[0].f);
      if (!a) continue;
      ASSERT_LT(a->n_kv_heads, a->n_heads);
      const auto x = opened.normed(layer, recorder.states[static_cast<std::size_t>(layer.block)]);
      const Matrix<double> q = opened.projected(*a, a->q, x);
      const Matrix<double> k = opened.projected(*a, a->k, x);
      for (Index h = 0; h < a->n_heads; ++h) {
        const Matrix<double> expected =
            Plain(*a, q.middleCols(h * a->d_head, a->d_head),
                  k.middleCols(h * a->n_kv_heads / a->n_heads * a->d_head, a->d_head), sample.valid, layer.block, h)
                .p();
        EXPECT_LE((recorder.attentions.at({layer.block, h}) - expected).cwiseAbs().maxCoeff(), 1e-10);
      }
    }
  }
}

// A head that is run by itself has its own random numbers.
TEST(AttentionKinds, ReRunHeadsKeepTheirNumbers) {
  const Model model = open_model("san:layers=3,heads=3,dim=12,vocab=40,std=0.4,norm=none,attn_skip=0", 2);
  for (const char* kind : {"linformer:k=5", "performer:m=8", "nystrom:m=4", "bigbird:w=2,global=0"}) {
    SCOPED_TRACE(kind);
    const Network network = network_with(model.network, kind);
    const Sample sample = random_samples(network, 1, 1, 14)[0];
    const Network rerun = rerun_network(network, {{}, {{2, 1}}});
    Network block = network;  // block 2 alone, its numbers kept
    std::erase_if(block.layers, [](const SubLayer& layer) { return layer.block != 2; });
    const auto p_of = [&](const Network& of) {
      Recorder<double> recorder({.attention = Needs::Attention::kWhole});
      std::vector<Observer<double>*> observers = {&recorder};
      forward<double>(of, *model.weights, std::span(&sample, 1), observers);
      return recorder.attentions;
    };
    EXPECT_EQ(p_of(rerun).at({0, 0}), p_of(block).at({2, 1}));
  }
}

std::string refusal(const char* spec, const char* kind) {
  try {
    network_with(open_model(spec, 0).network, kind);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kUsage);
    return e.what();
  }
  return "";
}

TEST(AttentionKinds, WhatDoesNotFitIsRefused) {
  const char* causal = "san:layers=1,heads=2,dim=8,vocab=9,mask=causal";
  EXPECT_THAT(refusal(causal, "linformer"), HasSubstr("attention linformer: the model is causal"));
  EXPECT_THAT(refusal(causal, "nystrom:m=4"), HasSubstr("the model is causal"));
  EXPECT_EQ(refusal(causal, "performer"), "");
  EXPECT_EQ(refusal(causal, "window"), "");
  EXPECT_EQ(refusal(causal, "gaussian"), "");
  EXPECT_TRUE(
      std::get<Attention>(network_with(open_model(causal, 0).network, "window").layers[0].branches[0].f).mask.causal);
  EXPECT_THAT(refusal("san:layers=1,heads=2,dim=8,vocab=9,relative=xlnet", "performer"), HasSubstr("distances"));
  EXPECT_THAT(refusal("san:layers=1,heads=2,dim=8,vocab=9,mask=window,window=2", "nystrom"), HasSubstr("a window"));
}

TEST(AttentionKinds, ThinMatricesNeedLessMemoryThanTheirProduct) {
  const Network network = open_model("san:layers=2,heads=2,dim=16,vocab=40", 0).network;
  const MemoryPlan plan{.n_tokens = 100'000, .precision = Precision::kF32};
  const double full = memory_needed(network, plan);
  const double few = memory_needed(network_with(network, "performer:m=64"), plan);
  const double many = memory_needed(network_with(network, "performer:m=4096"), plan);
  EXPECT_GT(few, full);  // tiles of P are smaller than what they are made of
  EXPECT_GT(many, few + 2 * 4096 * 100'000.0 * sizeof(float));
  EXPECT_LT(many, 100'000.0 * 100'000.0 * sizeof(float));
  EXPECT_EQ(memory_needed(network_with(network, "window"), plan), full);
}

TEST(AttentionKinds, NamesAreRead) {
  EXPECT_EQ(std::get<LinformerWeights>(*attention_named("linformer:k=7,pooled=1,seed=3").weights).k, 7);
  EXPECT_EQ(std::get<FeatureWeights>(*attention_named("performer:seed=3").weights).features, 256);
  EXPECT_EQ(attention_named("bigbird:random=0").mask->window, 96);
  EXPECT_FALSE(attention_named("full").weights || attention_named("full").mask);
  for (const std::string& name : attention_names()) EXPECT_EQ(attention_named(name).name, name);
  for (const char* wrong : {"",
                            "linear",
                            "full:",
                            "full:k=1",
                            "linformer:",
                            "linformer:k",
                            "linformer:k=",
                            "linformer:k=0",
                            "linformer:k=1.5",
                            "linformer:k=1,k=2",
                            "linformer:m=3",
                            "linformer:k=99999999999999999999",
                            "performer:m=-1",
                            "bigbird:random=65",
                            "bigbird:block=1",
                            "bigbird:block=24",
                            "bigbird:block=2048",
                            "linformer:pooled=2",
                            "window:w=0",
                            "window:w=1,"}) {
    try {
      attention_named(wrong);
      ADD_FAILURE() << wrong;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kUsage) << wrong;
      EXPECT_THAT(e.what(), HasSubstr("attention '")) << wrong;
    }
  }
  const auto variants =
      with_attentions(paper_variants(false), {attention_named("full"), attention_named("nystrom:m=8")});
  ASSERT_EQ(variants.size(), 8U);
  EXPECT_EQ(variants[1].name, "san");
  EXPECT_EQ(variants[5].name, "san nystrom:m=8");
  const auto same = [](const char* a, const char* b) {
    try {
      with_attentions({variant_named("san")}, {attention_named("full"), attention_named(a), attention_named(b)});
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kUsage);
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(same("nystrom", "nystrom"), "attention nystrom is given twice");
  EXPECT_EQ(same("nystrom", "nystrom:m=64"), "attention nystrom:m=64 is the same as nystrom");
  EXPECT_EQ(same("bigbird:seed=0,w=96", "bigbird"), "attention bigbird is the same as bigbird:seed=0,w=96");
  EXPECT_EQ(same("gaussian", "full"), "attention full is given twice");
  EXPECT_EQ(same("performer", "performer:seed=1"), "");
  EXPECT_EQ(same("window:w=96,global=128", "bigbird"), "");
}

}  // namespace
}  // namespace rankfall
