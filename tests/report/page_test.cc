#include "report/page/page.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "report/page/chart.h"
#include "report/page/figures.h"
#include "report/page_samples.h"
#include "result/manifest.h"
#include <rankfall/error.h>
#include <rankfall/report.h>

namespace rankfall {
namespace {

using testing::HasSubstr;
using testing::Not;

// Every "field" anywhere in a specification.
void fields_of(const Json& json, std::set<std::string>& fields) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      if (key == "field") fields.insert(value.get<std::string>());
      fields_of(value, fields);
    }
  } else if (json.is_array()) {
    for (const Json& value : json) fields_of(value, fields);
  }
}

const Figure* find_figure(const PageContent& page, std::string_view title) {
  for (const Section& section : page.sections) {
    for (const Figure& figure : section.figures) {
      if (figure.title.starts_with(title)) return &figure;
    }
  }
  return nullptr;
}

std::size_t column(const Dataset& data, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(data.columns, name, &PageColumn::name) - data.columns.begin());
}

TEST(Page, EveryChartDrawsColumnsOfItsDataAndEverySeriesHasRows) {
  const PageContent page = compose_page(all_results(), {});
  EXPECT_EQ(page.sections.size(), all_results().size());
  std::set<std::string> ids;
  for (const Section& section : page.sections) {
    EXPECT_FALSE(section.figures.empty()) << section.title;
    for (const Figure& figure : section.figures) {
      EXPECT_TRUE(ids.insert(figure.id).second) << figure.id << " twice";
      EXPECT_FALSE(figure.caption.empty()) << figure.title;
      EXPECT_FALSE(figure.panels.empty() && figure.tables.empty()) << figure.title;
      std::set<std::string> drawn;
      for (const Panel& panel : figure.panels) {
        EXPECT_FALSE(panel.description.empty()) << figure.title;
        EXPECT_FALSE(panel.data.rows.empty()) << figure.title;
        std::set<std::string> columns;
        for (const PageColumn& one : panel.data.columns) columns.insert(one.name);
        for (const auto& [label, spec] : panel.views) {
          std::set<std::string> fields;
          fields_of(spec, fields);
          for (const std::string& field : fields) EXPECT_TRUE(columns.contains(field)) << figure.title << ": " << field;
        }
        for (const auto& cells : panel.data.rows) {
          EXPECT_EQ(cells.size(), panel.data.columns.size()) << figure.title;
          const std::size_t at = column(panel.data, "series"), value = column(panel.data, "value");
          const bool empty = value < cells.size() && std::holds_alternative<std::monostate>(cells[value]);
          if (at < cells.size() && !empty) drawn.insert(std::get<std::string>(cells[at]));
        }
      }
      for (const Series& series : figure.series) EXPECT_TRUE(drawn.contains(series.name)) << figure.title;
    }
  }
}

TEST(Page, MeasuredAndPublishedPointsStandBesideEachOther) {
  Result result = measured("bert", {"san"}, 1);
  Row published = row("bert", "san", "published.value", 0.612);
  published.layer = 0;
  result.rows.push_back(published);
  const PageContent page = compose_page({{"a", result}}, {});
  const Figure* figure = find_figure(page, "Relative residual");
  ASSERT_NE(figure, nullptr);
  const Dataset& data = figure->panels.at(0).data;
  ASSERT_EQ(data.rows.size(), 3U);
  const auto& first = data.rows[0];
  EXPECT_EQ(std::get<double>(first[column(data, "value")]), 0.6);
  EXPECT_DOUBLE_EQ(std::get<double>(first[column(data, "low")]), 0.58);
  EXPECT_DOUBLE_EQ(std::get<double>(first[column(data, "high")]), 0.62);
  EXPECT_EQ(std::get<std::string>(data.rows[2][column(data, "source")]), "published");
  EXPECT_EQ(std::get<double>(data.rows[2][column(data, "value")]), 0.612);
}

TEST(Page, OfHeadsTheClosestBoundIsDrawnAndAboveIsPositive) {
  const PageContent page = compose_page({{"a", bounded()}}, {});
  const Figure* figure = find_figure(page, "How far each bound");
  ASSERT_NE(figure, nullptr);
  const Dataset& data = figure->panels.at(0).data;
  std::map<std::string, double> found;
  for (const auto& cells : data.rows) {
    found[std::get<std::string>(cells[column(data, "series")])] = std::get<double>(cells[column(data, "value")]);
  }
  EXPECT_EQ(found.at("T2.2"), 3);
  EXPECT_EQ(found.at("T2.3"), 8);
}

