#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/golden_cases.h"
#include "result/prose_format.h"
#include "studies/path_rows.h"
#include "studies/paths/path_draws.h"
#include <rankfall/error.h>
#include <rankfall/measure.h>
#include <rankfall/paths.h>
#include <rankfall/report.h>
#include <rankfall/sample.h>

namespace rankfall {
namespace {

TEST(Paths, SharesAddUp) {
  const Model model = toy();
  auto samples = random_samples(model.network, 1, 3, 6);
  samples[1].valid = {1, 1, 1, 1, 0, 0};
  PathsOptions options;
  options.interference = true;
  const Result result = paths(model, samples, options);
  for (Index layer = 0; layer <= 4; ++layer) {
    double projection = 0;
    double residual = 0;
    double norm = 0;
    for (Index k = 0; k <= layer; ++k) {
      projection += value(result, {"paths.share.projection", layer, k, "all"});
      residual += value(result, {"paths.share.residual", layer, k, "all"});
      norm += value(result, {"paths.share.norm", layer, k, "all"});
    }
    EXPECT_NEAR(projection, 1, 1e-12);
    EXPECT_NEAR(residual, 1, 1e-12);
    EXPECT_NEAR(norm, 1, 1e-12);
    double by_origin = 0;
    for (const char* origin : {"embedding", "mlp", "bias"}) {
      if (layer == 0 && origin != std::string("embedding")) continue;
      const double share = value(result, {"paths.share.residual", layer, {}, origin});
      by_origin += share;
      double by_length = 0;
      for (Index k = 0; k <= layer; ++k) {
        for (const Row* row : all(result, {"paths.share.residual", layer, k, origin})) by_length += row->mean.value();
      }
      EXPECT_NEAR(by_length, share, 1e-12) << origin << " at " << layer;
    }
    EXPECT_NEAR(by_origin, 1, 1e-12);
    EXPECT_LT(value(result, {"reconstruction_error", layer, {}, "", "largest"}), 1e-14);
    EXPECT_GE(value(result, {"paths.cancellation", layer}), 1 - 1e-12);
  }
  double gram = 0;
  for (Index j = 0; j <= 4; ++j) {
    double row = 0;
    for (Index k = 0; k <= 4; ++k) row += value(result, {"paths.gram.residual", 4, j, "", "", k});
    EXPECT_NEAR(row, value(result, {"paths.share.residual", 4, j, "all"}), 1e-12);
    gram += row;
  }
  EXPECT_NEAR(gram, 1, 1e-12);
  EXPECT_LT(largest_reconstruction_error(result).value(), 1e-14);
}

// The state's own norms are those of `measure`.
TEST(Paths, WithOneTermItIsMeasure) {
  const std::vector<std::string> models = {"san:layers=3,heads=2,dim=8,vocab=30,std=0.3,norm=post,bias=0"};
  PathsOptions options;
  options.variants = {variant_named("san")};
  options.input.n_samples = 3;
  options.input.n_tokens = 5;
  const Result result = paths(models, options);
  MeasureOptions measure_options;
  measure_options.variants = options.variants;
  measure_options.input = options.input;
  measure_options.precision = Precision::kF64;
  const Result measured = measure(models, measure_options);
  for (Index l = 0; l <= 3; ++l) {
    EXPECT_NEAR(value(result, {"paths.residual.composite", l, l, "embedding"}),
                value(measured, {"residual.composite", l, {}, "", "samples"}), 1e-12);
    const auto counts = all(result, {"paths.count", l, l, "embedding"});
    ASSERT_EQ(counts.size(), 1U);
    EXPECT_EQ(counts[0]->exact, std::to_string(1 << l));
  }
}

TEST(Paths, OfEveryGoldenFamily) {
  for (const GoldenCase& c : golden_cases()) {
    SCOPED_TRACE(std::string(c.family) + " " + c.variant);
    const GoldenModel golden(c);
    const Model model = golden.model();
    PathsOptions options;
    Variant variant;
    variant.name = c.variant;
    variant.removed = parts_of(c.variant);
    options.variants = {variant};
    options.origins_by_block = true;
    options.heads = true;
    options.n_draws = 2;
    const std::optional<HeadNorm>& of_heads = golden.base.layers[0].attention()->q_norm;
    options.rerun = !of_heads || of_heads->per_head;
    options.n_top = 3;
    options.beam = 8;
    options.to = -1;
    options.n_to_samples = 100;
    const Result result = paths(model, golden.samples, options);
    EXPECT_LT(largest_reconstruction_error(result).value(), kReconstructionLimit);
    // The output of ViT and ModernBERT has its final norm, which the last state has not.
    EXPECT_EQ(all(result, {"reconstruction_error", golden.network.sizes.n_blocks, {}, "", "output"}).size(),
              golden.network.final_norm && !golden.network.final_norm_in_state ? 1U : 0U);
    // Heads' shares are those of the paths through them: with the other origins they bound nothing, but all tokens,
    // MLPs and biases together are the whole.
    for (Index s = 0; s < static_cast<Index>(golden.samples.size()); ++s) {
      double total = 0;
      for (const Row& row : result.rows) {
        if (row.metric == "token.share.projection" && row.sample == s && row.length) total += row.mean.value();
      }
      EXPECT_NEAR(total, 1, 1e-9);
    }
    EXPECT_FALSE(to_table(result).empty());
  }
}

TEST(Paths, HeadsAndTokensAgreeWithTheSums) {
  const Model model = toy();
  const auto samples = random_samples(model.network, 1, 2, 6);
  PathsOptions options;
  options.lengths = true;
  options.heads = true;
  options.n_through = 12;
  options.n_top = 500;
  const Result result = paths(model, samples, options);
  double mlp = 0;
  for (Index l = 0; l < 4; ++l) mlp += value(result, {"mlp.share.residual", l});
  EXPECT_NEAR(mlp, value(result, {"paths.share.residual", 4, {}, "mlp"}), 1e-12);
  // Every path is listed here: those through a head add up to its share.
  double through = 0;
  for (const Row& row : result.rows) {
    if (row.metric == "path.share.residual" && std::ranges::count(*row.path, Head{2, 1}) > 0)
      through += row.mean.value();
  }
  double head = 0;
  for (const Row& row : result.rows) {
    if (row.metric == "head.share.residual" && row.layer == 2 && row.head == 1) head = row.mean.value();
  }
  EXPECT_NEAR(head, through, 1e-12);
  std::size_t n_norms = 0;
  for (const Row& row : result.rows) n_norms += row.metric == "head.norm.frobenius" ? 1U : 0U;
  EXPECT_EQ(n_norms, 12U);
}

TEST(Paths, TopIsExactForFewPathsAndABeamFindsTheSame) {
  const std::vector<std::string> models = {"san:layers=5,heads=3,dim=12,vocab=30,std=0.4,mlp=8,norm=post"};
  PathsOptions options;
  options.lengths = false;
  options.n_top = 12;
  options.input.n_tokens = 6;
  const auto names = [](const Result& result) {
    std::vector<std::string> out;
    for (const Row& row : result.rows) {
      if (row.metric == "path.norm.frobenius") out.push_back(to_string(*row.origin) + " " + to_string(*row.path));
    }
    return out;
  };
  options.input.n_samples = 1;
  const Result exact = paths(models, options);
  EXPECT_THAT(fmt::to_string(exact.rows[0].verdict), testing::StartsWith("the heaviest of all "));
  EXPECT_EQ(names(exact).size(), 12U);
  options.input.n_samples = 200;  // too many to enumerate
  const Result beam = paths(models, options);
  EXPECT_EQ(fmt::to_string(beam.rows[0].verdict), "found with a beam of 64");
  EXPECT_EQ(names(beam).size(), 12U);
  // The norms descend in either.
  for (const Result* result : {&exact, &beam}) {
    double last = INFINITY;
    for (const Row& row : result->rows) {
      if (row.metric != "path.norm.frobenius") continue;
      EXPECT_LE(row.mean.value(), last);
      last = row.mean.value();
    }
  }
}

TEST(Paths, ListIsEveryPath) {
  PathListOptions options;
  options.input.n_samples = 2;
  options.input.n_tokens = 4;
  Index n = 0;
  double residual = 0;
  double projection = 0;
  std::set<std::string> names;
  Result head;
  list_paths(
      "san:layers=4,heads=3,dim=12,vocab=30,std=0.5,mlp=8,norm=post", options,
      [&](const Result& begin) { head = begin; },
      [&](const Row& row) {
        ++n;
        if (row.metric == "path.share.residual") residual += row.mean.value();
        if (row.metric == "path.share.projection") projection += row.mean.value();
        if (row.origin == Origin{}) names.insert(to_string(*row.path));
      });
  EXPECT_EQ(names.size(), 256U);
  EXPECT_NEAR(residual, 1, 1e-12);
  EXPECT_NEAR(projection, 1, 1e-12);
  EXPECT_EQ(head.command, "paths");
  EXPECT_THROW(list_paths(
                   "bert-base@init", options, [](const Result&) {}, [](const Row&) {}),
               Error);
}

TEST(Paths, DrawnPathsAreUniformAndDependOnTheSeedOnly) {
  const Network network = open_model("san:layers=4,heads=3,dim=6", 0).network;
  EXPECT_EQ(possible_lengths(network), (std::vector<Index>{0, 1, 2, 3, 4}));
  EXPECT_EQ(possible_lengths(apply(variant_named("san"), network)), (std::vector<Index>{4}));
  const Network cut = open_model("san:layers=4,heads=3,dim=6,mlp=4,mlp_skip=0", 0).network;
  EXPECT_TRUE(possible_lengths(cut).empty());

  constexpr Index kDraws = 54000;
  std::map<std::string, int> found;
  for (const DrawnPath& drawn : draw_paths(network, 1, 2, kDraws, 5)) {
    EXPECT_LT(drawn.sample, 5U);
    ++found[to_string(drawn.path)];
  }
  EXPECT_EQ(found.size(), 54U);  // C(4,2) 3^2
  // Chi square with 53 degrees of freedom: mean 53, deviation 10.3.
  double chi = 0;
  for (const auto& [name, n] : found) chi += (n - 1000.0) * (n - 1000.0) / 1000;
  EXPECT_GT(chi, 20);
  EXPECT_LT(chi, 100);
  const auto some = draw_paths(network, 1, 2, 10, 5);
  const auto more = draw_paths(network, 1, 2, 20, 5);
  for (std::size_t i = 0; i < some.size(); ++i) EXPECT_EQ(some[i].path, more[i].path);
  EXPECT_EQ(draw_paths(network, 1, 0, 3, 1)[0].path, Path{});
}

TEST(Paths, QuantilesAreLinearBetweenValues) {
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_EQ(quantile({4, 1, 2, 3}, 0.25), 1.75);
  EXPECT_EQ(quantile({7}, 0.25), 7);
  EXPECT_EQ(quantile({1, 2}, 1), 2);
}

TEST(Paths, SampledPathsCollapseAndReRunOnesFaster) {
  const std::vector<std::string> models = {"san:layers=8,heads=2,dim=16,vocab=50,std=0.03,norm=post"};
  PathsOptions options;
  options.lengths = false;
  options.n_draws = 9;
  options.rerun = true;
  options.input.n_samples = 3;
  options.input.n_tokens = 10;
  const Result result = paths(models, options);
  double last = INFINITY;
  for (Index k = 1; k <= 8; ++k) {
    const double median = value(result, {"path.attention.relative_residual.composite", {}, k, "", "median"});
    EXPECT_LT(median, 0.2 * last) << k;  // no floor: it goes on falling
    EXPECT_LE(value(result, {"path.attention.relative_residual.composite", {}, k, "", "q1"}), median);
    EXPECT_NEAR(value(result, {"path.attention.rank1_remainder.composite", {}, k, "", "median"}) / median, 1, 0.1);
    last = median;
  }
  EXPECT_LT(last, 1e-17);
  // Each path cubes its residual when it computes its own attention.
  EXPECT_LT(value(result, {"rerun.relative_residual.composite", {}, 3, "", "median"}), 1e-8);
  EXPECT_LE(value(result, {"rerun.cosine", {}, 1, "", "median"}), 1 + 1e-12);
}

}  // namespace
}  // namespace rankfall
