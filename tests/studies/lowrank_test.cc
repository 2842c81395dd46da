#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include "result/prose_format.h"
#include "studies/lowrank/lowrank_parts.h"
#include <rankfall/error.h>
#include <rankfall/lowrank.h>
#include <rankfall/measure.h>
#include <rankfall/report.h>
#include <rankfall/sample.h>

namespace rankfall {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kToy = "san:layers=2,heads=2,dim=16,mlp=24,vocab=50000,std=0.4";
constexpr const char* kMild = "san:layers=2,heads=2,dim=16,mlp=24,vocab=50000,std=0.15";  // logits below 1

LowrankOptions quick() {
  LowrankOptions options;
  options.lengths = {16, 32, 64};
  options.n_trials = 60;
  options.input.n_samples = 2;
  options.input.n_tokens = 24;
  return options;
}

Result run(const std::string& model, const LowrankOptions& options) { return lowrank(std::vector{model}, options); }

std::vector<Row> rows_of(const Result& result, std::string_view metric) {
  std::vector<Row> rows;
  std::ranges::copy_if(result.rows, std::back_inserter(rows), [&](const Row& row) { return row.metric == metric; });
  return rows;
}

const Row* find(const std::vector<Row>& rows, const std::function<bool(const Row&)>& condition) {
  const auto at = std::ranges::find_if(rows, condition);
  return at == rows.end() ? nullptr : &*at;
}

TEST(Lowrank, SpectraAreThoseOfMeasure) {
  LowrankOptions options = quick();
  options.scaling = options.sketches = options.kinds = false;
  const Result result = run(kToy, options);
  MeasureOptions measure_options;
  measure_options.variants = {variant_named("full")};
  measure_options.precision = Precision::kF64;
  measure_options.metrics = {"attention"};
  measure_options.input = options.input;
  const Result measured = measure(std::vector<std::string>{kToy}, measure_options);
  for (const char* metric : {"attention.sigma1", "attention.sigma2", "attention.entropy"}) {
    const auto expected = rows_of(measured, metric);
    const auto found = rows_of(result, metric);
    ASSERT_EQ(found.size(), expected.size());
    ASSERT_EQ(found.size(), 4U);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].layer, expected[i].layer);
      EXPECT_EQ(found[i].head, expected[i].head);
      EXPECT_EQ(found[i].n, 2);
      EXPECT_NEAR(*found[i].mean, *expected[i].mean, 1e-12);
      EXPECT_NEAR(*found[i].std, *expected[i].std, 1e-12);
    }
  }
}

TEST(Lowrank, EnergyAndRanksFitTogether) {
  LowrankOptions options = quick();
  options.scaling = options.sketches = options.kinds = false;
  options.input.n_samples = 1;
  options.eps = {0.5, 1e-12};
  const Result result = run(kToy, options);
  const auto singular = rows_of(result, "attention.singular");
  const auto energy = rows_of(result, "attention.energy");
  ASSERT_EQ(singular.size(), energy.size());
  std::set<Index> ranks;
  for (std::size_t i = 0; i < energy.size(); ++i) {
    ranks.insert(*energy[i].k);
    EXPECT_GT(*energy[i].mean, 0);
    EXPECT_LE(*energy[i].mean, 1);
    if (i > 0 && *energy[i].k > 1) {
      EXPECT_GE(*energy[i].mean, *energy[i - 1].mean);
      EXPECT_LE(*singular[i].mean, *singular[i - 1].mean);
    }
    if (*energy[i].k == 24) {
      EXPECT_NEAR(*energy[i].mean, 1, 1e-12);
    }
  }
  EXPECT_EQ(ranks, (std::set<Index>{1, 2, 3, 4, 6, 8, 12, 16, 24}));
  for (const Row& row : rows_of(result, "attention.rank.numerical")) {
    if (row.kind == "eps=1e-12") {
      EXPECT_EQ(row.mean, 24);
    } else {
      EXPECT_EQ(row.kind, "eps=0.5");
      EXPECT_LT(*row.mean, 24);
    }
    EXPECT_EQ(row.status, Status::kNone);
  }
  for (const Row& row : rows_of(result, "attention.gap")) {
    const auto same = [&](const Row& other) { return other.layer == row.layer && other.head == row.head; };
    EXPECT_NEAR(*row.mean,
                1 - *find(rows_of(result, "attention.sigma2"), same)->mean /
                        *find(rows_of(result, "attention.sigma1"), same)->mean,
                1e-12);
  }
}

