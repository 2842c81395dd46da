#include "render/terminal/screen_text.h"

#include <gmock/gmock.h>

#include <rankfall/report.h>

namespace rankfall {
namespace {

TEST(ScreenName, IsHarmless) {
  EXPECT_EQ(screen_name("bert-base@init", true), "bert-base@init");
  EXPECT_EQ(screen_name("a\x1b[31mb\n", true), "a\\x1b[31mb\\x0a");
  EXPECT_EQ(screen_name("\xff", true), "\\xff");
  EXPECT_EQ(screen_name("é", true), "é");
  EXPECT_EQ(screen_name("é", false), "\\u{e9}");
  EXPECT_EQ(screen_name(std::string(1000, 'x'), true).size(), 1000U);
}

TEST(ToAscii, SpellsOutItsSigns) {
  EXPECT_EQ(to_ascii("√(‖·‖₁ ‖·‖∞) → 2"), "sqrt(||.||_1 ||.||_inf) -> 2");
  EXPECT_EQ(to_ascii("日\xff"), "??");
}

TEST(ValidUtf8, ReplacesWhatIsNot) {
  EXPECT_EQ(valid_utf8("a é 日"), "a é 日");
  EXPECT_EQ(valid_utf8("a\xff\xc3"), "a\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(DisplayWidth, CountsColumns) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("é▏█"), 3);
  EXPECT_EQ(display_width("日本"), 4);
  EXPECT_EQ(display_width("e\u0301"), 1);
}

TEST(Fit, PadsOrCutsToTheWidth) {
  EXPECT_EQ(fit("ab", 4), "ab  ");
  EXPECT_EQ(fit("ab", 4, Align::kRight), "  ab");
  EXPECT_EQ(fit("abcdef", 4), "abc…");
  EXPECT_EQ(fit("abcdef", 4, Align::kLeft, false), "abc~");
  EXPECT_EQ(fit("日本語", 4), "日… ");  // a wide character does not fit in the third column
  EXPECT_EQ(fit("abc", 0), "");
  for (int width = 0; width < 12; ++width) EXPECT_EQ(display_width(fit("ab日é█ xyz", width)), width);
}

TEST(Wrap, BreaksAtSpaces) {
  EXPECT_THAT(wrap("to be or not", 6), testing::ElementsAre("to be", "or not"));
  EXPECT_THAT(wrap("", 6), testing::ElementsAre(""));
  EXPECT_THAT(wrap("incomprehensible x", 6), testing::ElementsAre("incom…", "x"));
}

TEST(ScreenText, NothingFromOutsideControlsATerminal) {
  EXPECT_EQ(for_terminal("a\x1b[31m\x07\tb\n\xc2\x9b\xe2\x80\xae\xff\n"),
            "a\\x1b[31m\\x07\\x09b\n\\u{9b}\\u{202e}\\xff\n");
  EXPECT_EQ(for_terminal("plain \xc3\xa9"), "plain \xc3\xa9");
  EXPECT_EQ(for_terminal(""), "");
}

}  // namespace
}  // namespace rankfall
