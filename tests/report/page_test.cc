#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "render/page/panels.h"
#include "report/page_content.h"
#include "report/page_samples.h"
#include "result/manifest.h"
#include "studies/numbers_of.h"
#include <rankfall/error.h>
#include <rankfall/report.h>

namespace rankfall {
namespace {

using testing::HasSubstr;
using testing::Not;

const Figure* find_figure(const PageContent& page, std::string_view title) {
  for (const Section& section : page.sections) {
    for (const Figure& figure : section.figures) {
      if (figure.title.starts_with(title)) return &figure;
    }
  }
  return nullptr;
}

Dataset data_of(const Figure& figure) { return panels_of(figure).at(0).data; }

std::size_t column(const Dataset& data, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(data.columns, name, &PageColumn::name) - data.columns.begin());
}

TEST(Page, MeasuredAndPublishedPointsStandBesideEachOther) {
  Result result = measured("bert", {"san"}, 1);
  Row published = row("bert", "san", "published.value", 0.612);
  published.layer = 0;
  result.rows.push_back(published);
  const PageContent page = page_content({{"a", result}}, {});
  const Figure* figure = find_figure(page, "Relative residual");
  ASSERT_NE(figure, nullptr);
  const Dataset data = data_of(*figure);
  ASSERT_EQ(data.rows.size(), 3U);
  const auto& first = data.rows[0];
  EXPECT_EQ(std::get<double>(first[column(data, "value")]), 0.6);
  EXPECT_DOUBLE_EQ(std::get<double>(first[column(data, "low")]), 0.58);
  EXPECT_DOUBLE_EQ(std::get<double>(first[column(data, "high")]), 0.62);
  EXPECT_EQ(std::get<std::string>(data.rows[2][column(data, "source")]), "published");
  EXPECT_EQ(std::get<double>(data.rows[2][column(data, "value")]), 0.612);
}

TEST(Page, SeveralFilesAreComparedAndModelsOfTheSameNameToldApart) {
  const PageContent page =
      page_content({{"before", measured("bert", {"full"}, 3)}, {"after", measured("bert", {"full"}, 3)}}, {});
  ASSERT_EQ(page.sections.size(), 1U);
  const Figure* figure = find_figure(page, "Models side by side");
  ASSERT_NE(figure, nullptr);
  ASSERT_EQ(figure->series.size(), 2U);
  EXPECT_EQ(figure->series[0].name, "bert (before)");
  EXPECT_EQ(figure->series[1].name, "bert (after)");
  EXPECT_EQ(page.manifests.size(), 2U);
}

TEST(Page, CheckpointsThatDifferInANumberAreASeries) {
  EXPECT_EQ(numbers_of({"ck-100", "ck-2000", "ck-300"}), (std::vector<double>{100, 2000, 300}));
  EXPECT_TRUE(numbers_of({"ck-100", "other-200", "ck-300"}).empty());
  EXPECT_TRUE(numbers_of({"ck-100", "ck-100", "ck-300"}).empty());
  EXPECT_TRUE(numbers_of({"ck", "cl", "cm"}).empty());
  EXPECT_TRUE(numbers_of({"ck-1", "ck-2"}).empty()) << "two are a comparison";
  std::vector<NamedResult> steps;
  for (const char* model : {"ck-300", "ck-100", "ck-2000"}) steps.push_back({model, measured(model, {"full"}, 2)});
  const PageContent page = page_content(steps, {});
  const Figure* figure = find_figure(page, "From model to model");
  ASSERT_NE(figure, nullptr);
  const Dataset data = data_of(*figure);
  ASSERT_EQ(data.rows.size(), 3U);
  EXPECT_EQ(std::get<double>(data.rows[0][column(data, "x")]), 100);
  EXPECT_EQ(std::get<double>(data.rows[2][column(data, "x")]), 2000);
}

TEST(Page, TheSummarySaysWhatDiesAndWhatLives) {
  const PageContent page = page_content(all_results(), {});
  ASSERT_GE(page.summary.size(), 5U);
  EXPECT_EQ(page.summary[0].question, Question::kCollapses);
  EXPECT_EQ(page.summary[0].answer,
            "bert: Without skip connections and MLPs (san) and without skip connections (san+mlp), tokens become "
            "identical to working precision within 2 layers.");
  EXPECT_THAT(page.summary[0].answer, Not(HasSubstr("full")));
  EXPECT_EQ(page.summary[1].question, Question::kPrevents);
  EXPECT_EQ(page.summary[1].answer,
            "Skip connections prevent collapse; MLPs alone do not. In the full model and without MLPs (san+skip), 93 % "
            "of the residual remains after 4 layers.");
  const auto agrees = std::ranges::find(page.summary, Question::kAgrees, &Answer::question);
  ASSERT_NE(agrees, page.summary.end());
  EXPECT_THAT(agrees->answer, HasSubstr("1 of 1 comparisons meet their criterion. 01 one: agrees."));
}

TEST(Page, PartsOfAReproductionAreSectionsInTheirOrder) {
  Result second = measured("bert", {"full"}, 2), first = counted();
  add(first.manifest, "part", "fig5");
  add(first.manifest, "part_order", std::int64_t{1});
  add(first.manifest, "part_title", "Figure 5");
  add(second.manifest, "part", "fig2");
  add(second.manifest, "part_order", std::int64_t{2});
  const PageContent page = page_content({{"b", second}, {"a", first}}, {});
  ASSERT_EQ(page.sections.size(), 2U);
  EXPECT_EQ(page.sections[0].title, "Figure 5");
}

TEST(Page, SectionsHaveOneOrderWhateverThatOfTheFiles) {
  std::vector<NamedResult> files = all_results();
  const auto titles = [&] {
    std::vector<std::string> out;
    for (const Section& section : page_content(files, {}).sections) out.push_back(section.title);
    return out;
  };
  const std::vector<std::string> order = titles();
  std::ranges::reverse(files);
  EXPECT_EQ(titles(), order);
  ASSERT_GT(order.size(), 3U);
  EXPECT_EQ(order[1], "Residuals by layer");
  EXPECT_EQ(order[2], "The exact collapse");
  EXPECT_EQ(order.back(), "parity") << "a command without figures of its own comes last";
}

TEST(Page, BothKindsOfMeanAreNamed) {
  const PageContent page = page_content(all_results(), {});
  const Figure* arithmetic = find_figure(page, "Relative residual");
  const Figure* geometric = find_figure(page, "The exact residual");
  ASSERT_TRUE(arithmetic && geometric);
  EXPECT_THAT(std::get<Curves>(arithmetic->nodes.at(0)).mean, HasSubstr("arithmetic mean over 32 samples"));
  EXPECT_THAT(geometric->notes, testing::Contains(HasSubstr("mean of the logarithms over samples")));
  EXPECT_THAT(data_of(*geometric).columns,
              testing::Contains(testing::Field(&PageColumn::title, HasSubstr("geometric mean"))));
}

// The law of what the sentence shows, the relative residual; the absolute one of the same network may grow.
TEST(Page, SpeedIsJudgedByTheLawNotByTheSize) {
  const auto answer = [](Status relative) {
    Result result;
    result.command = "collapse";
    Row value = row("net", "san", "log10_relative_residual.composite", -0.57);
    value.kind = "exact";
    value.layer = 4;
    result.rows.push_back(value);
    for (const char* kind : {"relative_residual", "residual"}) {
      Row law = row("net", "san", "decay", 0.7);
      law.kind = kind;
      law.layer.reset();
      law.status = kind == std::string_view("residual") ? Status::kNoCollapse : relative;
      result.rows.push_back(law);
    }
    return page_content({{"a", result}}, {}).summary.at(0);
  };
  EXPECT_THAT(answer(Status::kExponential).answer,
              HasSubstr("net: Without skip connections and MLPs (san), the relative residual falls exponentially, to "
                        "0.27 after 4 layers"));
  EXPECT_EQ(answer(Status::kExponential).tone, Tone::kBad);
  EXPECT_EQ(answer(Status::kIrregular).tone, Tone::kNeutral);
  EXPECT_EQ(answer(Status::kNoCollapse).tone, Tone::kGood);
}

TEST(Page, AgreementSaysItsWorstDistanceAndIsNotGreenForOneDraw) {
  const auto answer = [](const char* kind) {
    Result result;
    result.command = "agreement";
    for (const char* metric : {"agreement.verdict", "agreement.worst"}) {
      Row one = row("", "", metric, 0.083);
      one.claim = "Figure 2, ALBERT";
      one.kind = kind;
      one.status = Status::kAgrees;
      one.verdict = "worst distance 0.083, allowed 0.1";
      result.rows.push_back(one);
    }
    return page_content({{"a", result}}, {}).summary.at(0);
  };
  EXPECT_THAT(answer("").answer, HasSubstr("Figure 2, ALBERT: agrees, worst distance 0.083, allowed 0.1."));
  EXPECT_EQ(answer("").tone, Tone::kGood);
  EXPECT_EQ(answer("one_draw").tone, Tone::kNeutral);
}

TEST(Page, IndicesBeyondAnyNetworkCostNothing) {
  Result result = walked();
  for (Row& one : result.rows) {
    if (one.metric == "path.share.residual") {
      one.path = Heads{{INT64_MAX, INT64_MAX}, {0, 1}};
      one.origin = Origin{Origin::Kind::kMlp, INT64_MAX};
    }
    if (one.metric == "head.share.residual") one.layer = one.head = INT64_MAX;
  }
  const PageContent page = page_content({{"a", result}}, {});
  const Figure* figure = find_figure(page, "The heaviest paths");
  ASSERT_NE(figure, nullptr);
  EXPECT_LT(panels_of(*figure).at(0).views.at(0).second.dump().size(), 10'000U);
}

}  // namespace
}  // namespace rankfall
