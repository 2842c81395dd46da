#include <algorithm>
#include <limits>

#include <gmock/gmock.h>

#include "report/lines.h"
#include "report/page/page.h"
#include "report/page_samples.h"
#include "report/screen_text.h"
#include <rankfall/report.h>

namespace rankfall {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(LowrankTables, SpectraAreMeansAndRangesOverHeads) {
  const std::string text = to_table(low_rank());
  EXPECT_THAT(text, HasSubstr("bert full"));
  EXPECT_THAT(text, ContainsRegex("block +σ₂ +gap"));
  EXPECT_THAT(text, ContainsRegex("    0 +0\\.250 +0\\.200\\.\\.0\\.300"));
  EXPECT_THAT(text, HasSubstr("rank eps=0.1"));
  EXPECT_THAT(text, HasSubstr(">=12.0"));
  EXPECT_THAT(text, HasSubstr("The first one holds 0.600 of ‖P‖_F²"));
  EXPECT_THAT(text, HasSubstr("off by 0.0010 at most"));
}

TEST(LowrankTables, ScalingHasALineForEveryNumberOfTokens) {
  const std::string text = to_table(low_rank());
  EXPECT_THAT(text, HasSubstr("of block 0 against the number of tokens"));
  EXPECT_THAT(text, ContainsRegex("  64  0\\.500 .* 0\\.125"));
  EXPECT_THAT(text, HasSubstr("independent: σ₂ goes with n^-0.500 +- 0.010"));
  EXPECT_THAT(text, HasSubstr("model: slower than the theorem"));
}

TEST(LowrankTables, SketchesSayWhatFailsAndWhatIsNeeded) {
  const std::string text = to_table(low_rank());
  EXPECT_THAT(text, HasSubstr("claim \"relative\""));
  EXPECT_THAT(text, HasSubstr("claim \"norms\""));
  EXPECT_THAT(text, ContainsRegex("  64 +167  k >= n +0\\.0300  0\\.020\\.\\.0\\.050 +10"));
  EXPECT_THAT(text, ContainsRegex(" 256 +222 .*above 1024 n"));
  EXPECT_THAT(text, HasSubstr("gaussian: it grows like log n"));
  EXPECT_THAT(text, HasSubstr("the printed form does not hold"));
}

TEST(LowrankTables, KindsOfAttentionByLayerAndThoseThatDoNotFit) {
  const std::string text = to_table(low_rank());
  EXPECT_THAT(text, ContainsRegex("layer  window:w=16 +nystrom:m=32"));
  EXPECT_THAT(text, HasSubstr("Not for this model: attention linformer:k=32: positions are relative"));
  EXPECT_THAT(text, HasSubstr("less its token mean"));
}

TEST(LowrankTables, FitTheWidthAndTheCharacterSet) {
  for (const int width : {40, 60, 80, 100, 120, 200}) {
    for (const bool unicode : {true, false}) {
      TableOptions options;
      options.width = width;
      options.unicode = unicode;
      options.plot = true;
      const std::string text = to_table(low_rank(), options);
      for (const std::string& line : lines(text)) EXPECT_LE(display_width(line), width) << line;
      if (!unicode) {
        EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c < 127); })) << text;
        EXPECT_THAT(text, Not(HasSubstr("?")));
      }
    }
  }
}

// A file may have any rows: each field missing, huge or hostile, in tables, plots and page.
TEST(LowrankTables, TakeAnyRows) {
  const Result good = low_rank();
  const auto try_all = [](const Result& result, const std::string& what) {
    TableOptions options;
    options.plot = true;
    EXPECT_FALSE(to_table(result, options).empty()) << what;
    const PageContent page = compose_page({{"a", result}, {"b", result}}, {});
    EXPECT_FALSE(to_page_json(page).dump(-1, ' ', false, Json::error_handler_t::replace).empty()) << what;
  };
  const auto with = [&](const auto& change, const std::string& what) {
    Result result = good;
    for (Row& row : result.rows) change(row);
    try_all(result, what);
  };
  constexpr Index kMost = std::numeric_limits<Index>::max(), kLeast = std::numeric_limits<Index>::min();
  for (const std::optional<Index> index : {std::optional<Index>(), std::optional(kMost), std::optional(kLeast),
                                           std::optional(Index{-1}), std::optional(Index{0})}) {
    const std::string name = index ? std::to_string(*index) : "none";
    with([&](Row& row) { row.layer = index; }, "layer " + name);
    with([&](Row& row) { row.head = index; }, "head " + name);
    with([&](Row& row) { row.tokens = index; }, "tokens " + name);
    with([&](Row& row) { row.k = index; }, "k " + name);
    with([&](Row& row) { row.n = index; }, "n " + name);
  }
  for (const double mean : {0.0, -1.0, 1e308, -1e308, 1e-320, std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity()}) {
    with([&](Row& row) { row.mean = row.std = mean; }, "mean " + std::to_string(mean));
  }
  with([](Row& row) { row.mean.reset(); }, "no mean");
  with([](Row& row) { row.kind.clear(); }, "no kind");
  with([](Row& row) { row.claim.clear(); }, "no claim");
  with([](Row& row) { row.verdict = {}; }, "no verdict");
  with([](Row& row) { row.variant.clear(); }, "no variant");
  for (std::size_t i = 0; i < good.rows.size(); ++i) {
    Result one;
    one.command = good.command;
    one.rows = {good.rows[i]};
    try_all(one, "row " + std::to_string(i) + " alone");
  }
}

TEST(LowrankTables, ThousandsOfHeadsAndKindsAreAFewLines) {
  Result result;
  result.command = "lowrank";
  for (Index i = 0; i < 3000; ++i) {
    for (const char* metric :
         {"attention.sigma2", "attention.rank.numerical", "state.distance", "scaling.sigma2", "jl.failure"}) {
      Row one = row("bert", "full", metric, 0.5);
      const bool spectrum = std::string_view(metric).starts_with("attention");
      one.layer = spectrum ? 0 : i;
      one.head = i;
      one.tokens = one.k = i;
      if (metric != std::string_view("attention.sigma2")) one.kind = std::to_string(i);
      if (metric == std::string_view("state.distance")) one.variant = std::to_string(i);
      result.rows.push_back(one);
    }
  }
  const std::string text = to_table(result);
  EXPECT_LT(std::ranges::count(text, '\n'), 2000);
  EXPECT_THAT(text, HasSubstr("2976 more kinds are in csv and json"));
}

TEST(LowrankTables, NeutraliseHostileNames) {
  Result result = low_rank();
  for (Row& row : result.rows) {
    for (std::string* text : {&row.model, &row.variant, &row.kind, &row.claim}) *text += "\x1b[31m\r\n";
    row.verdict = "\x1b[31m\r\n";
  }
  const std::string text = to_table(result);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

}  // namespace
}  // namespace rankfall
