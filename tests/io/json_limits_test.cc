#include "io/json_limits.h"

#include <string>

#include <gmock/gmock.h>

#include "io_test_util.h"

namespace rankfall {
namespace {

using test::input_error;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string json_error(std::string_view text) {
  return input_error([&] { parse_json(text, "config.json"); });
}

std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
}

TEST(ParseJson, AgreesWithThePlainParser) {
  const char* texts[] = {"null",
                         " true ",
                         "-1",
                         "18446744073709551615",
                         "-9223372036854775808",
                         "1.5e-3",
                         "\"\\u00e9\\ud83d\\ude00\\n\"",
                         "[]",
                         "{}",
                         "[[], {}, [[1, 2], [3]], {\"a\": []}]",
                         "{\"a\": {\"a\": {\"a\": [1, {\"b\": null, \"c\": [true, false]}]}}, \"b\": \"\", \"\": 1}",
                         "\xef\xbb\xbf{\"bom\": 1}",
                         "\r\n\t [1,\n2]\n"};
  for (const char* text : texts) EXPECT_EQ(parse_json(text, "t"), nlohmann::json::parse(text)) << text;
}

TEST(ParseJson, KeepsTheOrderOfLargeArrays) {
  nlohmann::json expected;
  for (int i = 0; i < 3000; ++i) expected.push_back({{"i", i}, {"squares", {i * i, {i}}}});
  EXPECT_EQ(parse_json(expected.dump(), "t"), expected);
}

TEST(ParseJsonHostile, SyntaxErrorsSayLineAndColumn) {
  EXPECT_THAT(json_error("{\n  \"a\": 1,\n  \"b\" 2\n}"),
              StartsWith("config.json: line 3, column 7: not valid JSON: "));
  EXPECT_THAT(json_error(""), StartsWith("config.json: line 1, column 1: not valid JSON"));
  EXPECT_THAT(json_error("{} x"), StartsWith("config.json: line 1, column 4: not valid JSON"));
  EXPECT_THAT(json_error("[1, 2"), HasSubstr("not valid JSON: it ends too soon"));
  EXPECT_THAT(json_error("root:x:0"), EndsWith("line 1, column 1: not valid JSON: unexpected 'r'"));
  EXPECT_THAT(json_error("[\"a\\q\"]"), EndsWith("forbidden character after backslash"));
  EXPECT_THAT(json_error("{\"a\": NaN}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(json_error("[1e999]"), HasSubstr("beyond the range of doubles"));
  EXPECT_THAT(json_error("{\"a\": 1,}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(json_error("/* c */ {}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(json_error("{} // c"), HasSubstr("not valid JSON"));
}

TEST(ParseJsonHostile, DuplicateKeys) {
  EXPECT_THAT(json_error("{\n\"a\": 1,\n\"a\": 2}"),
              AllOf(StartsWith("config.json: line 3"), HasSubstr("key 'a' appears twice")));
  EXPECT_THAT(json_error("{\"x\": [{\"k\": 1, \"\\u006b\": 1}]}"), HasSubstr("key 'k' appears twice"));
  EXPECT_NO_THROW(parse_json("[{\"a\": 1}, {\"a\": {\"a\": 1}}]", "t"));
}

TEST(ParseJsonHostile, Depth) {
  EXPECT_NO_THROW(parse_json(nested(kMaxJsonDepth), "t"));
  EXPECT_THAT(json_error(nested(kMaxJsonDepth + 1)), HasSubstr("nested more than 64 levels"));
  EXPECT_THAT(json_error(std::string(10'000'000, '[')), HasSubstr("nested more than 64 levels"));
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "{\"a\":";
  EXPECT_THAT(json_error(objects), HasSubstr("nested more than 64 levels"));
}

TEST(ParseJsonHostile, Size) {
  EXPECT_THAT(json_error(std::string(kMaxJsonBytes + 1, ' ')), HasSubstr("expected at most"));
  std::string many = "[0";
  for (std::size_t i = 0; i < kMaxJsonValues; ++i) many += ",0";
  many += "]";
  EXPECT_THAT(json_error(many), HasSubstr("more than 16000000 values"));
}

TEST(ParseJsonHostile, Bytes) {
  EXPECT_THAT(json_error("{\"a\":\n \"\xff\"}"), HasSubstr("line 2, column 3: byte 0xff is not UTF-8"));
  EXPECT_THAT(json_error(std::string_view("{}\0{]", 5)), HasSubstr("column 3: NUL character"));
  // The message neither repeats a long text nor passes on control characters.
  EXPECT_THAT(json_error("[\"" + std::string(100'000, 'x') + "\" 1]"), SizeIs(::testing::Lt(500U)));
  EXPECT_THAT(json_error("{\"a\x1b[2J\": 1}"), ::testing::Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace rankfall