// Padding is no part of any P.
TEST(Lowrank, PaddingIsLeftOut) {
  const Model model = open_model(kToy, 0);
  LowrankOptions options = quick();
  options.scaling = options.sketches = options.kinds = false;
  std::vector<Sample> samples = random_samples(model.network, 0, 1, 12);
  const Result without = lowrank(model, samples, options);
  std::get<TokenIds>(samples[0].content).resize(20, 3);
  samples[0].valid = std::vector<std::uint8_t>(20, 1);
  std::fill(samples[0].valid.begin() + 12, samples[0].valid.end(), std::uint8_t{0});
  const Result with = lowrank(model, samples, options);
  ASSERT_EQ(with.rows.size(), without.rows.size());
  for (std::size_t i = 0; i < with.rows.size(); ++i) {
    EXPECT_EQ(with.rows[i].metric, without.rows[i].metric);
    EXPECT_NEAR(*with.rows[i].mean, *without.rows[i].mean, 1e-12);
  }
}

// Above 1,024 tokens leading values come from a Krylov space, with what they may be off by.
TEST(Lowrank, LongInputsHaveLeadingValues) {
  LowrankOptions options = quick();
  options.scaling = options.sketches = options.kinds = false;
  options.eps = {0.9, 1e-9};
  options.input.n_samples = 1;
  options.input.n_tokens = 1100;
  const Result result = run("san:layers=1,heads=1,dim=8,vocab=50,std=0.4", options);
  const auto error = rows_of(result, "attention.singular.error");
  ASSERT_EQ(error.size(), 1U);
  EXPECT_GE(*error[0].mean, 0);
  EXPECT_LT(*error[0].mean, 0.5 * *rows_of(result, "attention.sigma2")[0].mean);
  EXPECT_TRUE(rows_of(result, "attention.rank.effective").empty());
  const auto ranks = rows_of(result, "attention.rank.numerical");
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].status, Status::kNone);
}

// Random Markov matrices: sigma_2 = 2 sqrt((e^(s^2) - 1) / n) for large n (Bai and Silverstein's edge of the centred
// matrix, entries of variance (e^(s^2) - 1) / n^2).
TEST(Lowrank, IndependentLogitsFallAsTheTheoremSays) {
  LowrankOptions options = quick();
  options.spectra = options.sketches = options.kinds = false;
  options.lengths = {64, 128, 256, 512};
  const Result result = run(kMild, options);
  const auto deviations = rows_of(result, "scaling.logit_std");
  for (const Row& row : rows_of(result, "scaling.sigma2")) {
    EXPECT_EQ(row.layer, 0);
    if (row.kind != "independent") continue;
    EXPECT_EQ(row.n, 4);
    const double s = *find(deviations, [&](const Row& other) { return other.tokens == row.tokens; })->mean;
    const double limit = 2 * std::sqrt(std::expm1(s * s) / static_cast<double>(*row.tokens));
    EXPECT_NEAR(*row.mean, limit, 0.15 * limit) << *row.tokens;
  }
  for (const Row& row : rows_of(result, "scaling.exponent")) {
    ASSERT_TRUE(row.mean && row.std);
    EXPECT_EQ(row.n, 4);
    if (row.kind == "independent") {
      EXPECT_NEAR(*row.mean, -0.5, 0.05);
      EXPECT_THAT(fmt::to_string(row.verdict), HasSubstr("as the theorem says"));
    } else {
      // Eight channels a head carry no more than eight directions of logits: sigma_2 stays.
      EXPECT_GT(*row.mean, -0.3);
      EXPECT_THAT(fmt::to_string(row.verdict), HasSubstr("slower"));
    }
  }
}

TEST(Lowrank, SketchRowsAgreeWithEachOther) {
  LowrankOptions options = quick();
  options.spectra = options.scaling = options.kinds = false;
  const Result result = run(kToy, options);
  const auto failures = rows_of(result, "jl.failure");
  const auto lows = rows_of(result, "jl.failure.low");
  const auto highs = rows_of(result, "jl.failure.high");
  ASSERT_EQ(failures.size(), lows.size());
  ASSERT_EQ(failures.size(), highs.size());
  for (std::size_t i = 0; i < failures.size(); ++i) {
    EXPECT_LE(*lows[i].mean, *failures[i].mean);
    EXPECT_GE(*highs[i].mean, *failures[i].mean);
    EXPECT_EQ(failures[i].n, 60);
    EXPECT_EQ(failures[i].status, *failures[i].k >= *failures[i].tokens ? Status::kNoSaving : Status::kNone);
  }
  const auto needed = rows_of(result, "jl.k_needed");
  EXPECT_EQ(needed.size(), 3U * 2 * 3);
  for (const Row& row : needed) {
    ASSERT_TRUE(row.mean || row.status == Status::kNotFound);
    for (const Row& failure : failures) {
      if (failure.tokens != row.tokens || failure.kind != row.kind || failure.claim != row.claim) continue;
      if (!row.mean) {
        EXPECT_GT(*failure.mean, options.failure);
      } else {
        EXPECT_EQ(static_cast<double>(*failure.k) >= *row.mean, *failure.mean <= options.failure)
            << row.claim << ' ' << row.kind << ' ' << *row.tokens << ' ' << *failure.k;
      }
    }
  }
  EXPECT_EQ(rows_of(result, "jl.growth").size(), 6U);
  EXPECT_EQ(rows_of(result, "jl.k_claimed").size(), 3U);
  ASSERT_EQ(rows_of(result, "jl.statement").size(), 1U);
  EXPECT_THAT(fmt::to_string(rows_of(result, "jl.statement")[0].verdict), StartsWith("at eps = 0.5, n = 64"));
}

