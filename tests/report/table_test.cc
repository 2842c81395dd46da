#include <algorithm>
#include <limits>

#include <gmock/gmock.h>

#include "report/lines.h"
#include "report/screen_text.h"
#include "result/manifest.h"
#include <rankfall/report.h>

namespace rankfall {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kRelative = "relative_residual.composite";

Row row(const std::string& model, const std::string& variant, Index layer, const std::string& metric, double mean) {
  Row row;
  row.model = model;
  row.variant = variant;
  row.layer = layer;
  row.metric = metric;
  row.mean = mean;
  row.n = 32;
  row.status = mean < 1e-6 ? Status::kRoundingFloor : Status::kNone;
  return row;
}

Result table_example() {
  Result result;
  result.command = "measure";
  add(result.manifest, "precision", "f32");
  const double full[] = {0.6, 0.5625, 0.5}, san[] = {0.6, 0.0176, 1.9e-7};
  for (Index layer = 0; layer < 3; ++layer) {
    result.rows.push_back(row("bert", "full", layer, kRelative, full[layer]));
    result.rows.push_back(row("bert", "san", layer, kRelative, san[layer]));
    result.rows.push_back(row("bert", "full", layer, "rank.stable", 12.5));
  }
  return result;
}

TEST(Table, SaysWhatTheNumbersAreAbout) {
  Result result = table_example();
  add(result.manifest, "input", "random, uniform");
  add(result.manifest, "samples", std::int64_t{32});
  add(result.manifest, "tokens", std::int64_t{74});
  EXPECT_THAT(to_table(result), testing::StartsWith("Input: 32 samples of 74 tokens, random, uniform\n\nbert"));
  add(result.manifest, "input", "a\x1b[31m.txt");
  add(result.manifest, "samples", std::int64_t{3});
  add(result.manifest, "tokens", "4 to 18");
  const std::string table = to_table(result);
  EXPECT_THAT(table, testing::StartsWith("Input: 3 samples of 4 to 18 tokens, a"));
  EXPECT_THAT(table, Not(HasSubstr("\x1b")));
}

TEST(Table, NamesTheMeanAndWhatItIsOver) {
  Result result = table_example();
  for (Row& one : result.rows) one.kind = "seeds";
  EXPECT_THAT(to_table(result), HasSubstr("arithmetic mean over 32 seeds"));
  for (Row& one : result.rows) {
    one.kind = "exact";
    if (one.metric == kRelative) one.metric = "log10_relative_residual.composite";
  }
  EXPECT_THAT(to_table(result), HasSubstr("mean of the logarithms over 32 samples"));
}

TEST(Table, ShowsAtAGlanceWhoIsDead) {
  EXPECT_EQ(to_table(table_example()),
            R"(bert  arithmetic mean over 32 samples
  relative residual: ‖X − 1·mean‖ / ‖X‖, composite norm √(‖·‖₁ ‖·‖∞)

layer  full                          san
    0  0.600 ████████████             0.600  ████████████
    1  0.562 ███████████▎             0.0176 ▍
    2  0.500 ██████████              ~2e-07  ·floor

full  keeps 0.50 of 0.60 at layer 2
san   reaches the float32 rounding floor at layer 2 (0.60 → 0.018 → 1.9e-07)

~ ·floor: the rounding noise of float32 arithmetic, not a property of the network
1 of 2 metrics shown; all 9 rows with --format csv or json
)");
}

// A rank of a state that is rounding is a number like others, but marked.
TEST(Table, MarksRanksOfCollapsedStates) {
  Result result = table_example();
  result.rows.back().status = Status::kRoundingFloor;
  const std::string text = to_table(result, {.metrics = {"rank.stable"}});
  EXPECT_THAT(text, HasSubstr("~12"));
  EXPECT_THAT(text, HasSubstr("·floor"));
}

TEST(Table, IsPureAsciiWhenAsked) {
  Result result = table_example();
  result.rows[0].variant = "größe";
  const std::string text = to_table(result, {.metrics = {kRelative, "rank.stable"}, .unicode = false});
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); })) << text;
  EXPECT_THAT(text, HasSubstr("0.600 ####"));
}

TEST(Table, HasEscapesOnlyWithColour) {
  EXPECT_EQ(to_table(table_example()).find('\x1b'), std::string::npos);
  std::string coloured = to_table(table_example(), {.metrics = {}, .colour = true});
  EXPECT_NE(coloured.find('\x1b'), std::string::npos);
  // Without its escapes (and the spaces they hide at the ends of lines) it is the same text.
  for (std::size_t at = 0; (at = coloured.find('\x1b')) != std::string::npos;) {
    coloured.erase(at, coloured.find('m', at) - at + 1);
  }
  std::string trimmed;
  for (std::string line : lines(coloured)) {
    line.erase(line.find_last_not_of(' ') + 1);
    trimmed += line + '\n';
  }
  EXPECT_EQ(trimmed, to_table(table_example()) + '\n');
}

