#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "contract.h"
#include "studies/bench/bench.h"
#include "studies/measure/metrics.h"
#include "studies/tokens/tokens.h"
#include <rankfall/bounds.h>
#include <rankfall/collapse.h>
#include <rankfall/error.h>
#include <rankfall/lowrank.h>
#include <rankfall/measure.h>
#include <rankfall/paths.h>
#include <rankfall/threshold.h>

namespace rankfall {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text, const std::string& command, const std::vector<std::string>& variants) {
  try {
    check_decidable(parse_threshold(text), command, variants);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(CommandMetrics, AConditionThatNoResultDecidesIsRefused) {
  EXPECT_THAT(refusal("cosine.mean@last>0.99", "collapse", {"san"}), HasSubstr("collapse has no metric 'cosine.mean'"));
  EXPECT_THAT(refusal("log10_residual.composit<1", "collapse", {}),
              HasSubstr("did you mean 'log10_residual.composite'?"));
  EXPECT_THAT(refusal("rounding_layer@3>1", "collapse", {}), HasSubstr("have no layer"));
  EXPECT_THAT(refusal("sam:growth_factor>1", "collapse", {"full", "san"}), HasSubstr("did you mean 'san'?"));
  EXPECT_THAT(refusal("full:loss>1", "effectiveness", {}), HasSubstr("has no variants"));
  EXPECT_EQ(refusal("san:growth_factor@2>1", "collapse", {"full", "san"}), "");
  EXPECT_EQ(refusal("rank.stable@1>3", "measure", {}), "");
}

// What `measure` can compute is what the registry says of it.
TEST(CommandMetrics, ThoseOfMeasureAreThoseOfTheRegistry) {
  std::set<std::string> computed, registered;
  for (const Metric& metric : all_metrics()) {
    computed.insert(metric.name);
    const MetricInfo info = metric_info(metric.name);
    ASSERT_TRUE(info.use_in("measure")) << metric.name;
    EXPECT_EQ(info.use_in("measure")->has_head, is_per_head(metric)) << metric.name;
    EXPECT_TRUE(!metric.floor_by || find_metric(metric.floor_by)) << metric.name;
  }
  for (const MetricInfo& info : metrics_of("measure")) {
    if (info.group == "published figures" || info.group == "theory") continue;
    // Made of the values of single samples when an option asks for them.
    if (info.name.starts_with("geometric_") || info.name.starts_with("interval_")) continue;
    if (info.members.empty()) registered.insert(info.name);
    registered.insert(info.members.begin(), info.members.end());
  }
  EXPECT_EQ(computed, registered);
}

// Every metric that rows with values have can be asked for, with a layer exactly where rows have one.
void expect_known(const Result& result) {
  expect_contract(result);
  std::set<std::string> seen;
  for (const Row& row : result.rows) {
    if (!row.mean || !seen.insert(row.metric).second) continue;
    EXPECT_EQ(refusal(row.metric + ">0", result.command, {}), "");
    EXPECT_EQ(refusal(row.metric + "@last>0", result.command, {}) == "", row.layer.has_value()) << row.metric;
  }
  EXPECT_GT(seen.size(), 1U);
}

TEST(CommandMetrics, EveryMetricOfEveryCommandIsKnown) {
  const std::vector<std::string> models = {"san:layers=2,heads=2,dim=8,std=0.3,mlp=6"};
  InputOptions input;
  input.n_samples = 2;
  input.n_tokens = 6;
  MeasureOptions measure_options;
  measure_options.metrics = {"all", "minimiser"};
  measure_options.input = input;
  measure_options.geometric = measure_options.intervals = true;
  expect_known(measure(models, measure_options));
  CollapseOptions collapse_options;
  collapse_options.arithmetic = true;
  collapse_options.input = input;
  expect_known(collapse(models, collapse_options));
  PathsOptions paths_options;
  paths_options.input = input;
  paths_options.variants = {variant_named("full")};
  paths_options.lengths = paths_options.interference = paths_options.heads = true;
  paths_options.n_draws = 2;
  paths_options.as_published = paths_options.rerun = true;
  paths_options.n_top = 2;
  paths_options.to = 0;
  expect_known(paths(models, paths_options));
  BoundsOptions bounds_options;
  bounds_options.input = input;
  expect_known(bounds(models, bounds_options));
  LowrankOptions lowrank_options;
  lowrank_options.input = input;
  lowrank_options.lengths = {8, 16, 32};
  lowrank_options.n_trials = 5;
  expect_known(lowrank(models, lowrank_options));
}

TEST(CommandMetrics, ThoseOfTokensAreKnown) {
  const auto file = std::filesystem::path(testing::TempDir()) / "tokens_contract.txt";
  std::ofstream(file) << "Ranks fall.\n";
  InputOptions options;
  options.text = file.string();
  expect_contract(tokens(std::string(RANKFALL_TEST_DATA) + "/tokenizers/bert-uncased", options));
}

TEST(CommandMetrics, ThoseOfBenchAreKnown) {
  BenchOptions options;
  options.model = "san:layers=1,heads=1,dim=4";
  options.n_samples = options.n_rounds = 1;
  options.n_tokens = 4;
  expect_contract(bench(options));
}

}  // namespace
}  // namespace rankfall