// An interval of 95 % is one: of 40 seeds, each with its own weights, tokens and draws, at least 34 cover the rate of
// all draws together. (Of 40 independent intervals fewer than 34 cover with probability 0.003, and Clopper and
// Pearson's are wider than they need be.)
TEST(Lowrank, IntervalsCoverTheRateOfAllSeeds) {
  constexpr std::uint64_t kSeeds = 40;
  LowrankOptions options;
  options.spectra = options.scaling = options.kinds = false;
  options.lengths = {32};
  options.n_trials = 100;
  struct Interval {
    double rate = 0, low = 0, high = 0;
  };
  std::map<std::string, std::vector<Interval>> by_kind;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    options.seed = seed;
    const Result result = run("san:layers=1,heads=4,dim=128,vocab=50000", options);
    const auto claimed = static_cast<Index>(*rows_of(result, "jl.k_claimed")[0].mean);
    const auto at_claimed = [&](const char* metric, const std::string& kind) {
      return *find(rows_of(result, metric), [&](const Row& row) {
                return row.k == claimed && row.kind == kind && row.claim == "relative";
              })->mean;
    };
    for (const char* kind : {"values", "gaussian", "mean_free"}) {
      by_kind[kind].push_back(
          {at_claimed("jl.failure", kind), at_claimed("jl.failure.low", kind), at_claimed("jl.failure.high", kind)});
    }
  }
  for (const auto& [kind, intervals] : by_kind) {
    double pooled = 0;
    for (const Interval& interval : intervals) pooled += interval.rate / static_cast<double>(kSeeds);
    const auto covers = [&](const Interval& i) { return i.low <= pooled && pooled <= i.high; };
    EXPECT_GE(std::ranges::count_if(intervals, covers), 34) << kind << ", together " << pooled;
  }
}

TEST(Lowrank, KindsAreCompared) {
  LowrankOptions options = quick();
  options.spectra = options.scaling = options.sketches = false;
  options.attention = {attention_named("full"), attention_named("linformer:k=24,pooled=1"),
                       attention_named("nystrom:m=6"), attention_named("window:w=2")};
  const Result result = run(kToy, options);
  for (const Row& row : rows_of(result, "state.distance")) {
    EXPECT_EQ(row.n, 2);
    if (*row.layer == 0 || row.variant == "full") {
      EXPECT_EQ(row.mean, 0) << row.variant;
    } else if (row.variant.starts_with("linformer")) {
      EXPECT_LE(*row.mean, 1e-12);
    } else {
      EXPECT_GT(*row.mean, 1e-6) << row.variant;
      EXPECT_LT(*row.mean, 2) << row.variant;
    }
  }
  EXPECT_EQ(rows_of(result, "state.distance").size(), 12U);
  EXPECT_EQ(rows_of(result, "state.distance.residual").size(), 12U);
}

// Kinds are compared at the same number of products per query: those of the default ones are near n/4, and each says
// how many it has.
TEST(Lowrank, DefaultKindsHaveEqualBudgets) {
  for (const char* mask : {"", ",mask=causal"}) {
    for (const Index n : {24, 50, 128, 300}) {
      LowrankOptions options;
      options.spectra = options.scaling = options.sketches = false;
      options.input.n_samples = 1;
      options.input.n_tokens = n;
      const Result result = run(fmt::format("san:layers=1,heads=1,dim=4,vocab=50{}", mask), options);
      const double budget = static_cast<double>(n / 4);
      const auto products = rows_of(result, "state.products");
      std::size_t n_kinds = 0;
      for (const Row& row : rows_of(result, "state.distance")) n_kinds += row.layer == 0 ? 1U : 0U;
      EXPECT_EQ(products.size(), n_kinds);
      for (const Row& row : products) {
        if (row.variant == "gaussian") continue;  // has no size
        EXPECT_NEAR(*row.mean, budget, std::max(1.0, 0.04 * budget)) << row.variant << mask << ' ' << n;
      }
    }
  }
}

