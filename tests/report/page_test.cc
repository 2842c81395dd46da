#include "report/page/page.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include <gmock/gmock.h>

#include "io/base64.h"
#include "io/sha256.h"
#include "report/page/assets.h"
#include "report/page/figures.h"
#include "result/manifest.h"
#include <rankfall/error.h>
#include <rankfall/report.h>

namespace rankfall {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kRelative = "relative_residual.composite";

Row row(const std::string& model, const std::string& variant, const std::string& metric, std::optional<double> mean) {
  Row row;
  row.model = model;
  row.variant = variant;
  row.metric = metric;
  row.mean = mean;
  return row;
}

Result measured(const std::string& model, const std::vector<std::string>& variants, Index n_layers) {
  Result result;
  result.command = "measure";
  for (const std::string& variant : variants) {
    for (Index layer = 0; layer <= n_layers; ++layer) {
      const bool dies = variant.starts_with("san") && variant != "san+skip" && layer >= 2;
      Row one = row(model, variant, kRelative, dies ? 2e-7 : 0.6 - 0.01 * static_cast<double>(layer));
      one.layer = layer;
      one.std = 0.02;
      one.n = 32;
      if (dies) one.verdict = "rounding floor";
      result.rows.push_back(one);
      one.metric = "cosine.mean";
      one.mean = 0.5;
      result.rows.push_back(one);
      if (layer == n_layers) continue;
      one.metric = "attention.entropy";
      for (one.head = 0; *one.head < 2; ++*one.head) result.rows.push_back(one);
      one.head.reset();
    }
  }
  return result;
}

Result collapsed() {
  Result result;
  result.command = "collapse";
  for (const char* kind : {"exact", "f32", "f64"}) {
    for (Index layer = 0; layer < 5; ++layer) {
      Row one = row("bert", "san", "log10_relative_residual.composite", -std::pow(3.0, static_cast<double>(layer)));
      one.kind = kind;
      one.layer = layer;
      result.rows.push_back(one);
      if (std::string_view(kind) != "exact") continue;
      one.sample = 0;
      result.rows.push_back(one);
      one.sample.reset();
      one.metric = "local_exponent";
      one.mean = 3;
      result.rows.push_back(one);
      one.variant = "full";  // a curve without any value is no series
      one.mean.reset();
      result.rows.push_back(one);
    }
  }
  Row decay = row("bert", "san", "decay", std::nullopt);
  decay.kind = "residual";
  decay.verdict = "doubly exponential: local exponent 3.00";
  result.rows.push_back(decay);
  return result;
}

Result walked() {
  Result result;
  result.command = "paths";
  const auto add = [&](const char* metric, double value) -> Row& {
    result.rows.push_back(row("bert", "full", metric, value));
    return result.rows.back();
  };
  for (Index length = 0; length < 3; ++length) {
    for (const char* origin : {"embedding", "mlp", "all"}) {
      for (const char* metric : {"paths.share.residual", "paths.share.projection"}) {
        Row& one = add(metric, std::string_view(origin) == "all" ? 1.0 / 3 : 1.0 / 6);
        one.layer = 2;
        one.length = length;
        one.origin = origin;
      }
    }
    for (const char* kind : {"q1", "median", "q3"}) {
      for (const char* metric :
           {"path.attention_reversed.rank1_remainder.composite", "published.rank1_remainder.composite"}) {
        Row& one = add(metric, 0.1);
        one.length = length + 1;
        one.kind = kind;
      }
    }
    Row& gram = add("paths.gram.residual", length == 1 ? -0.5 : 0.5);
    gram.length = length;
    gram.k = 0;
    Row& top = add("path.share.residual", 0.2);
    top.length = length;
    top.origin = length == 0 ? "mlp.1" : "embedding";
    top.path = length == 0 ? "skips only" : length == 1 ? "L0H1" : "L0H0 L1H1";
    top.k = length + 1;
  }
  for (Index block = 0; block < 2; ++block) {
    for (Index head = 0; head < 2; ++head) {
      Row& one = add("head.share.residual", 0.1);
      one.layer = block;
      one.head = head;
    }
  }
  return result;
}

Result counted() {
  Result result;
  result.command = "counts";
  for (Index length = 0; length <= 6; ++length) {
    for (const char* metric : {"paths.proportion", "published.proportion"}) {
      Row one = row("DistilBert", "", metric, 0.1);
      one.length = length;
      result.rows.push_back(one);
    }
  }
  Row total = row("DistilBert", "", "paths.total", std::nullopt);
  total.exact = "4826809";
  result.rows.push_back(total);
  return result;
}

Result bounded() {
  Result result;
  result.command = "bounds";
  for (Index block = 0; block < 3; ++block) {
    Row one = row("bert", "san", "log10_tightness.T2.3", -8.0);
    one.layer = block;
    one.kind = "claimed";
    one.verdict = "applies and holds";
    result.rows.push_back(one);
    one.metric = "log10_tightness.T2.2";
    for (const double tightness : {-7.0, -3.0, -5.0}) {  // heads: the closest counts
      one.mean = tightness;
      one.head = one.head ? *one.head + 1 : 0;
      result.rows.push_back(one);
    }
  }
  Row theorem = row("bert", "san", "theorem", std::nullopt);
  theorem.claim = "T2.3";
  theorem.verdict = "applies and holds in 3 of 3; at best measured/bound = 10^-8.0";
  result.rows.push_back(theorem);
  return result;
}

Result claims(const std::string& command) {
  Result result;
  result.command = command;
  for (const char* what : {command == "audit" ? "statement" : "criterion", "verdict", "evidence"}) {
    Row one = row("", "", command + "." + what, std::nullopt);
    one.claim = "01 one";
    one.verdict = std::string_view(what) == "verdict" ? (command == "audit" ? "holds (proved)" : "agrees") : "words";
    result.rows.push_back(one);
  }
  return result;
}

Result effective() {
  Result result;
  result.command = "effectiveness";
  for (const std::optional<std::uint64_t> seed : {std::optional<std::uint64_t>(0), std::optional<std::uint64_t>()}) {
    for (Index length = 0; length < 3; ++length) {
      for (const char* kind : {"exact", "rerun"}) {
        Row one = row("sort", "", "accuracy", length == 1 ? 0.9 : 0.2);
        one.kind = kind;
        one.length = length;
        one.seed = seed;
        if (std::string_view(kind) == "rerun") one.k = 5;
        result.rows.push_back(one);
      }
    }
    Row whole = row("sort", "", "accuracy", 0.99);
    whole.kind = "model";
    whole.seed = seed;
    result.rows.push_back(whole);
  }
  return result;
}

Result circled() {
  Result result;
  result.command = "circle";
  for (Index step = 0; step < 4; ++step) {
    for (Index token = 0; token < 2; ++token) {
      for (const char* metric : {"track.x", "track.y"}) {
        Row one = row("width 32", "attention", metric, 0.3 - 0.1 * static_cast<double>(step));
        one.step = step;
        one.k = token;
        one.seed = 0;
        result.rows.push_back(one);
      }
    }
    Row distance = row("width 32", "attention", "distance", step == 3 ? 0.0 : 0.5);
    distance.step = step;
    distance.seed = 0;
    result.rows.push_back(distance);
  }
  return result;
}

Result trained() {
  Result result;
  result.command = "train";
  for (Index step = 0; step < 4; ++step) {
    Row one = row("sort", "", "loss", 1.0 / static_cast<double>(step + 1));
    one.step = step;
    result.rows.push_back(one);
  }
  return result;
}

std::vector<NamedResult> all_results() {
  Result other = measured("odd", {"full"}, 2);
  other.command = "parity";
  return {{"measure", measured("bert", {"full", "san", "san+mlp", "san+skip"}, 4)},
          {"collapse", collapsed()},
          {"paths", walked()},
          {"counts", counted()},
          {"bounds", bounded()},
          {"audit", claims("audit")},
          {"agreement", claims("agreement")},
          {"effectiveness", effective()},
          {"circle", circled()},
          {"train", trained()},
          {"parity", other}};
}

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
              HasSubstr("rounding or to what is said: attention alone (san) from layer 2 on (bert);"));
  EXPECT_THAT(page.summary[0].answer, Not(HasSubstr("full")));
  EXPECT_EQ(page.summary[1].question, "What prevents it?");
  EXPECT_THAT(page.summary[1].answer, HasSubstr("the full transformer 0.56 (bert);"));
  EXPECT_EQ(page.summary.back().question, "Does it agree with the paper?");
  EXPECT_THAT(page.summary.back().answer, HasSubstr("the one comparison"));
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
      one.path = "L9223372036854775807H9223372036854775807 > L0H1";
      one.origin = "mlp.9223372036854775807";
    }
    if (one.metric == "head.share.residual") one.layer = one.head = INT64_MAX;
  }
  const PageContent page = compose_page({{"a", result}}, {});
  const Figure* figure = find_figure(page, "The heaviest paths");
  ASSERT_NE(figure, nullptr);
  EXPECT_LT(figure->panels.at(0).views.at(0).second.dump().size(), 10'000U);
}

