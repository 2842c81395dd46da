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
#include "report/page_sweep.h"
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
  EXPECT_EQ(page.summary[1].question, Question::kSpeed);
  EXPECT_EQ(page.summary[2].question, Question::kPrevents);
  EXPECT_EQ(page.summary[2].answer,
            "Skip connections prevent collapse; MLPs alone do not. In the full model and without MLPs (san+skip), 93 % "
            "of the residual remains after 4 layers.");
  EXPECT_EQ(page.summary.back().question, Question::kAgrees);
  EXPECT_THAT(page.summary.back().answer, HasSubstr("1 of 1 comparisons meet their criterion. 01 one: agrees."));
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
  EXPECT_EQ(order[0], "Residuals by layer");
  EXPECT_EQ(order[1], "The exact collapse");
  EXPECT_EQ(order[2], "Paths");
  EXPECT_EQ(order.back(), "unheard_of") << "a command without figures of its own comes last";
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
      one.verdict = "largest distance 0.083; the limit is 0.1";
      result.rows.push_back(one);
    }
    return page_content({{"a", result}}, {}).summary.at(0);
  };
  EXPECT_THAT(answer("").answer, HasSubstr("Figure 2, ALBERT: agrees, largest distance 0.083; the limit is 0.1."));
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

Result falling(const std::string& model) {
  Result result;
  result.command = "collapse";
  for (const char* variant : {"full", "san"}) {
    const bool dies = std::string_view(variant) == "san";
    for (Index layer = 0; layer < 5; ++layer) {
      const auto x = static_cast<double>(layer);
      Row one = row(model, variant, "log10_relative_residual.composite", dies ? -std::pow(3.0, x) : -0.2 - 0.01 * x);
      one.kind = "exact";
      one.layer = layer;
      one.n = 8;
      result.rows.push_back(one);
      one.metric = "local_exponent";
      one.mean = dies ? 3.0 : -11 + 7 * x;
      if (layer > 1) result.rows.push_back(one);
    }
    Row law = row(model, variant, "decay", std::nullopt);
    law.kind = "relative_residual";
    law.status = dies ? Status::kDoublyExponential : Status::kNoCollapse;
    result.rows.push_back(law);
  }
  Row lost = row(model, "san", "rounding_layer", 2);
  lost.kind = "f32";
  result.rows.push_back(lost);
  lost.kind = "f64";
  lost.mean = 3;
  result.rows.push_back(lost);
  return result;
}

TEST(Page, TheFirstScreenTellsTheStoryInOneFigureAndThreeNumbers) {
  const PageContent page = page_content({{"m", measured("bert@init", {"full", "san"}, 4)}, {"c", falling("bert@init")}},
                                        {.title = "", .subtitle = "", .date = "2026-11-18", .command = "rankfall x"});
  ASSERT_TRUE(page.headline.has_value());
  const Headline& headline = *page.headline;
  EXPECT_THAT(headline.figure.title, HasSubstr("Attention alone makes all tokens alike; the full transformer keeps"));
  EXPECT_THAT(headline.figure.caption, HasSubstr("bert with random weights, mean over 8 samples"));
  ASSERT_EQ(headline.numbers.size(), 3U);
  EXPECT_EQ(headline.numbers[0].value, "10^-81");
  EXPECT_EQ(headline.numbers[1].value, "layer 2");
  EXPECT_THAT(headline.numbers[1].sentence,
              HasSubstr("float32 cannot resolve the difference between tokens (off by more than 12 %)"));
  EXPECT_THAT(headline.numbers[1].sentence, HasSubstr("for float64 it is layer 3"));
  EXPECT_EQ(headline.numbers[2].value, "91 %");
  const Curves& curves = std::get<Curves>(headline.figure.nodes.at(0));
  EXPECT_TRUE(curves.labelled && curves.precisions);
  EXPECT_EQ(curves.points.size(), 10U);
  std::vector<std::string> facts;
  for (const Fact& fact : page.facts) facts.push_back(fact.label);
  EXPECT_THAT(facts, testing::ElementsAre("Paper", "Date", "Command", "Version"));
  EXPECT_THAT(page.facts[0].text, HasSubstr("doubly exponentially with depth. ICML 2021, arXiv 2103.03404"));
}

