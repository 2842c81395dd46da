#include "report/page/page.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include <gmock/gmock.h>

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
  EXPECT_THAT(page.summary.back().answer, HasSubstr("the one comparison"));
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
