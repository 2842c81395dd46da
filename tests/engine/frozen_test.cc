#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "engine/golden_cases.h"
#include "engine/path_networks.h"
#include "engine/recorder.h"
#include "network/attention/kind.h"
#include <rankfall/error.h>
#include <rankfall/forward.h>
#include <rankfall/variants.h>

// The laws of the path decomposition: whatever is added up in whatever way, it is the forward pass.

namespace rankfall {
namespace {

class Reconstruction : public PathSumsObserver {
 public:
  void hidden(Index state, const MatrixRef<double>& x, const PathSums& sums) override {
    states.push_back(x);
    errors.push_back(distance(sums.total(), x));
    EXPECT_EQ(state, static_cast<Index>(states.size()) - 1);
  }
  std::vector<Matrix<double>> states;
  std::vector<double> errors;
};

void expect_reconstruction(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
                           const std::string& what) {
  for (const Origins origins : {Origins::kMerged, Origins::kByBlock}) {
    std::vector<Reconstruction> watched(samples.size());
    std::vector<PathSumsObserver*> observers;
    for (auto& w : watched) observers.push_back(&w);
    const auto parts = decompose(network, weights, samples, origins, observers);
    const auto outputs = forward<double>(network, weights, samples, {});
    for (std::size_t s = 0; s < samples.size(); ++s) {
      ASSERT_EQ(watched[s].states.size(), static_cast<std::size_t>(network.sizes.n_blocks + 1)) << what;
      for (const double error : watched[s].errors) EXPECT_LT(error, 1e-12) << what;
      EXPECT_EQ(parts[s].x, outputs[s]) << what;
      EXPECT_LT(distance(parts[s].sums.total(), outputs[s]), 1e-12) << what;
    }
  }
}

TEST(Decompose, SumsOfEveryStateAreTheForwardPass) {
  for (const std::string& spec : all_small_networks()) {
    for (const char* without : {"", "attn_skip", "mlp", "mlp_skip", "norm", "attn_skip,mlp,norm"}) {
      const Model model = with_biases(open_small(spec, 1), 1);
      Network network = model.network;
      if (*without != 0) network = apply(variant_without(without), network);
      auto samples = random_samples(network, 3, 2, 7);
      samples[1].valid = {1, 1, 1, 1, 1, 0, 0};
      if (network.sizes.vocab == 0) samples[1].valid.clear();
      expect_reconstruction(network, *model.weights, samples, spec + " without " + without);
    }
  }
}

class DecomposeGolden : public testing::TestWithParam<GoldenCase> {};
TEST_P(DecomposeGolden, SumsOfEveryStateAreTheForwardPass) {
  const GoldenModel model(GetParam());
  expect_reconstruction(model.network, *model.weights, model.samples, "");
}
INSTANTIATE_TEST_SUITE_P(Families, DecomposeGolden, testing::ValuesIn(golden_cases()));

// Every path of one sample, with what it adds to the output.
void for_each_path(const Model& model, std::span<const Sample> samples,
                   const std::function<void(const Path&, const Matrix<double>&)>& visit) {
  const Index rows = samples[0].n_tokens();
  enumerate(
      model.network, *model.weights, samples,
      [](const Path&, std::span<const CentredMatrix> terms) {
        const Matrix<double> y = terms[0].joined();
        return std::vector<double>(y.data(), y.data() + y.size());
      },
      [&](const Path& path, std::span<const double> values) {
        visit(path, Eigen::Map<const Matrix<double>>(values.data(), rows, static_cast<Index>(values.size()) / rows));
      });
}

// (n_blocks, n_heads)
class EnumerationOfSizes : public testing::TestWithParam<std::tuple<int, int>> {};
TEST_P(EnumerationOfSizes, SinglePathsAddUpToLengthsAndToTheForwardPass) {
  const auto [n_blocks, n_heads] = GetParam();
  for (const std::string& spec : path_networks(n_blocks, n_heads)) {
    SCOPED_TRACE(spec);
    const Model model = with_biases(open_model(spec, 5), 5);
    const auto samples = random_samples(model.network, 2, 1, 3);
    const auto parts = decompose(model.network, *model.weights, samples, Origins::kByBlock, {});
    const Matrix<double>& x = parts[0].x;
    const double size = x.norm();
    const auto& origins = parts[0].sums.origins;
    Matrix<double> total = Matrix<double>::Zero(x.rows(), x.cols());
    std::vector<std::vector<Matrix<double>>> sums(
        origins.size(), std::vector<Matrix<double>>(static_cast<std::size_t>(n_blocks + 1), total));
    std::vector<std::vector<Path>> names(1);
    std::vector<Matrix<double>> expected;
    Index n = 0;
    for_each_path(model, samples, [&](const Path& path, const Matrix<double>& y) {
      total += y;
      const auto origin = static_cast<std::size_t>(std::ranges::find(origins, path.origin) - origins.begin());
      ASSERT_LT(origin, origins.size());
      sums[origin][path.heads.size()] += y;
      if (n++ % 97 != 0) return;
      names[0].push_back(path);
      expected.push_back(y);
    });
    EXPECT_LT((total - x).norm(), 1e-11 * size);
    for (std::size_t o = 0; o < origins.size(); ++o) {
      for (std::size_t k = 0; k < sums[o].size(); ++k) {
        const auto& found = parts[0].sums.sums[o];
        const bool present = k < found.size() && found[k].rows() > 0;
        EXPECT_LT(present ? (sums[o][k] - found[k]).norm() : sums[o][k].norm(), 1e-11 * size);
      }
    }
    // One after the other they are the same.
    const auto terms = follow(model.network, *model.weights, samples, names);
    for (std::size_t i = 0; i < names[0].size(); ++i) {
      EXPECT_EQ(terms[0][i].term.joined(), expected[i]) << to_string(names[0][i]);
    }
  }
}
// Six blocks of four heads have a hundred times the paths of three of three, and nothing that those do not show to a
// sanitizer, under which they take minutes.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RANKFALL_MOST_BLOCKS 4
#endif
#endif
#ifndef RANKFALL_MOST_BLOCKS
#define RANKFALL_MOST_BLOCKS 6
#endif
INSTANTIATE_TEST_SUITE_P(Sizes, EnumerationOfSizes,
                         testing::Combine(testing::Range(1, RANKFALL_MOST_BLOCKS + 1), testing::Range(1, 5)));

TEST(Enumeration, TheEmbeddingHasAllItsPaths) {
  const Model model = with_biases(open_model("san:layers=5,heads=3,dim=6,vocab=20,std=0.4,norm=post", 1), 1);
  const auto samples = random_samples(model.network, 2, 1, 3);
  std::set<std::string> names;
  for_each_path(model, samples, [&](const Path& path, const Matrix<double>&) {
    if (path.origin.kind == Origin::Kind::kEmbedding) names.insert(to_string(path));
  });
  EXPECT_EQ(names.size(), 1024U);
}

Model toy(const std::string& rest = "") {
  return with_biases(open_model("san:layers=4,heads=3,dim=12,vocab=30,std=0.5,mlp=8,norm=post" + rest, 4), 4);
}

TEST(Follow, ProductsOfAttentionAreStochasticAndInTheOrderOfTheNetwork) {
  const Model model = toy(",mask=causal");
  const auto samples = random_samples(model.network, 1, 1, 6);
  Recorder<double> recorder;
  forward<double>(model.network, *model.weights, samples, std::vector<Observer<double>*>{&recorder});
  const auto p = [&](Index block, Index head) { return recorder.attentions.at({block, head}); };
  const std::vector<std::vector<Path>> paths = {{{{}, {{0, 2}, {1, 0}, {3, 1}}}, {{}, {}}}};
  const auto terms = follow(model.network, *model.weights, samples, paths, {.attention = true});
  const Matrix<double> expected = p(3, 1) * p(1, 0) * p(0, 2);
  const Matrix<double> found = terms[0][0].attention.joined();
  EXPECT_LT((found - expected).cwiseAbs().maxCoeff(), 1e-15);
  EXPECT_LT((found.rowwise().sum().array() - 1).abs().maxCoeff(), 1e-14);
  EXPECT_GE(found.minCoeff(), -1e-15);
  EXPECT_GT((expected - p(0, 2) * p(1, 0) * p(3, 1)).norm(), 1e-3) << "the order must matter for this test";
  EXPECT_LT((terms[0][1].attention.joined() - Matrix<double>::Identity(6, 6)).norm(), 1e-15);
  const auto reversed =
      follow(model.network, *model.weights, samples, paths, {.attention = true, .published_order = true});
  EXPECT_LT((reversed[0][0].attention.joined() - p(0, 2) * p(1, 0) * p(3, 1)).cwiseAbs().maxCoeff(), 1e-15);
}

// Without norms the term is P_path X W_path, whatever the path.
TEST(Follow, TermIsPXW) {
  const Model model =
      with_biases(open_model("san:layers=3,heads=2,dim=6,vocab=30,std=0.5,norm=none,input_norm=0", 4), 4);
  const auto samples = random_samples(model.network, 1, 1, 5);
  Recorder<double> recorder;
  forward<double>(model.network, *model.weights, samples, std::vector<Observer<double>*>{&recorder});
  const std::vector<std::vector<Path>> paths = {{{{}, {{0, 1}, {2, 0}}}}};
  const auto terms = follow(model.network, *model.weights, samples, paths, {.attention = true});
  const auto weight = [&](const Linear& f) {
    const TensorData data = model.weights->rows(f.w.tensor, 0, f.w.rows);
    return Eigen::Map<const Matrix<float>>(reinterpret_cast<const float*>(data.bytes.data()), f.w.rows, f.w.cols)
        .cast<double>()
        .eval();
  };
  const auto w = [&](std::size_t layer, Index head) -> Matrix<double> {
    const auto& a = std::get<Attention>(model.network.layers[layer].branches[0].f);
    return weight(a.v).middleRows(head * 3, 3).transpose() * weight(a.o).middleCols(head * 3, 3).transpose();
  };
  const Matrix<double> expected = terms[0][0].attention.joined() * recorder.states[0] * w(0, 1) * w(2, 0);
  EXPECT_LT(distance(terms[0][0].term.joined(), expected), 1e-14);
}

TEST(Follow, RefusesPathsThatAreNone) {
  const Model model = toy();
  const auto samples = random_samples(model.network, 1, 1, 4);
  const auto go = [&](const Path& path) {
    follow(model.network, *model.weights, samples, std::vector<std::vector<Path>>{{path}});
  };
  EXPECT_THROW(go({{}, {{1, 0}, {1, 1}}}), Error);
  EXPECT_THROW(go({{}, {{2, 0}, {1, 1}}}), Error);
  EXPECT_THROW(go({{}, {{4, 0}}}), Error);
  EXPECT_THROW(go({{}, {{0, 3}}}), Error);
  EXPECT_THROW(go({{}, {{-1, 0}}}), Error);
  EXPECT_THROW(go({{Origin::Kind::kMlp, 1}, {{1, 0}}}), Error);
}

TEST(Heaviest, IsWhatFullEnumerationFinds) {
  for (const char* rest : {"", ",attn_skip=0", ",bias=0"}) {
    for (const char* norm : {",norm=post", ",norm=pre", ",norm=none"}) {
      const Model model = with_biases(
          open_model(std::string("san:layers=4,heads=3,dim=12,vocab=30,std=0.5,mlp=8") + norm + rest, 4), 4);
      const auto samples = random_samples(model.network, 1, 1, 6);
      std::vector<WeightedPath> all;
      for_each_path(model, samples, [&](const Path& path, const Matrix<double>& y) {
        all.push_back({path, y.norm()});
      });
      std::ranges::stable_sort(all, std::ranges::greater{}, &WeightedPath::norm);
      const auto exact = heaviest(model.network, *model.weights, samples, 1000)[0];
      ASSERT_EQ(exact.size(), all.size());
      for (std::size_t i = 0; i < 20; ++i) {
        EXPECT_EQ(to_string(exact[i].path), to_string(all[i].path));
        EXPECT_EQ(exact[i].path.origin, all[i].path.origin);
        EXPECT_NEAR(exact[i].norm, all[i].norm, 1e-12 * all[i].norm);
      }
      const auto beam = heaviest(model.network, *model.weights, samples, 40)[0];
      for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(beam[i].path, exact[i].path) << norm << rest << " " << i;
    }
  }
}

Matrix<double> output_direction(const MatrixRef<double>& y) { return y / y.squaredNorm(); }

TEST(Adjoint, SharesAreThoseOfTheForwardSums) {
  for (const std::string& spec : all_small_networks()) {
    SCOPED_TRACE(spec);
    const Model model = with_biases(open_small(spec, 2), 2);
    const auto samples = random_samples(model.network, 3, 2, 5);
    const auto parts = decompose(model.network, *model.weights, samples, Origins::kByBlock, {});
    const auto shares = adjoint_shares(
        model.network, *model.weights, samples,
        [](std::size_t, const MatrixRef<double>& y) { return std::vector<Matrix<double>>{output_direction(y)}; });
    for (std::size_t s = 0; s < samples.size(); ++s) {
      const Matrix<double> g = output_direction(parts[s].x);
      const AdjointShares& back = shares[s][0];
      for (std::size_t o = 0; o < parts[s].sums.origins.size(); ++o) {
        const Origin& origin = parts[s].sums.origins[o];
        for (Index k = 0; k <= model.network.sizes.n_blocks; ++k) {
          const auto& sums = parts[s].sums.sums[o];
          const bool present = k < static_cast<Index>(sums.size()) && sums[static_cast<std::size_t>(k)].rows() > 0;
          const double forward = present ? sums[static_cast<std::size_t>(k)].cwiseProduct(g).sum() : 0;
          const double found = origin.kind == Origin::Kind::kEmbedding ? back.tokens.col(k).sum()
                               : origin.kind == Origin::Kind::kMlp     ? back.mlp(*origin.block, k)
                                                                       : back.bias(*origin.block, k);
          EXPECT_NEAR(found, forward, 1e-12) << to_string(origin) << " length " << k;
        }
      }
      EXPECT_NEAR(back.tokens.sum() + back.mlp.sum() + back.bias.sum(), 1, 1e-12);
    }
  }
}

TEST(Adjoint, AHeadsShareIsThatOfThePathsThroughIt) {
  for (const char* norm : {"none", "pre", "post"}) {
    const Model model = with_biases(
        open_model(fmt::format("san:layers=3,heads=2,dim=8,vocab=30,std=0.5,mlp=8,branch=0.7,norm={}", norm), 4), 4);
    const auto samples = random_samples(model.network, 1, 1, 5);
    std::vector<std::pair<Path, Matrix<double>>> paths;
    for_each_path(model, samples, [&](const Path& path, const Matrix<double>& y) { paths.emplace_back(path, y); });
    const Matrix<double> y = forward<double>(model.network, *model.weights, samples, {})[0];
    const auto directions = [](std::size_t, const MatrixRef<double>& out) {
      return std::vector<Matrix<double>>{output_direction(out)};
    };
    const auto by_length = adjoint_shares(model.network, *model.weights, samples, directions);
    const auto total = adjoint_shares(model.network, *model.weights, samples, directions, {.by_length = false});
    for (Index block = 0; block < 3; ++block) {
      for (Index head = 0; head < 2; ++head) {
        Matrix<double> through = Matrix<double>::Zero(5, 8);
        for (const auto& [path, term] : paths) {
          if (std::ranges::find(path.heads, Head{block, head}) != path.heads.end()) through += term;
        }
        const double share = through.cwiseProduct(output_direction(y)).sum();
        EXPECT_NEAR(by_length[0][0].heads[static_cast<std::size_t>(block)].row(head).sum(), share, 1e-12);
        EXPECT_NEAR(total[0][0].heads[static_cast<std::size_t>(block)](head, 0), share, 1e-12);
        const auto direct = through_heads(model.network, *model.weights, samples, std::vector<Head>{{block, head}});
        EXPECT_LT((direct[0][0] - through).norm(), 1e-12 * y.norm()) << norm << " L" << block << "H" << head;
      }
    }
  }
}

// P is frozen, so any will do: rows that sum to anything, rows with negative entries.
TEST(OtherAttention, PathsAddUpToTheForwardPass) {
  const auto directions = [](std::size_t, const MatrixRef<double>& y) {
    return std::vector<Matrix<double>>{output_direction(y)};
  };
  for (const char* kind : {"gaussian", "linformer:k=4", "linformer:k=3,pooled=1", "nystrom:m=3", "performer:m=6",
                           "window:w=1", "bigbird:w=1,global=0,random=1"}) {
    for (const char* norm : {"none", "pre", "post"}) {
      SCOPED_TRACE(fmt::format("{} {}", kind, norm));
      Model model = with_biases(
          open_model(fmt::format("san:layers=3,heads=2,dim=8,vocab=30,std=0.5,mlp=6,branch=0.7,norm={}", norm), 4), 4);
      model.network = with_attention(model.network, attention_named(kind));
      const Network& network = model.network;
      auto samples = random_samples(network, 3, 2, 6);
      samples[1].valid = {1, 1, 1, 1, 0, 0};
      expect_reconstruction(network, *model.weights, samples, kind);
      const std::span one(&samples[1], 1);
      const Matrix<double> y = forward<double>(network, *model.weights, one, {})[0];
      Matrix<double> total = Matrix<double>::Zero(y.rows(), y.cols());
      Matrix<double> through = total;
      for_each_path(model, one, [&](const Path& path, const Matrix<double>& term) {
        total += term;
        if (std::ranges::find(path.heads, Head{1, 1}) != path.heads.end()) through += term;
      });
      EXPECT_LT(distance(total, y), 1e-11);
      EXPECT_LT((through_heads(network, *model.weights, one, std::vector<Head>{{1, 1}})[0][0] - through).norm(),
                1e-11 * y.norm());
      const auto shares = adjoint_shares(network, *model.weights, one, directions, {.by_length = true, .reach = 2})[0];
      EXPECT_NEAR(shares[0].tokens.sum() + shares[0].mlp.sum() + shares[0].bias.sum(), 1, 1e-11);
      const bool distributions = has_distributions(std::get<Attention>(network.layers[0].branches[0].f).weights);
      EXPECT_EQ(shares[0].reach.size() > 0, distributions);
      if (distributions) {
        EXPECT_LT((shares[0].reach.colwise().sum().array() - 1).abs().maxCoeff(), 1e-12);
      }

      Recorder<double> recorder;
      forward<double>(network, *model.weights, one, std::vector<Observer<double>*>{&recorder});
      const auto p = [&](Index block, Index head) { return recorder.attentions.at({block, head}); };
      const std::vector<std::vector<Path>> paths = {{{{}, {{0, 1}, {1, 0}, {2, 1}}}}};
      for (const bool published : {false, true}) {
        const auto terms =
            follow(network, *model.weights, one, paths, {.attention = true, .published_order = published});
        const Matrix<double> expected = published ? p(0, 1) * p(1, 0) * p(2, 1) : p(2, 1) * p(1, 0) * p(0, 1);
        EXPECT_LT((terms[0][0].attention.joined() - expected).norm(), 1e-12 * std::max(1.0, expected.norm()));
      }
    }
  }
}

TEST(Rerun, IsTheHeadAloneWithItsOwnAttention) {
  for (const std::string& spec : all_small_networks()) {
    SCOPED_TRACE(spec);
    const Model model = with_biases(open_small(spec, 2), 2);
    const Index n_heads = model.network.sizes.n_heads;
    const auto samples = random_samples(model.network, 3, 1, 5);
    // In block 0 the state is the network's own, so attention is, too.
    Recorder<double> whole;
    forward<double>(model.network, *model.weights, samples, std::vector<Observer<double>*>{&whole});
    const std::optional<HeadNorm>& of_heads = model.network.layers[0].attention()->q_norm;
    if (of_heads && !of_heads->per_head) {  // no head has queries of its own
      EXPECT_THROW(rerun_network(model.network, {{}, {{0, 0}}}), Error);
      continue;
    }
    for (Index head = 0; head < n_heads; ++head) {
      const Network one = rerun_network(model.network, {{}, {{0, head}}});
      EXPECT_EQ(one.sizes.n_blocks, 1);
      Recorder<double> recorder;
      forward<double>(one, *model.weights, samples, std::vector<Observer<double>*>{&recorder});
      EXPECT_LT((recorder.attentions.at({0, 0}) - whole.attentions.at({0, head})).norm(), 1e-14);
    }
    const Network none = rerun_network(model.network, {});
    EXPECT_EQ(forward<double>(none, *model.weights, samples, {})[0].rows(), 5);
  }
}

}  // namespace
}  // namespace rankfall