TEST(Page, SeveralFilesAreComparedAndModelsOfTheSameNameToldApart) {
  const PageContent page =
      compose_page({{"before", measured("bert", {"full"}, 3)}, {"after", measured("bert", {"full"}, 3)}}, {});
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
  const PageContent page = compose_page(steps, {});
  const Figure* figure = find_figure(page, "From model to model");
  ASSERT_NE(figure, nullptr);
  const Dataset& data = figure->panels.at(0).data;
  ASSERT_EQ(data.rows.size(), 3U);
  EXPECT_EQ(std::get<double>(data.rows[0][column(data, "x")]), 100);
  EXPECT_EQ(std::get<double>(data.rows[2][column(data, "x")]), 2000);
}

TEST(Page, TheSummarySaysWhatDiesAndWhatLives) {
  const PageContent page = compose_page(all_results(), {});
  ASSERT_GE(page.summary.size(), 5U);
  EXPECT_EQ(page.summary[0].question, "What collapses, and where?");
  EXPECT_THAT(page.summary[0].answer,
              HasSubstr("or falls to the value given: attention alone (san) from layer 2 on (bert);"));
  EXPECT_THAT(page.summary[0].answer, Not(HasSubstr("full")));
  EXPECT_EQ(page.summary[1].question, "What prevents it?");
  EXPECT_THAT(page.summary[1].answer, HasSubstr("the full transformer 0.56 (bert);"));
  EXPECT_EQ(page.summary.back().question, "Does it agree with the paper?");
  EXPECT_THAT(page.summary.back().answer, HasSubstr("1 of 1 comparisons meet their criterion. 01 one: agrees."));
}

TEST(Page, LowRankHasItsFigures) {
  const PageContent page = compose_page({{"a", low_rank()}}, {});
  ASSERT_EQ(page.sections.size(), 1U);
  EXPECT_EQ(page.sections[0].title, "Low rank");
  for (const char* title :
       {"Singular values", "The second singular value", "How many rows", "How often Johnson-Lindenstrauss fails",
        "Other kinds of attention", "Numerical rank by head"}) {
    EXPECT_NE(find_figure(page, title), nullptr) << title;
  }
  // The mean over heads, k on a logarithmic axis.
  const Figure* spectra = find_figure(page, "Singular values");
  ASSERT_NE(spectra, nullptr);
  ASSERT_EQ(spectra->panels.size(), 2U);
  EXPECT_EQ(spectra->series.size(), 2U);
  EXPECT_EQ(spectra->panels[0].views.at(0).first, "log");
  EXPECT_EQ(spectra->panels[0].data.rows.size(), 8U);
  EXPECT_EQ(std::get<double>(spectra->panels[0].data.rows[1][column(spectra->panels[0].data, "value")]), 0.5);
  // What is claimed belongs to every claim; a k that was not found is not drawn.
  const Figure* needs = find_figure(page, "How many rows");
  ASSERT_NE(needs, nullptr);
  ASSERT_EQ(needs->panels.size(), 2U);
  EXPECT_EQ(needs->panels[0].data.rows.size(), 2U + 2U + 2U);
  EXPECT_THAT(needs->notes, testing::Contains("bert full: the printed form does not hold"));
  EXPECT_THAT(find_figure(page, "The second singular value")->caption, HasSubstr("independent -0.50 ± 0.01"));
  ASSERT_EQ(find_figure(page, "Other kinds of attention")->tables.size(), 1U);
  ASSERT_EQ(page.summary.size(), 2U);
  EXPECT_EQ(page.summary[0].question, "Is attention of low rank?");
  EXPECT_THAT(page.summary[0].answer, HasSubstr("the first holds 0.60 of ‖P‖², the first 16 hold 0.90 of it"));
  EXPECT_EQ(page.summary[1].question, "Does Johnson-Lindenstrauss give it cheaply?");
  EXPECT_THAT(page.summary[1].answer, testing::EndsWith("needs a k far above n = 256 (nothing is saved)."));
}

TEST(Page, CostsOfALayerAreByToken) {
  const PageContent page = compose_page({{"a", costly()}}, {});
  const Figure* figure = find_figure(page, "What a layer costs");
  ASSERT_NE(figure, nullptr);
  ASSERT_EQ(figure->panels.size(), 4U);
  const Dataset& data = figure->panels[0].data;
  EXPECT_NEAR(std::get<double>(data.rows.at(0)[column(data, "value")]), 1000, 1e-9);
  ASSERT_EQ(figure->tables.size(), 1U);
  EXPECT_EQ(figure->tables[0].rows.size(), 2U);
  EXPECT_THAT(figure->caption, HasSubstr("full 1.0, window:w=64 1.0"));
}