TEST(Page, AMeasurementAloneHasAFirstScreenToo) {
  const PageContent page = page_content({{"m", measured("bert", {"full", "san"}, 4)}}, {});
  ASSERT_TRUE(page.headline.has_value());
  EXPECT_EQ(page.headline->numbers[0].value, "< 10^-6");
  EXPECT_EQ(page.headline->numbers[1].value, "layer 2");
  EXPECT_FALSE(page_content({{"a", counted()}}, {}).headline.has_value());
}

TEST(Page, ExponentsOfWhatDoesNotFallAreNotDrawn) {
  const PageContent page = page_content({{"c", falling("bert")}}, {});
  for (const Section& section : page.sections) {
    for (const Figure& figure : section.figures) {
      if (!figure.id.ends_with("exponent")) continue;
      for (const Point& point : std::get<Curves>(figure.nodes.at(0)).points) EXPECT_EQ(point.series, "san");
    }
  }
}

TEST(Page, TheStoryIsToldInChapters) {
  std::vector<std::string> chapters;
  for (const Section& section : page_content(all_results(), {}).sections) {
    if (chapters.empty() || chapters.back() != section.chapter) chapters.push_back(section.chapter);
  }
  EXPECT_EQ(chapters[0], "What collapses");
  EXPECT_EQ(chapters[1], "How fast");
  EXPECT_EQ(chapters[2], "Why: paths");
  std::vector<std::string> once = chapters;
  std::ranges::sort(once);
  EXPECT_EQ(std::ranges::adjacent_find(once), once.end()) << "no chapter comes twice";
}

TEST(Page, TheSummaryNamesTheSectionsOfMeasurementsThatItLeavesOut) {
  Result first = measured("bert", {"full", "san"}, 3), second = measured("trained", {"full", "san"}, 3);
  for (auto& [result, name] : {std::pair(&first, "one"), std::pair(&second, "two")}) {
    add(result->manifest, "part", std::string(name));
    add(result->manifest, "part_title", fmt::format("Part {}", name));
  }
  const PageContent page = page_content({{"a", first}, {"b", second}}, {});
  EXPECT_THAT(page.summary[0].answer, HasSubstr("See also: Part two."));
}

TEST(Page, SweepsAreOverTheirNumbersInTheOrderOfTheseNumbers) {
  const auto sweep = sweep_of({"san:layers=16,dim=8", "san:layers=2,dim=8", "san:layers=4,dim=8"});
  ASSERT_TRUE(sweep.has_value());
  EXPECT_THAT(sweep->keys, testing::ElementsAre("layers"));
  EXPECT_THAT(sweep->models, testing::ElementsAre("san:layers=2,dim=8", "san:layers=4,dim=8", "san:layers=16,dim=8"));
  EXPECT_FALSE(sweep_of({"bert-base", "albert-base", "xlnet-base"}).has_value());
  EXPECT_FALSE(sweep_of({"ck-1", "ck-2"}).has_value());

  Result one, two;
  one.command = two.command = "measure";
  for (const int layers : {16, 2, 4}) {
    const Result of = measured(fmt::format("san:layers={},dim=8", layers), {"full", "san"}, 2);
    one.rows.insert(one.rows.end(), of.rows.begin(), of.rows.end());
    for (const int heads : {4, 1, 2}) {
      const Result both = measured(fmt::format("san:layers={},heads={}", layers, heads), {"full", "san"}, 2);
      two.rows.insert(two.rows.end(), both.rows.begin(), both.rows.end());
    }
  }
  const PageContent curves_page = page_content({{"a", one}}, {}), map_page = page_content({{"a", two}}, {});
  const Curves& curves = std::get<Curves>(curves_page.sections[0].figures[0].nodes.at(0));
  EXPECT_EQ(curves.x, "layers");
  std::vector<double> x;
  for (const Point& point : curves.points) {
    if (point.series == "san") x.push_back(point.x);
  }
  EXPECT_THAT(x, testing::ElementsAre(2, 4, 16));
  const Figure& map = map_page.sections[0].figures[0];
  ASSERT_EQ(map.nodes.size(), 2U) << "a map for each variant";
  EXPECT_EQ(std::get<Heat>(map.nodes[0]).x, "layers");
  EXPECT_EQ(std::get<Heat>(map.nodes[0]).y, "heads");
  EXPECT_EQ(std::get<Heat>(map.nodes[0]).values.size(), 9U);
  for (std::size_t i = 1; i < map_page.sections[0].figures.size(); ++i) {
    EXPECT_TRUE(map_page.sections[0].figures[i].detail) << "panels for each of nine models are closed";
  }
}

}  // namespace
}  // namespace rankfall
