#include <gmock/gmock.h>

#include "report/lines.h"
#include "report/screen_text.h"
#include <rankfall/report.h>

namespace rankfall {
namespace {

using testing::HasSubstr;

Result bound_example() {
  Result result;
  result.command = "bounds";
  const auto add = [&](const char* metric, Index layer, double mean, Status status) -> Row& {
    Row& row = result.rows.emplace_back();
    row.model = "bert";
    row.variant = "san";
    row.metric = metric;
    row.layer = layer;
    row.mean = mean;
    row.n = 3;
    row.kind = "proved";
    row.basis = Basis::kData;
    row.status = status;
    return row;
  };
  add("log10_tightness.dobrushin", 0, -0.25, Status::kHolds);
  add("log10_tightness.dobrushin", 1, -0.5, Status::kVacuous);
  add("log10_tightness.T2.2", 0, -7, Status::kNotApplicable).head = 0;
  add("log10_tightness.T2.2", 0, -5, Status::kHolds).head = 1;
  add("log10_tightness.T2.2", 1, 0.5, Status::kViolated).head = 0;
  Row& theorem = add("theorem", 0, -0.25, Status::kHolds);
  theorem.verdict = "applies and holds in 3 of 6";
  theorem.layer.reset();
  theorem.claim = "dobrushin";
  return result;
}

TEST(BoundTables, TheTightestHeadAndWhatBecameOfIt) {
  const std::string text = to_table(bound_example());
  EXPECT_THAT(text, HasSubstr("bert san"));
  EXPECT_THAT(text, testing::ContainsRegex("-0\\.25 +ok"));
  EXPECT_THAT(text, testing::ContainsRegex("-0\\.50 +vac"));
  EXPECT_THAT(text, testing::ContainsRegex("-5\\.00 +ok"));
  EXPECT_THAT(text, testing::ContainsRegex("0\\.50 +!!"));
  EXPECT_THAT(text, HasSubstr("dobrushin  proved, from the data: applies and holds in 3 of 6"));
}

TEST(BoundTables, FitTheWidth) {
  for (const int width : {60, 100}) {
    TableOptions options;
    options.width = width;
    options.unicode = false;
    for (const std::string& line : lines(to_table(bound_example(), options)))
      EXPECT_LE(display_width(line), width) << line;
  }
}

}  // namespace
}  // namespace rankfall
