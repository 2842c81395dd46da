#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "engine/dense/low_rank_head_impl.h"
#include "engine/plain_forward.h"
#include <rankfall/forward.h>
#include <rankfall/variants.h>

// Shared by the tests of the kinds of attention: queries and keys, the definition of each kind, networks with a kind.

namespace rankfall::attention_kinds {

inline constexpr Index kN = 37;
inline constexpr Index kD = 6;

inline Matrix<double> drawn(const char* name, Index rows, Index cols) {
  Matrix<float> out(rows, cols);
  fill_normal(random_key(5, name), 0, std::span(out.data(), static_cast<std::size_t>(out.size())), 0.8);
  return out.cast<double>();
}

struct Case {
  const char* name;
  AttentionWeights weights;
  bool causal;
};
inline const Case kCases[] = {
    {"linformer", LinformerWeights{.k = 9, .seed = 3}, false},
    {"linformer, more rows than tokens", LinformerWeights{.k = 50}, false},
    {"linformer, pooled", LinformerWeights{.k = 5, .pooled = true}, false},
    {"nystrom", NystromWeights{.landmarks = 7}, false},
    {"performer", FeatureWeights{.features = 20, .seed = 1}, false},
    {"performer, causal", FeatureWeights{.features = 20}, true},
};

inline Attention attention_of(const Case& c) {
  Attention a;
  a.d_head = kD;
  a.scale = 0.7;
  a.mask.causal = c.causal;
  a.weights = c.weights;
  return a;
}

inline std::vector<std::uint8_t> padding(Index n) {
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

inline Network network_with(const Network& network, const char* kind) {
  return with_attention(network, attention_named(kind));
}

inline Matrix<double> last(const Network& network, const Model& model, const Sample& sample,
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

}  // namespace rankfall::attention_kinds
