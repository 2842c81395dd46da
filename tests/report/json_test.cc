#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "result/manifest.h"
#include "result/row.h"
#include <rankfall/error.h>
#include <rankfall/report.h>

namespace rankfall {
namespace {

using testing::HasSubstr;

Result json_example() {
  Result result;
  result.command = "measure";
  result.manifest = base_manifest();
  add(result.manifest, "zeta", "last letter first");
  add(result.manifest, "seed", 7);
  add(result.manifest, "eps", 1.0);
  add(result.manifest, "models", std::vector<std::string>{"a", "\"b\""});
  add(result.manifest, "quick", false);
  Row row;
  row.model = "bert \"base\"\n\x01 é";
  row.variant = "san";
  row.layer = 3;
  row.metric = "relative_residual.composite";
  row.mean = 1.0 / 3;
  row.std = 5e-324;
  row.n = 32;
  row.seed = std::numeric_limits<std::uint64_t>::max();
  row.exact = "23298085122481";
  result.rows = {row, Row()};
  result.rows[1].mean = -0.0;
  result.rows[1].k = std::numeric_limits<Index>::max();
  return result;
}

TEST(Json, IsReadBackExactly) {
  const Result result = json_example();
  const Result back = from_json(to_json(result), "test");
  EXPECT_EQ(back.command, result.command);
  EXPECT_EQ(back.manifest.entries, result.manifest.entries);
  ASSERT_EQ(back.rows.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    for (const Column& column : columns()) {
      EXPECT_EQ(column.get(back.rows[i]), column.get(result.rows[i])) << column.name;
    }
  }
  EXPECT_TRUE(std::signbit(*back.rows[1].mean));
  EXPECT_EQ(to_json(back), to_json(result));
}

TEST(Json, HasEveryColumnAndOneRowALine) {
  const std::string text = to_json(json_example());
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json.at("rankfall"), std::get<std::string>(*find(base_manifest(), "rankfall")));
  EXPECT_FALSE(json.at("manifest").contains("rankfall"));
  for (const auto& row : json.at("rows")) EXPECT_EQ(row.size(), columns().size());
  EXPECT_TRUE(json.at("rows")[1].at("layer").is_null());
  EXPECT_THAT(text, HasSubstr("\n    {\"model\": \"bert"));
  std::istringstream lines(text);
  int n_rows = 0;
  for (std::string line; std::getline(lines, line);) n_rows += line.starts_with("    {") ? 1 : 0;
  EXPECT_EQ(n_rows, 2);
}

TEST(Json, OfNothingIsReadBack) {
  const Result back = from_json(to_json(Result()), "test");
  EXPECT_TRUE(back.rows.empty());
  EXPECT_EQ(back.manifest.entries.size(), 1U);  // the version
}

TEST(Json, HasNoNanAndNoInvalidText) {
  Result result;
  result.rows.emplace_back().mean = std::numeric_limits<double>::quiet_NaN();
  result.rows[0].std = std::numeric_limits<double>::infinity();
  result.rows[0].model = "a\xff";
  add(result.manifest, "bad", std::numeric_limits<double>::infinity());
  const auto json = nlohmann::json::parse(to_json(result));
  EXPECT_TRUE(json.at("rows")[0].at("mean").is_null());
  EXPECT_TRUE(json.at("rows")[0].at("std").is_null());
  EXPECT_EQ(json.at("rows")[0].at("model"), "a\xef\xbf\xbd");
  EXPECT_TRUE(json.at("manifest").at("bad").is_null());
}

std::string input_error(const std::string& text) {
  try {
    from_json(text, "x.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "no error";
}

std::string with_row(const std::string& row) {
  return R"({"rankfall": "1", "command": "c", "manifest": {}, "rows": [)" + row + "]}";
}

TEST(Json, HostileTextIsAnError) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "line 1, column 1: not valid JSON"},
      {"{", "not valid JSON"},
      {"[1, 2", "array, expected the object"},
      {"\xff\xfe", "byte 0xff is not UTF-8"},
      {with_row("") + "x", "not valid JSON"},
      {with_row(R"({"mean": 1e999})"), "not valid JSON"},
      {with_row(R"({"mean": NaN})"), "not valid JSON"},
      {"[]", "array, expected the object"},
      {"null", "null, expected the object"},
      {"{}", "no 'rankfall'"},
      {R"({"rankfall": 1})", "'rankfall' is number, expected string"},
      {R"({"rankfall": "1", "command": "c", "manifest": []})", "'manifest' is array, expected object"},
      {R"({"rankfall": "1", "command": "c", "manifest": {}})", "no 'rows'"},
      {R"({"rankfall": "1", "command": "c", "manifest": {"a": {}}, "rows": []})", "manifest: 'a' is object"},
      {R"({"rankfall": "1", "command": "c", "manifest": {"a": [1]}, "rows": []})", "manifest: 'a' is array"},
      {R"({"rankfall": "1", "rankfall": "2"})", "'rankfall' twice"},
      {with_row("3"), "row 0: number, expected an object"},
      {with_row(R"({"n": 1}, [])"), "row 1: array, expected an object"},
      {with_row("{}"), "row 0: is empty"},
      {with_row(R"({"n": 1, "n": 2})"), "row 0: key 'n' twice"},
      {with_row(R"({"colour": 3})"), "row 0: unknown column 'colour'"},
      {with_row(R"({"col\u001b[31m": 3})"), "unknown column 'col\\x1b[31m'"},
      {with_row(R"({"layer": -1})"), "row 0: 'layer' is -1, expected a whole number"},
      {with_row(R"({"layer": 1.5})"), "'layer' is 1.5"},
      {with_row(R"({"layer": 9223372036854775808})"), "'layer' is 9223372036854775808"},
      {with_row(R"({"layer": "3"})"), "'layer' is \"3\""},
      {with_row(R"({"layer": true})"), "'layer' is true"},
      {with_row(R"({"mean": [1]})"), "'mean' is array, expected a finite number"},
      {with_row(R"({"model": 3})"), "'model' is 3, expected text"},
      {R"({"x": )" + std::string(100000, '['), "nested more than 4 levels deep"},
      {with_row(std::string(100000, '[')), "nested more than 4 levels deep"},
      {with_row(R"({"n": [1]})"), "row 0: 'n' is array"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_THAT(input_error(text), testing::AllOf(testing::StartsWith("x.json: "), HasSubstr(expected)))
        << text.substr(0, 100);
  }
  std::string many = "{";
  for (int i = 0; i < 100000; ++i) many += "\"k" + std::to_string(i) + "\": 0, ";
  EXPECT_THAT(input_error(many + "\"z\": 0}"), HasSubstr("more than 1000 keys"));
}

// Keys may come in any order, as tools that sort them leave them.
TEST(Json, TheHeadMayFollowTheRows) {
  const Result result = from_json(R"({"rows": [{"path": "piece", "n": 1}], "manifest": {"a": [], "b": null, "c": 1e3},
    "other": {"x": [1, {"rows": 2}]}, "command": "tokens", "rankfall": "0.1"})",
                                  "x.json");
  EXPECT_EQ(result.command, "tokens");
  ASSERT_EQ(result.rows.size(), 1U);
  EXPECT_EQ(result.rows[0].text, "piece");  // of schema 1, which has no schema
  EXPECT_EQ(std::get<double>(*find(result.manifest, "c")), 1000);
  EXPECT_EQ(find(result.manifest, "b"), nullptr);
}

// Reading is linear in the rows: ten times as many take about ten times as long, not a hundred times.
TEST(Json, ManyRowsTakeNoQuadraticTime) {
  const auto seconds = [](int n) {
    std::string rows = R"({"metric": "a", "mean": 1})";
    for (int i = 1; i < n; ++i) rows += R"(, {"metric": "a", "mean": 1})";
    const std::string text = with_row(rows);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(from_json(text, "x.json").rows.size(), static_cast<std::size_t>(n));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const double few = std::min({seconds(10'000), seconds(10'000), seconds(10'000)});
  EXPECT_LT(seconds(100'000), 40 * few);
}

TEST(Json, EveryCutIsAnErrorOrAResult) {
  const std::string text = to_json(json_example());
  for (std::size_t n = 0; n + 2 < text.size(); ++n) EXPECT_NE(input_error(text.substr(0, n)), "no error") << n;
}

TEST(Json, MissingColumnsAreAbsent) {
  const Result result = from_json(with_row(R"({"mean": 3})"), "x.json");
  EXPECT_EQ(result.rows[0].mean, 3.0);
  EXPECT_FALSE(result.rows[0].layer);
}

}  // namespace
}  // namespace rankfall