TEST(Page, PartsOfAReproductionAreSectionsInTheirOrder) {
  Result second = measured("bert", {"full"}, 2), first = counted();
  add(first.manifest, "part", "fig5");
  add(first.manifest, "part_order", std::int64_t{1});
  add(first.manifest, "part_title", "Figure 5");
  add(second.manifest, "part", "fig2");
  add(second.manifest, "part_order", std::int64_t{2});
  const PageContent page = compose_page({{"b", second}, {"a", first}}, {});
  ASSERT_EQ(page.sections.size(), 2U);
  EXPECT_EQ(page.sections[0].title, "Figure 5");
}

TEST(Page, SectionsHaveOneOrderWhateverThatOfTheFiles) {
  std::vector<NamedResult> files = all_results();
  const auto titles = [&] {
    std::vector<std::string> out;
    for (const Section& section : compose_page(files, {}).sections) out.push_back(section.title);
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

// The y axis of a panel's first view.
Json y_axis(const Panel& panel) { return panel.views.at(0).second.at("layer").at(0).at("encoding").at("y").at("axis"); }

TEST(Page, LabelsOfPowersDoNotRound) {
  Result shallow;
  shallow.command = "collapse";
  for (Index layer = 0; layer < 3; ++layer) {
    Row one = row("gpt", "san", "log10_relative_residual.composite", -0.25 * static_cast<double>(layer));
    one.kind = "exact";
    one.layer = layer;
    shallow.rows.push_back(one);
  }
  const PageContent page = compose_page({{"a", shallow}}, {});
  const Json axis = y_axis(page.sections.at(0).figures.at(0).panels.at(0));
  EXPECT_FALSE(axis.contains("format")) << "~d would round the exponent -0.5 to -1";
  std::vector<double> values;
  for (const Json& tick : axis.at("values")) values.push_back(std::pow(10, tick.get<double>()));
  EXPECT_THAT(values, testing::Pointwise(testing::DoubleNear(1e-12), {0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0}));
}

TEST(Page, TicksOfNarrowRangesAreRoundAndToldApart) {
  EXPECT_TRUE(narrow_power_ticks(-5, 0).ticks.empty()) << "whole powers";
  EXPECT_EQ(narrow_power_ticks(-1.5, 0).ticks.size(), 6U) << "0.05, 0.1, 0.2, 0.3, 0.5, 1";
  for (const auto& [low, high] : {std::pair(-1e-4, 0.0), {-0.01, 0.0}, {-0.7, -0.1}, {-12.3, -12.2}, {-0.5, -0.5}}) {
    const PowerTicks found = narrow_power_ticks(low, high);
    ASSERT_GE(found.ticks.size(), low < high ? 3U : 1U) << low;
    std::set<std::string> labels;
    for (const double tick : found.ticks) {
      EXPECT_GE(tick, low - 1e-9);
      EXPECT_LE(tick, high + 1e-9);
      labels.insert(fmt::format("{:.{}g}", std::pow(10, tick), found.digits));
    }
    EXPECT_EQ(labels.size(), found.ticks.size()) << low;
  }
}

TEST(Page, BothKindsOfMeanAreNamed) {
  const PageContent page = compose_page(all_results(), {});
  const Figure* arithmetic = find_figure(page, "Relative residual");
  const Figure* geometric = find_figure(page, "The exact residual");
  ASSERT_TRUE(arithmetic && geometric);
  EXPECT_THAT(arithmetic->notes, testing::Contains(HasSubstr("arithmetic mean over 32 samples")));
  EXPECT_THAT(geometric->notes, testing::Contains(HasSubstr("mean of the logarithms over samples")));
  EXPECT_THAT(geometric->panels.at(0).data.columns,
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
    return compose_page({{"a", result}}, {}).summary.at(0);
  };
  EXPECT_THAT(answer(Status::kExponential).answer, HasSubstr("net san: exponential, 10^-0.57 after 4 layers"));
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
    return compose_page({{"a", result}}, {}).summary.at(0);
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
  const PageContent page = compose_page({{"a", result}}, {});
  const Figure* figure = find_figure(page, "The heaviest paths");
  ASSERT_NE(figure, nullptr);
  EXPECT_LT(figure->panels.at(0).views.at(0).second.dump().size(), 10'000U);
}

}  // namespace
}  // namespace rankfall
