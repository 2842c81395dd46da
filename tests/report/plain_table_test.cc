#include "report/plain_table.h"

#include <gmock/gmock.h>

#include "report/screen_text.h"

namespace rankfall {
namespace {

std::string table(const std::vector<Row>& rows, int width = 100) {
  std::vector<const Row*> pointers;
  for (const Row& row : rows) pointers.push_back(&row);
  return plain_table(pointers, {.metrics = {}, .width = width});
}

Row count(Index length, const std::string& exact, double mean) {
  Row row;
  row.model = "bert";
  row.metric = "paths.count";
  row.length = length;
  row.exact = exact;
  row.mean = mean;
  return row;
}

TEST(PlainTable, SaysCommonValuesOnce) {
  EXPECT_EQ(table({count(0, "1", 1), count(11, "8916100448256", 8.916100448256e12)}),
            "model bert, metric paths.count\n"
            "\n"
            "      mean  length          exact\n"
            "         1       0              1\n"
            "8.9161e+12      11  8916100448256\n");
}

TEST(PlainTable, OfOneRowShowsAll) {
  EXPECT_EQ(table({count(0, "1", 0.5)}),
            "model  metric       mean  length  exact\n"
            "bert   paths.count   0.5       0      1\n");
}

TEST(PlainTable, FitsTheWidth) {
  std::vector<Row> rows(2);
  for (std::size_t i = 0; i < 2; ++i) {
    Row& row = rows[i];
    row.model = std::string(200, 'm') + std::to_string(i);
    row.variant = std::string(50, 'v') + std::to_string(i);
    row.kind = "x\x1b[31m" + std::to_string(i);
    row.verdict = std::string(30, 'w') + std::to_string(i);
    row.mean = 0.123456789 + static_cast<double>(i);
    row.sample = row.length = row.tokens = row.k = static_cast<Index>(i) + 1'000'000'000'000'000;
  }
  for (const int width : {40, 60, 100, 400}) {
    const std::string text = table(rows, width);
    std::string_view rest = text;
    while (!rest.empty()) {
      const auto line = rest.substr(0, rest.find('\n'));
      EXPECT_LE(display_width(line), width);
      rest.remove_prefix(line.size() + 1);
    }
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
  }
  EXPECT_THAT(table(rows, 40), testing::HasSubstr("left out for want of width: "));
}

TEST(PlainTable, OfNothingIsEmpty) {
  EXPECT_EQ(table({}), "");
  EXPECT_EQ(table({Row(), Row()}), "");
}

}  // namespace
}  // namespace rankfall
