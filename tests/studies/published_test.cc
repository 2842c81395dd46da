#include "studies/published/published.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "contract.h"
#include "result/prose_format.h"
#include <rankfall/error.h>
#include <rankfall/paths.h>

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

TEST(Published, OneSeedIsOneDrawAgainstAnother) {
  const auto one_seed = [](double shift) {
    Result result = shifted(shift, 0.001);
    for (Row& row : result.rows) row.kind = "samples";  // the deviation is over samples and no measure of seeds
    return compare_with_published(result);
  };
  EXPECT_TRUE(one_seed(0.09).met);
  EXPECT_FALSE(one_seed(0.11).met) << "12 of 13 is below 95 %";
  EXPECT_NE(one_seed(0.11).summary.find("0 beyond"), std::string::npos);
  EXPECT_NE(one_seed(0.21).summary.find("1 beyond"), std::string::npos);
  ASSERT_EQ(one_seed(0).models.size(), 1U);
  EXPECT_EQ(one_seed(0).models[0].model, "bert-base@init");
}

TEST(Published, CurvesByNameAndState) {
  const auto rows = published_curves("XLNet", "pretrained", "mine");
  ASSERT_EQ(rows.size(), 52U);
  EXPECT_EQ(rows[0].model, "mine");
  EXPECT_TRUE(published_curves("XLNet", "unknown", "mine").empty());
}

std::map<std::string, Status> verdicts(const Result& result) {
  std::map<std::string, Status> out;
  for (const Row& row : result.rows) {
    if (row.metric == "agreement.verdict") out[row.claim] = row.status;
  }
  return out;
}

TEST(Published, TrainedCheckpointsAreComparedButNotJudged) {
  Result result;
  result.command = "measure";
  const auto add = [&](const char* metric, Index layer, double value) {
    Row row;
    row.model = "bert";
    row.variant = "full";
    row.metric = metric;
    row.layer = layer;
    row.mean = value;
    result.rows.push_back(row);
  };
  add("relative_residual.composite", 0, 0.5);
  add("relative_residual.composite", 1, 0.25);
  add("published.value", 0, 0.75);
  add("published.value", 1, 0.125);
  const Result* one = &result;
  const Result found = agreement({&one, 1});
  const auto verdict = std::ranges::find(found.rows, "agreement.verdict", &Row::metric);
  const auto evidence = std::ranges::find(found.rows, "agreement.evidence", &Row::metric);
  ASSERT_TRUE(verdict != found.rows.end() && evidence != found.rows.end());
  EXPECT_EQ(verdict->status, Status::kMissing);
  EXPECT_THAT(fmt::to_string(evidence->verdict), testing::StartsWith("mean distance 0.188 over 2 points"));
}

TEST(Published, AgreementIsJudgedFigureByFigure) {
  Result curves = shifted(0.3, 0.01), boxes, lengths = counts(published_architectures());
  curves.command = "measure";
  for (Row& row : compare_with_published(curves).rows) curves.rows.push_back(row);
  boxes.command = "paths";
  const auto box = [&](const char* metric, Index length, double value) {
    Row row;
    row.metric = metric;
    row.kind = "median";
    row.length = length;
    row.mean = value;
    boxes.rows.push_back(row);
  };
  box("published.rank1_remainder.composite", 1, 0.16);
  box("path.attention_reversed.rank1_remainder.composite", 1, 0.16 * 1.2);
  box("published.rank1_remainder.composite", 5, 1.9e-6);
  box("path.attention_reversed.rank1_remainder_f32.composite", 5, 1e-7);
  std::vector<const Result*> results = {&curves, &boxes, &lengths};
  for (const Result* result : results) expect_contract(*result);
  expect_contract(agreement(results));
  auto found = verdicts(agreement(results));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found.at("Figure 2, BERT at initialisation"), Status::kDiffers);
  EXPECT_EQ(found.at("Figure 5, path lengths"), Status::kAgrees);
  EXPECT_EQ(found.at("Box-plot of chained attention, BERT at initialisation"), Status::kAgrees);
  boxes.rows[1].mean = 0.16 * 1.3;
  for (Row& row : lengths.rows) {
    if (row.metric == "published.deviation") row.mean = 1e-3;
  }
  found = verdicts(agreement(results));
  EXPECT_EQ(found.at("Figure 5, path lengths"), Status::kDiffers);
  EXPECT_EQ(found.at("Box-plot of chained attention, BERT at initialisation"), Status::kDiffers);
  boxes.rows[1].mean = 0.16;
  boxes.rows[3].mean = 1e-5;
  EXPECT_EQ(verdicts(agreement(results)).at("Box-plot of chained attention, BERT at initialisation"), Status::kDiffers)
      << "not at the floor";
}

TEST(Published, TheCriterionAndTheWorstPointAreSaid) {
  const Agreement strict = compare_with_published(shifted(0.03, 0.01));
  EXPECT_THAT(strict.summary, testing::HasSubstr("within 4 standard deviations over seeds or 0.02"));
  EXPECT_THAT(strict.summary,
              testing::HasSubstr("largest distance 3.0 standard deviations (bert-base@init san, layer 0: 0.642 "
                                 "measured, 0.612 published)"));
  Result one_draw = shifted(0.03, 0.01);
  for (Row& row : one_draw.rows) row.kind = "samples";
  const Agreement loose = compare_with_published(one_draw);
  EXPECT_THAT(loose.summary, testing::HasSubstr("within 0.1, one draw of the weights compared with another"));
  EXPECT_THAT(loose.summary, testing::HasSubstr("largest distance 0.030 (bert-base@init san, layer 0"));
  for (const Row& row : loose.rows) one_draw.rows.push_back(row);
  const Result* result = &one_draw;
  const Result judged = agreement({&result, 1});
  const auto worst = std::ranges::find(judged.rows, "agreement.worst", &Row::metric);
  ASSERT_NE(worst, judged.rows.end());
  EXPECT_EQ(worst->kind, "one_draw");
  EXPECT_NEAR(worst->mean.value_or(0), 0.03, 1e-9);
  EXPECT_THAT(fmt::to_string(worst->verdict),
              testing::EndsWith("; at least 95 % of the points must lie within 0.1, all within 0.2"));
  const auto criterion = std::ranges::find(judged.rows, "agreement.criterion", &Row::metric);
  ASSERT_NE(criterion, judged.rows.end());
  EXPECT_THAT(fmt::to_string(criterion->verdict),
              testing::StartsWith("one random draw of the weights is compared with another"));
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