TEST(Table, FitsAnyWidth) {
  Result result;
  for (int v = 0; v < 9; ++v) {
    for (Index layer = 0; layer < 4; ++layer) {
      const std::string variant = "-attn_skip,-variant" + std::string(static_cast<std::size_t>(4 * v), 'x');
      result.rows.push_back(row("a-model-of-some-length", variant, layer, kRelative, layer == 3 ? 1e-7 : 0.5));
      result.rows.push_back(row("a-model-of-some-length", variant, layer, "rank.stable", 1e-9));
      for (Index head = 0; head < 3; ++head) {
        result.rows.push_back(row("m", variant, layer, "attention.entropy", -1.2345e-5 * static_cast<double>(head)));
        result.rows.back().head = head;
        result.rows.back().status = Status::kNone;
      }
    }
  }
  for (const int width : {-5, 40, 61, 80, 100, 237}) {
    for (const bool unicode : {true, false}) {
      const std::string text = to_table(
          result, {.metrics = {kRelative, "rank.stable", "attention.entropy"}, .width = width, .unicode = unicode});
      for (const auto& line : lines(text)) EXPECT_LE(display_width(line), std::max(40, width)) << line;
    }
  }
}

TEST(Table, PrintsEveryLayer) {
  Result result;
  for (Index layer = 0; layer <= 200; ++layer) result.rows.push_back(row("m", "full", layer, kRelative, 0.5));
  result.rows.push_back(row("m", "full", std::numeric_limits<Index>::max(), kRelative, 0.5));
  const std::string text = to_table(result);
  EXPECT_EQ(std::ranges::count(text, '\n'), 202 + 8);
  EXPECT_THAT(text, HasSubstr("9223372036854775807  0.500"));
}

TEST(Table, NeutralisesHostileNames) {
  Result result = table_example();
  for (Row& r : result.rows) {
    r.model = "evil\x1b]0;title\x07\n\xc2\x9b\xe2\x80\xae\xff";
    r.variant += "\x1b[2J\r";
  }
  result.rows[2].metric = "bound.\x1b[31m";
  const std::string text = to_table(result, {.metrics = {kRelative, result.rows[2].metric}});
  EXPECT_THAT(text, HasSubstr("evil\\x1b]0;title\\x07\\x0a\\u{9b}\\u{202e}\\xff"));
  for (const char* bad : {"\x1b", "\r", "\x07", "\xc2\x9b", "\xe2\x80\xae", "\xff"})
    EXPECT_THAT(text, Not(HasSubstr(bad)));
}

TEST(Table, HidesSingleSeedsBesideTheirSummary) {
  Result result = table_example();
  result.rows.push_back(row("bert", "full", 0, kRelative, 0.999));
  result.rows.back().seed = 3;
  EXPECT_THAT(to_table(result), Not(HasSubstr("0.999")));
}

TEST(Table, OfSingleSeedsAloneIsTheirMeanAndRange) {
  Result result;
  for (const std::uint64_t seed : {0U, 1U}) {
    result.rows.push_back(row("bert", "full", 0, kRelative, 0.25 + 0.5 * static_cast<double>(seed)));
    result.rows.back().seed = seed;
  }
  EXPECT_THAT(to_table(result), HasSubstr("0.500 ██████████           0.250..0.750"));
}

TEST(Table, ShowsAllMetricsWithoutTheDefaultOne) {
  Result result = table_example();
  std::erase_if(result.rows, [](const Row& r) { return r.metric == kRelative; });
  result.rows.push_back(row("bert", "full", 0, "cosine.mean", 0.5));
  const std::string text = to_table(result);
  EXPECT_THAT(text, HasSubstr("stable rank"));
  EXPECT_THAT(text, HasSubstr("mean cosine"));
  EXPECT_THAT(text, HasSubstr("4 rows, 2 metrics; all columns with --format csv or json"));
}

TEST(Table, FallsBackToPlainRows) {
  Result result;
  for (Index length = 0; length < 2; ++length) {
    Row& r = result.rows.emplace_back();
    r.metric = "paths.count";
    r.length = length;
    r.mean = 12;
  }
  EXPECT_THAT(to_table(result), testing::StartsWith("metric paths.count, mean 12\n\nlength\n     0\n     1\n\n"));
}

TEST(Table, AbsentValuesAreDashes) {
  Result result = table_example();
  result.rows[0].mean.reset();
  result.rows[3].mean = std::numeric_limits<double>::quiet_NaN();
  const std::string text = to_table(result);
  EXPECT_THAT(text, HasSubstr("    0  -"));
  EXPECT_THAT(text, HasSubstr("    1  -"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

TEST(Table, OfNothingSaysSo) {
  EXPECT_EQ(to_table(Result()), "0 rows, 0 metrics; all columns with --format csv or json\n");
}

}  // namespace
}  // namespace rankfall
