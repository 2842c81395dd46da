#include <charconv>
#include <limits>

#include <gtest/gtest.h>

#include <rankfall/report.h>

namespace rankfall {
namespace {

TEST(Csv, OfNothingIsTheHeader) { EXPECT_EQ(to_csv(Result()), "metric,mean\n"); }

TEST(Csv, HasTheColumnsInWhichSomeRowHasAValue) {
  Result result;
  Row row;
  row.model = "bert";
  row.layer = 0;
  row.metric = "loss";
  row.mean = 0.1;
  row.std = std::numeric_limits<double>::quiet_NaN();
  row.seed = std::numeric_limits<std::uint64_t>::max();
  result.rows = {row};
  row.status = Status::kRoundingFloor;
  row.layer.reset();
  result.rows.push_back(row);
  EXPECT_EQ(to_csv(result),
            "model,layer,metric,mean,seed,status\nbert,0,loss,0.1,18446744073709551615,\n"
            "bert,,loss,0.1,18446744073709551615,rounding_floor\n");
}

TEST(Csv, QuotesAsRfc4180) {
  Result result;
  Row row;
  row.model = "a,b";
  row.variant = "say \"no\"";
  row.metric = "two\nlines";
  row.kind = "\xff";
  result.rows = {row};
  EXPECT_EQ(to_csv(result),
            "model,variant,metric,mean,kind\n\"a,b\",\"say \"\"no\"\"\",\"two\nlines\",,\xef\xbf\xbd\n");
}

TEST(Csv, NumbersReadBackToTheSameBits) {
  for (const double x : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -2.5e-7, 123456789.123456789}) {
    Result result;
    result.rows.emplace_back().mean = x;
    const std::string text = to_csv(result).substr(std::string("metric,mean\n,").size());
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    EXPECT_EQ(back, x) << text;
  }
}

// A stranger's model may be called =HYPERLINK(...); variants, which begin with a minus, are our own words.
TEST(Csv, NamesFromOutsideAreNoFormulas) {
  Result result;
  Row& row = result.rows.emplace_back();
  row.model = "=1+1";
  row.variant = "-mlp";
  row.metric = "a";
  row.text = "@x";
  EXPECT_EQ(to_csv(result), "model,variant,metric,mean,text\n'=1+1,-mlp,a,,'@x\n");
}

}  // namespace
}  // namespace rankfall
