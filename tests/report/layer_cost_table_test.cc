#include <algorithm>

#include <gmock/gmock.h>

#include "report/lines.h"
#include "report/screen_text.h"
#include <rankfall/report.h>

namespace rankfall {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

Row cost(const char* variant, const char* metric, Index tokens, double value) {
  Row row;
  row.model = "d=768 H=12";
  row.variant = variant;
  row.metric = metric;
  row.tokens = tokens;
  row.mean = value;
  return row;
}

Row exponent(const char* variant, const char* metric, const char* kind, double value, const char* theory) {
  Row row = cost(variant, metric, 0, value);
  row.tokens.reset();
  row.std = 0.02;
  row.kind = kind;
  row.verdict = theory;
  return row;
}

Result example() {
  Result result;
  result.command = "layer_costs";
  for (const char* variant : {"full", "linformer:k=64", "lstm"}) {
    for (const Index n : {256, 1024, 4096}) {
      result.rows.push_back(cost(variant, "layer.seconds", n, 5e-6 * static_cast<double>(n)));
      result.rows.push_back(cost(variant, "layer.memory_mb", n, 0.25 * static_cast<double>(n)));
      result.rows.push_back(cost(variant, "layer.sequential", n, variant[1] == 's' ? static_cast<double>(n) : 1));
    }
    result.rows.push_back(exponent(variant, "layer.exponent", "seconds", 1.93, "O(n^2 d)"));
    result.rows.push_back(exponent(variant, "layer.exponent", "memory", 1, "O(n d)"));
    if (variant[1] != 's') result.rows.push_back(exponent(variant, "mixing.exponent", "seconds", 2.01, "O(n^2 d)"));
  }
  return result;
}

TEST(LayerCostTable, ALineForEachLayer) {
  const std::string text = to_table(example());
  EXPECT_THAT(text, HasSubstr("d=768 H=12"));
  EXPECT_THAT(text, ContainsRegex("full +5.00 +5.00 +5.00 +1024 +1.93±0.02 +2.01±0.02 +1.00±0.02 +1 +O\\(n\\^2 d\\)"));
  EXPECT_THAT(text, ContainsRegex("linformer +5.00"));
  EXPECT_THAT(text, ContainsRegex("lstm .* - .* 4096 +O"));
  EXPECT_THAT(text, HasSubstr("all 35 rows with --format csv or json"));
}

TEST(LayerCostTable, FitsTheWidth) {
  for (const int width : {40, 60, 80, 100, 200}) {
    for (const bool unicode : {false, true}) {
      TableOptions options;
      options.width = width;
      options.unicode = unicode;
      const std::string text = to_table(example(), options);
      for (const std::string& line : lines(text)) EXPECT_LE(display_width(line), width) << line;
      EXPECT_TRUE(unicode || std::ranges::all_of(text, [](char c) { return c > 0; })) << text;
      EXPECT_THAT(text, HasSubstr("theory"));
    }
  }
}

TEST(LayerCostTable, KindsThatDifferInNumbersKeepThem) {
  Result result = example();
  result.rows.push_back(cost("linformer:k=128", "layer.seconds", 256, 1e-3));
  const std::string text = to_table(result);
  EXPECT_THAT(text, HasSubstr("linformer:k=64"));
  EXPECT_THAT(text, HasSubstr("linformer:k=128"));
}

TEST(LayerCostTable, TakesAnyRows) {
  const Result whole = example();
  for (std::size_t skipped = 0; skipped < whole.rows.size(); ++skipped) {
    Result result = whole;
    result.rows.erase(result.rows.begin() + static_cast<std::ptrdiff_t>(skipped));
    EXPECT_FALSE(to_table(result).empty());
    result = whole;
    Row& row = result.rows[skipped];
    row.mean.reset();
    row.std.reset();
    row.tokens.reset();
    row.variant = "a\x1b[31m\n";
    EXPECT_THAT(to_table(result), Not(HasSubstr("\x1b")));
    row.tokens = -5;
    row.mean = -1e308;
    EXPECT_FALSE(to_table(result).empty());
    row.tokens = 0;
    EXPECT_FALSE(to_table(result).empty());
  }
  Result none;
  none.command = "layer_costs";
  EXPECT_FALSE(to_table(none).empty());
  Result many = whole;
  for (Index n = 1; n < 20'000; ++n) many.rows.push_back(cost("full", "layer.seconds", n, 1e300));
  many.rows.push_back(exponent("full", "layer.exponent", "seconds", 1e308, std::string(10'000, 'O').c_str()));
  TableOptions options;
  options.width = 80;
  for (const std::string& line : lines(to_table(many, options))) EXPECT_LE(display_width(line), 80);
}

}  // namespace
}  // namespace rankfall
