// A file may have any rows: each field missing, huge or hostile. Nothing of that stops a terminal or a page, and
// nothing takes long.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "report/page_content.h"
#include "studies/views.h"
#include <rankfall/report.h>

namespace rankfall {
namespace {

std::vector<Result> good_results() {
  std::vector<Result> out;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(RANKFALL_TEST_DATA) / "views")) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    out.push_back(from_json(std::string(std::istreambuf_iterator<char>(in), {}), entry.path().string()));
  }
  return out;
}

std::string drawn(const Result& result) {
  const PageContent page = page_content({{"a", result}, {"b", result}}, {});
  EXPECT_FALSE(to_page_json(page).dump(-1, ' ', false, Json::error_handler_t::replace).empty());
  return to_table(result, {.metrics = {}, .colour = false, .width = 100, .unicode = true, .plot = true});
}

template <class Change>
void expect_drawn(const Result& good, Change change, const std::string& what) {
  Result result = good;
  for (Row& row : result.rows) change(row);
  EXPECT_FALSE(drawn(result).empty()) << good.command << " " << what;
}

TEST(HostileRows, MayLackAnyField) {
  for (const Result& good : good_results()) {
    constexpr Index kMost = std::numeric_limits<Index>::max(), kLeast = std::numeric_limits<Index>::min();
    for (const std::optional<Index> index : {std::optional<Index>(), std::optional(kMost), std::optional(kLeast),
                                             std::optional(Index{-1}), std::optional(Index{0})}) {
      const std::string name = index ? std::to_string(*index) : "none";
      expect_drawn(
          good, [&](Row& row) { row.layer = index; }, "layer " + name);
      expect_drawn(
          good, [&](Row& row) { row.head = index; }, "head " + name);
      expect_drawn(
          good, [&](Row& row) { row.tokens = index; }, "tokens " + name);
      expect_drawn(
          good, [&](Row& row) { row.k = row.n = index; }, "k " + name);
      expect_drawn(
          good, [&](Row& row) { row.sample = row.length = row.step = index; }, "sample " + name);
    }
    for (const double mean : {0.0, -1.0, 1e308, -1e308, 1e-320, std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity()}) {
      expect_drawn(
          good, [&](Row& row) { row.mean = row.std = mean; }, "mean " + std::to_string(mean));
    }
    expect_drawn(
        good, [](Row& row) { row.mean.reset(); }, "no mean");
    expect_drawn(
        good, [](Row& row) { row.kind.clear(); }, "no kind");
    expect_drawn(
        good, [](Row& row) { row.claim.clear(); }, "no claim");
    expect_drawn(
        good, [](Row& row) { row.verdict = {}; }, "no verdict");
    expect_drawn(
        good, [](Row& row) { row.variant.clear(); }, "no variant");
    expect_drawn(
        good, [](Row& row) { row.status = Status::kNone; }, "no status");
    Result none;
    none.command = good.command;
    EXPECT_FALSE(drawn(none).empty()) << good.command;
  }
}

TEST(HostileRows, MayStandAlone) {
  for (const Result& good : good_results()) {
    const std::size_t stride = good.rows.size() / 40 + 1;
    for (std::size_t i = 0; i < good.rows.size(); i += stride) {
      Result one;
      one.command = good.command;
      one.rows = {good.rows[i]};
      EXPECT_FALSE(drawn(one).empty()) << good.command << ", row " << i;
    }
  }
}

TEST(HostileRows, AreNeutralised) {
  for (Result result : good_results()) {
    for (Row& row : result.rows) {
      for (std::string* text : {&row.model, &row.variant, &row.kind, &row.claim, &row.text}) *text += "\x1b[31m\r\n";
      row.verdict = "\x1b[31m\r\n";
    }
    const std::string text = drawn(result);
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << result.command;
    EXPECT_EQ(text.find('\r'), std::string::npos) << result.command;
  }
}

TEST(HostileRows, OfLowRankInThousandsAreAFewLines) {
  Result result;
  result.command = "lowrank";
  for (Index i = 0; i < 3000; ++i) {
    for (const std::string metric :
         {"attention.sigma2", "attention.rank.numerical", "state.distance", "scaling.sigma2", "jl.failure"}) {
      Row& row = result.rows.emplace_back();
      row.model = "bert";
      row.variant = metric == "state.distance" ? std::to_string(i) : "full";
      row.metric = metric;
      row.mean = 0.5;
      row.layer = metric.starts_with("attention") ? 0 : i;
      row.head = row.tokens = row.k = i;
      if (metric != "attention.sigma2") row.kind = std::to_string(i);
    }
  }
  const std::string text = to_table(result);
  EXPECT_LT(std::ranges::count(text, '\n'), 2000);
  EXPECT_THAT(text, testing::HasSubstr("2976 more kinds are in csv and json"));
}

TEST(HostileRows, OfCostsInThousandsFitTheWidth) {
  Result result;
  result.command = "layer_costs";
  for (Index n = 1; n < 20'000; ++n) {
    Row& row = result.rows.emplace_back();
    row.model = "d=64 H=4";
    row.variant = "full";
    row.metric = "layer.seconds";
    row.tokens = n;
    row.mean = 1e300;
  }
  Row exponent = result.rows.back();
  exponent.tokens.reset();
  exponent.metric = "layer.exponent";
  exponent.kind = "seconds";
  exponent.mean = 1e308;
  exponent.verdict = std::string(10'000, 'O');
  result.rows.push_back(exponent);
  const std::string text = to_table(result, {.metrics = {}, .colour = false, .width = 80, .unicode = false});
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    EXPECT_LE(end - at, 80U) << text.substr(at, end - at);
    at = end + 1;
  }
}

}  // namespace
}  // namespace rankfall
