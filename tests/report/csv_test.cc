#include <charconv>
#include <limits>

#include <gtest/gtest.h>

#include <rankfall/report.h>

namespace rankfall {
namespace {

constexpr const char* kHeader =
    "model,variant,layer,head,metric,mean,std,n,seed,sample,length,origin,path,step,kind,claim,tokens,k,verdict,"
    "exact\n";

TEST(Csv, OfNothingIsTheHeader) { EXPECT_EQ(to_csv(Result()), kHeader); }

TEST(Csv, AbsentValuesAreEmpty) {
  Result result;
  Row row;
  row.model = "bert";
  row.layer = 0;
  row.metric = "loss";
  row.mean = 0.1;
  row.std = std::numeric_limits<double>::quiet_NaN();
  row.seed = std::numeric_limits<std::uint64_t>::max();
  result.rows = {row};
  EXPECT_EQ(to_csv(result), std::string(kHeader) + "bert,,0,,loss,0.1,,,18446744073709551615,,,,,,,,,,,\n");
}

TEST(Csv, QuotesAsRfc4180) {
  Result result;
  Row row;
  row.model = "a,b";
  row.variant = "say \"no\"";
  row.metric = "two\nlines";
  row.origin = "\xff";
  result.rows = {row};
  EXPECT_EQ(to_csv(result),
            std::string(kHeader) + "\"a,b\",\"say \"\"no\"\"\",,,\"two\nlines\",,,,,,,\xef\xbf\xbd,,,,,,,,\n");
}

TEST(Csv, NumbersReadBackToTheSameBits) {
  for (const double x : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -2.5e-7, 123456789.123456789}) {
    Result result;
    result.rows.emplace_back().mean = x;
    const std::string text = to_csv(result).substr(std::string(kHeader).size() + 5);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    EXPECT_EQ(back, x) << text;
  }
}

}  // namespace
}  // namespace rankfall