// Padding is no key.
TEST(Lowrank, ProductsLeaveOutPadding) {
  const Model model = open_model(kToy, 0);
  LowrankOptions options = quick();
  options.spectra = options.scaling = options.sketches = false;
  options.attention = {attention_named("window:w=2"), attention_named("nystrom:m=30")};
  std::vector<Sample> samples = random_samples(model.network, 0, 1, 20);
  samples[0].valid = std::vector<std::uint8_t>(20, 1);
  std::fill(samples[0].valid.begin() + 12, samples[0].valid.end(), std::uint8_t{0});
  const auto products = rows_of(lowrank(model, samples, options), "state.products");
  ASSERT_EQ(products.size(), 2U);
  EXPECT_DOUBLE_EQ(*products[0].mean, (2 * 3 + 2 * 4 + 8 * 5) / 12.0);
  EXPECT_EQ(*products[1].mean, 12);
}

TEST(Lowrank, KindsThatDoNotFitSayWhy) {
  LowrankOptions options = quick();
  options.spectra = options.scaling = options.sketches = false;
  const Result result = run("san:layers=2,heads=2,dim=16,vocab=50,std=0.4,mask=causal", options);
  const auto rows = rows_of(result, "state.distance");
  Index refused = 0;
  for (const Row& row : rows) {
    if (row.layer) continue;
    ++refused;
    EXPECT_EQ(row.status, Status::kRefused);
    EXPECT_THAT(fmt::to_string(row.verdict), HasSubstr("the model is causal"));
    EXPECT_FALSE(row.mean);
  }
  EXPECT_EQ(refused, 3);  // two Linformers and Nystrom
  EXPECT_EQ(rows.size(), 3U + 4 * 3);
}

// Given inputs are put side by side; lengths that they do not fill are left out.
TEST(Lowrank, LengthsEndWithTheInputs) {
  const Model model = open_model(kToy, 0);
  LowrankOptions options = quick();
  options.spectra = options.sketches = options.kinds = false;
  const std::vector<Sample> samples = random_samples(model.network, 0, 4, 10);
  std::set<Index> lengths;
  for (const Row& row : rows_of(lowrank(model, samples, options), "scaling.sigma2")) lengths.insert(*row.tokens);
  EXPECT_EQ(lengths, (std::set<Index>{16, 32}));
}

// Grouped heads, positions, masks, images: whatever has attention.
TEST(Lowrank, TakesEveryFamily) {
  LowrankOptions options = quick();
  options.input.n_samples = 1;
  options.input.n_tokens = 16;
  options.lengths = {8, 16, 32};
  options.n_trials = 12;
  for (const char* spec : {"bert-tiny@init", "san:layers=2,heads=2,dim=8,vocab=20,relative=xlnet",
                           "san:layers=1,heads=2,dim=8,features=3,mask=window,window=2"}) {
    SCOPED_TRACE(spec);
    const Result result = run(spec, options);
    EXPECT_FALSE(rows_of(result, "jl.statement").empty());
    EXPECT_FALSE(rows_of(result, "attention.gap").empty());
    EXPECT_FALSE(to_table(result, {}).empty());
  }
}

std::string refusal(const LowrankOptions& options) {
  try {
    run(kToy, options);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kUsage);
    return e.what();
  }
  return "";
}

TEST(Lowrank, WrongOptionsAreRefused) {
  LowrankOptions options = quick();
  options.lengths = {64, 32};
  EXPECT_THAT(refusal(options), HasSubstr("ascend"));
  options.lengths = {1, 2};
  EXPECT_THAT(refusal(options), HasSubstr("at least 2"));
  options.lengths = {};
  EXPECT_THAT(refusal(options), HasSubstr("no lengths"));
  for (Index n = 2; n < 70; ++n) options.lengths.push_back(n);
  EXPECT_THAT(refusal(options), HasSubstr("64 at most"));
  options = quick();
  options.block = 2;
  EXPECT_THAT(refusal(options), HasSubstr("blocks 0 to 1"));
  options = quick();
  options.sketch_eps = 1;
  EXPECT_THAT(refusal(options), HasSubstr("between 0 and 1"));
  options = quick();
  options.eps = {0};
  EXPECT_THAT(refusal(options), HasSubstr("between 0 and 1"));
  options = quick();
  options.n_trials = 0;
  EXPECT_THAT(refusal(options), HasSubstr("at least 1"));
}

}  // namespace
}  // namespace rankfall