// --- the file
// ----------------------------------------------------------------------------------------------------------

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t n = 0;
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

std::string between(const std::string& text, std::string_view begin, std::string_view end) {
  const auto from = text.find(begin);
  if (from == std::string::npos) return "";
  return text.substr(from + begin.size(), text.find(end, from + begin.size()) - from - begin.size());
}

class PageFile : public testing::Test {
 protected:
  void SetUp() override {
    if (page_assets().script.empty()) GTEST_SKIP() << "built without node";
  }
};

TEST_F(PageFile, HostileNamesStayData) {
  const std::string name = "</script><script>alert(1)</script>{{style}}<!-- \"'& \xff";
  const Page page = make_page({{name, measured(name, {name}, 2)}}, {name, name});
  const Page harmless = make_page({{"a", measured("a", {"a"}, 2)}}, {"a", "a"});
  for (const char* word : {"<script", "</script", "<style", "<!--"}) {
    EXPECT_EQ(count(page.html, word), count(harmless.html, word)) << word;
  }
  EXPECT_THAT(page.html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(between(page.html, "<title>", "</title>"), HasSubstr("&lt;/script&gt;"));
  const Json data = Json::parse(between(page.html, "id=\"page\">", "</script>"));
  EXPECT_THAT(data["title"].get<std::string>(), HasSubstr("</script><script>alert(1)</script>{{style}}"));
}

TEST_F(PageFile, ThePolicyNamesExactlyItsScriptAndItsStyle) {
  const Page page = make_page({{"a", measured("a", {"full"}, 2)}}, {});
  const std::string policy = between(page.html, "Content-Security-Policy\" content=\"", "\"");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(policy, Not(HasSubstr("http")));
  const auto hash = [](const std::string& text) {
    return "'sha256-" + encode_base64(sha256_bytes(std::as_bytes(std::span(text.data(), text.size())))) + "'";
  };
  EXPECT_THAT(policy, HasSubstr("style-src " + hash(between(page.html, "<style>", "</style>"))));
  EXPECT_THAT(policy, HasSubstr("script-src " + hash(between(page.html, "<script>", "</script>"))));
}

TEST_F(PageFile, ChartsStandAloneWithTheirData) {
  const Page page = make_page(all_results(), {});
  ASSERT_GT(page.charts.size(), 10U);
  std::set<std::string> names;
  for (const auto& [name, text] : page.charts) {
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_THAT(name, testing::MatchesRegex("[a-z0-9-]+\\.vl\\.json"));
    const Json spec = Json::parse(text);
    EXPECT_FALSE(spec["data"]["values"].empty()) << name;
    EXPECT_TRUE(spec["width"].is_number()) << name;
  }
}

TEST_F(PageFile, TwoHundredLayersOfSixteenVariantsAreBelowTenMegabytes) {
  Result result;
  result.command = "measure";
  for (int v = 0; v < 16; ++v) {
    for (int m = 0; m < 8; ++m) {
      for (Index layer = 0; layer <= 200; ++layer) {
        Row one = row("deep", "variant-" + std::to_string(v), "metric-" + std::to_string(m), 1.0 / 3);
        one.layer = layer;
        one.std = 0.123456789012345;
        one.n = 32;
        result.rows.push_back(one);
      }
    }
  }
  EXPECT_LT(make_page({{"deep", result}}, {}).html.size(), 10U << 20);
}

TEST_F(PageFile, NothingToShowIsAnError) {
  EXPECT_THROW(make_page({}, {}), Error);
  EXPECT_NO_THROW(make_page({{"empty", {}}}, {}));
}

}  // namespace
}  // namespace rankfall
