#include <cmath>

#include <gtest/gtest.h>

#include "studies/path_rows.h"
#include <rankfall/error.h>
#include <rankfall/paths.h>
#include <rankfall/report.h>
#include <rankfall/sample.h>

namespace rankfall {
namespace {

TEST(Paths, RefusesWhatCannotBe) {
  const std::vector<std::string> models = {"san:layers=2,heads=2,dim=4,vocab=9"};
  PathsOptions options;
  options.input.n_samples = 1;
  options.input.n_tokens = 4;
  const auto fails = [&](const auto& change) {
    PathsOptions changed = options;
    change(changed);
    EXPECT_THROW(paths(models, changed), Error);
  };
  fails([](PathsOptions& o) { o.to = 4; });
  fails([](PathsOptions& o) { o.to = -5; });
  fails([](PathsOptions& o) { o.rerun = true; });
  fails([](PathsOptions& o) { o.as_published = true; });
  fails([](PathsOptions& o) { o.lengths = false; });
  fails([](PathsOptions& o) {
    o.n_draws = 1;
    o.variants = {variant_without("mlp_skip")};
    o.input.n_tokens = 100'000'000;
  });
  EXPECT_THROW(paths({}, options), Error);
}

// One token has no residual, so no share of it; everything else is there.
TEST(Paths, OneToken) {
  const std::vector<std::string> models = {"san:layers=2,heads=2,dim=4,vocab=9,std=0.3"};
  PathsOptions options;
  options.input.n_samples = 2;
  options.input.n_tokens = 1;
  options.heads = true;
  options.lengths = true;
  options.n_draws = 2;
  options.n_top = 2;
  options.to = 0;
  const Result result = paths(models, options);
  EXPECT_FALSE(all(result, {"paths.share.residual", 2, 0, "all"})[0]->mean.has_value());
  EXPECT_NEAR(value(result, {"paths.share.projection", 2, {}, "embedding"}), 1, 1e-12);
  EXPECT_TRUE(all(result, {"paths.share.projection", 2, {}, "bias"}).empty()) << "biases that are zero are no origin";
  EXPECT_FALSE(to_table(result).empty());
}

// What has no residual has no shares of it, in any view, and does not count in the means of those that have.
TEST(Paths, SharesOfNothingAreNone) {
  const Model model = toy();
  auto samples = random_samples(model.network, 1, 2, 6);
  samples[1].valid = {0, 1, 0, 0, 0, 0};
  PathsOptions options;
  options.heads = true;
  options.n_top = 500;
  options.interference = true;
  options.to = 1;
  const Result both = paths(model, samples, options);
  const Result first = paths(model, std::span(samples).first(1), options);
  for (const char* metric :
       {"paths.share.residual", "head.share.residual", "mlp.share.residual", "paths.gram.residual"}) {
    const auto means = [metric](const Result& result) {
      std::vector<double> out;
      for (const Row& row : result.rows) {
        if (row.metric == metric) out.push_back(row.mean.value());
      }
      return out;
    };
    EXPECT_FALSE(means(first).empty()) << metric;
    EXPECT_EQ(means(both), means(first)) << metric;
  }
  double listed = 0;
  for (const Row& row : both.rows) {
    if (row.metric == "path.share.residual") listed += row.mean.value();
  }
  EXPECT_NEAR(listed, 1, 1e-12);
}

TEST(Paths, SharesOfRoundingAreNone) {
  const std::vector<std::string> models = {"san:layers=6,heads=2,dim=16,vocab=50,std=0.05,norm=post"};
  PathsOptions options;
  options.variants = {variant_named("san")};
  options.input.n_samples = 2;
  options.input.n_tokens = 8;
  options.heads = true;
  options.n_top = 4;
  options.to = 0;
  options.interference = true;
  const Result result = paths(models, options);
  std::size_t n = 0;
  for (const Row& row : result.rows) {
    if (!row.metric.ends_with("share.residual") || (row.layer && !row.head && *row.layer < 6 && row.metric[0] == 'p')) {
      continue;
    }
    EXPECT_FALSE(row.mean.has_value()) << row.metric;
    EXPECT_EQ(row.status, Status::kRoundingFloor);
    ++n;
  }
  EXPECT_GT(n, 12U);
  const std::string table = to_table(result);
  EXPECT_NE(table.find("zero or rounding"), std::string::npos);
  EXPECT_EQ(table.find("nan"), std::string::npos);
}

TEST(Paths, SquaresBeyondDoubleAreAnError) {
  Model model = open_model("san:layers=2,heads=2,dim=4,vocab=9,std=0.3,norm=none", 1);
  std::vector<Sample> samples(1);
  for (const double size : {1e200, 1e-200}) {
    samples[0].content = HiddenState{Matrix<double>::Constant(3, 4, size)};
    try {
      paths(model, samples, {});
      FAIL() << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kNumerical);
    }
  }
}

TEST(Paths, ReconstructionErrorThatIsNoNumberIsNotOverlooked) {
  Result result;
  for (const double value : {1e-9, 1e-3, 1e-12}) {
    Row& row = result.rows.emplace_back();
    row.metric = "reconstruction_error";
    row.mean = value;
  }
  EXPECT_EQ(largest_reconstruction_error(result), 1e-3);
  result.rows[1].mean.reset();
  EXPECT_EQ(largest_reconstruction_error(result), INFINITY);
  EXPECT_FALSE(largest_reconstruction_error({}).has_value());
}

}  // namespace
}  // namespace rankfall
