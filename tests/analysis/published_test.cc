#include <gtest/gtest.h>

#include <rankfall/error.h>
#include <rankfall/published.h>

namespace rankfall {
namespace {

// Rows over seeds of one model and variant, equal to the published BERT curve of pure attention plus a shift.
Result shifted(double shift, double std) {
  const double published[] = {0.611750601, 0.017579538, 0.000000699, 1.88e-7, 1.88e-7, 1.88e-7, 1.95e-7,
                              1.82e-7,     1.95e-7,     1.88e-7,     1.88e-7, 1.95e-7, 1.88e-7};
  Result result;
  for (Index layer = 0; layer <= 12; ++layer) {
    Row row;
    row.model = "bert-base@init";
    row.variant = "san";
    row.layer = layer;
    row.metric = "relative_residual.composite";
    row.kind = "seeds";
    row.mean = published[layer] + (layer == 0 ? shift : 0);
    row.std = std;
    row.n = 10;
    result.rows.push_back(row);
  }
  return result;
}

TEST(Published, TheCurveAgreesWithItself) {
  const Agreement agreement = compare_with_published(shifted(0, 0.01));
  EXPECT_TRUE(agreement.met) << agreement.summary;
  EXPECT_NE(agreement.summary.find("13 of 13"), std::string::npos) << agreement.summary;
}

TEST(Published, DistancesAreJudgedInStandardDeviations) {
  EXPECT_TRUE(compare_with_published(shifted(0.039, 0.01)).met);
  const Agreement between = compare_with_published(shifted(0.05, 0.01));
  EXPECT_NE(between.summary.find("12 of 13"), std::string::npos) << between.summary;
  EXPECT_FALSE(between.met) << "12 of 13 is below 95 %";
  EXPECT_FALSE(compare_with_published(shifted(0.07, 0.01)).met);
  EXPECT_TRUE(compare_with_published(shifted(0.019, 0)).met) << "at least 0.02 is allowed";
}

TEST(Published, SmallValuesAreJudgedByTheirRatio) {
  Result result = shifted(0, 0.01);
  result.rows[1].mean = 0.017 * 2.9;
  EXPECT_TRUE(compare_with_published(result).met);
  result.rows[1].mean = 0.017 * 3.2;
  EXPECT_FALSE(compare_with_published(result).met);
  result = shifted(0, 0.01);
  result.rows[5].mean = 9e-7;
  EXPECT_TRUE(compare_with_published(result).met);
  result.rows[5].mean = 1.1e-6;
  EXPECT_FALSE(compare_with_published(result).met);
}

TEST(Published, NothingToCompareIsAnError) {
  EXPECT_THROW(compare_with_published({}), Error);
  const std::vector<std::string> bert = {"bert-base@init"};
  const std::vector<std::string> tiny = {"bert-tiny@init"};
  MeasureOptions options;
  options.n_seeds = 3;
  EXPECT_NO_THROW(check_comparable(bert, options));
  EXPECT_THROW(check_comparable(tiny, options), Error);
  options.input.n_tokens = 64;
  EXPECT_THROW(check_comparable(bert, options), Error);
  options = {};
  EXPECT_THROW(check_comparable(bert, options), Error) << "one seed";
}

}  // namespace
}  // namespace rankfall
