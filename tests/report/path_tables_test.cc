#include <gmock/gmock.h>

#include "report/lines.h"
#include "report/screen_text.h"
#include <rankfall/report.h>

namespace rankfall {
namespace {

using testing::HasSubstr;
using testing::Not;

Row& add(Result& result, const char* metric, double mean) {
  Row& row = result.rows.emplace_back();
  row.model = "bert";
  row.variant = "full";
  row.metric = metric;
  row.mean = mean;
  row.n = 4;
  return row;
}

Result by_length() {
  Result result;
  result.command = "paths";
  for (Index layer = 0; layer <= 2; ++layer) {
    for (const char* origin : {"embedding", "mlp", "all"}) {
      for (Index k = 0; k <= layer; ++k) {
        Row& count = add(result, "paths.count", 0);
        count.exact = k == 2 ? "1234567890123" : "7";
        count.mean = k == 2 ? 1234567890123.0 : 7.0;
        Row& share = add(result, "paths.share.residual", k == 0 ? 0.75 : 0.125);
        for (Row* row : {&result.rows[result.rows.size() - 2], &share}) {
          row->layer = layer;
          row->length = k;
          row->origin = origin_from(origin);
        }
      }
    }
    add(result, "paths.cancellation", 1.5).layer = layer;
    add(result, "reconstruction_error", 3e-16).layer = layer;
  }
  return result;
}

TEST(PathTables, ByLengthShowsTheOutput) {
  const std::string text = to_table(by_length());
  EXPECT_THAT(text, HasSubstr("bert full"));
  EXPECT_THAT(text, HasSubstr("at the output (layer 2)"));
  EXPECT_THAT(text, HasSubstr("1.23e+12"));
  EXPECT_THAT(
      text,
      HasSubstr("Paths of length 0 have the largest share of the residual, 0.75; those up to length 2, 0.9 or more"));
  EXPECT_THAT(text, HasSubstr("relative error 3e-16"));
  EXPECT_THAT(text, HasSubstr("cancellation Σ‖Yₖ‖ / ‖Y‖ = 1.50"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  const auto all = lines(text);
  EXPECT_EQ(std::ranges::count_if(all, [](const auto& line) { return line.find("0.125") != std::string::npos; }), 2);
}

TEST(PathTables, FitTheWidthAndTheCharacterSet) {
  for (const int width : {60, 80, 100, 200}) {
    for (const bool unicode : {true, false}) {
      TableOptions options;
      options.width = width;
      options.unicode = unicode;
      const std::string text = to_table(by_length(), options);
      for (const std::string& line : lines(text)) EXPECT_LE(display_width(line), width) << line;
      if (!unicode) {
        for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 127)) << text;
      }
    }
  }
}

TEST(PathTables, HeadsAreRankedByTheSizeOfTheirShare) {
  Result result;
  result.command = "paths";
  for (Index h = 0; h < 30; ++h) {
    Row& row = add(result, "head.share.residual", h == 17 ? -0.5 : 0.01 * static_cast<double>(h));
    row.layer = 3;
    row.head = h;
  }
  add(result, "mlp.share.residual", 0.4).layer = 3;
  const auto all = lines(to_table(result));
  std::vector<std::string> ranked;
  for (const std::string& line : all) {
    if (line.find("L3") != std::string::npos) ranked.push_back(line);
  }
  ASSERT_EQ(ranked.size(), 20U);
  EXPECT_THAT(ranked[0], HasSubstr("L3H17"));
  EXPECT_THAT(ranked[1], HasSubstr("L3 MLP"));
  EXPECT_THAT(ranked[2], HasSubstr("L3H29"));
  EXPECT_THAT(to_table(result), HasSubstr("20 of 31 heads and MLPs shown"));
}

TEST(PathTables, HeaviestPathsInTheirOrder) {
  Result result;
  result.command = "paths";
  for (Index k = 1; k <= 2; ++k) {
    for (const char* metric : {"path.norm.frobenius", "path.share.residual"}) {
      Row& row = add(result, metric, k == 1 ? 8.5 : 0.25);
      row.k = k;
      row.origin = Origin{Origin::Kind::kMlp, 1};
      row.path = k == 1 ? Heads{} : Heads{{2, 5}, {3, 0}};
      row.verdict = "found with a beam of 64";
    }
  }
  const std::string text = to_table(result);
  EXPECT_THAT(text, HasSubstr("found with a beam of 64"));
  EXPECT_THAT(text, HasSubstr("L2H5 > L3H0"));
  EXPECT_LT(text.find("skips only"), text.find("L2H5"));
}

TEST(CountTables, OneArchitectureAndSeveral) {
  Result result;
  result.command = "counts";
  const auto architecture = [&](const char* name) {
    for (Index k = 0; k <= 2; ++k) {
      for (const char* metric : {"paths.count", "paths.proportion", "paths.cumulative"}) {
        Row& row = add(result, metric, 0.25 * static_cast<double>(k + 1));
        row.model = name;
        row.variant = "2 layers, 1 head";
        row.length = k;
        row.n = {};
        if (row.metric == "paths.count") row.exact = "123456789012345678901234567890";
      }
    }
  };
  architecture("one");
  EXPECT_THAT(to_table(result), HasSubstr("1.23e+29"));
  EXPECT_THAT(to_table(result), HasSubstr("0.750"));
  architecture("two");
  const std::string text = to_table(result);
  EXPECT_THAT(text, HasSubstr("▃▅█"));
  EXPECT_THAT(text, HasSubstr("two"));
}

}  // namespace
}  // namespace rankfall
