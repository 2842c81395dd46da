#include "render/terminal/screen_text.h"

#include <gmock/gmock.h>

#include <rankfall/metric_info.h>
#include <rankfall/report.h>

namespace rankfall {
namespace {

TEST(ScreenText, IsHarmless) {
  EXPECT_EQ(screen_text("bert-base@init", true), "bert-base@init");
  EXPECT_EQ(screen_text("a\x1b[31mb\n", true), "a\\x1b[31mb\\x0a");
  EXPECT_EQ(screen_text("\xff", true), "\\xff");
  EXPECT_EQ(screen_text("é", true), "é");
  EXPECT_EQ(screen_text("é", false), "\\u{e9}");
  EXPECT_EQ(screen_text(std::string(1000, 'x'), true).size(), 1000U);
}

TEST(ScreenText, SpellsOutItsSigns) {
  EXPECT_EQ(screen_text("√(‖·‖₁ ‖·‖∞) → 2", false), "sqrt(||.||_1 ||.||_inf) -> 2");
  EXPECT_EQ(screen_text("‖X − 1·mean‖ · mean over 3", false), "||X - 1 mean||; mean over 3");
  EXPECT_EQ(screen_text("日\xff", false), "\\u{65e5}\\xff");
}

// No sign of a formula was forgotten.
TEST(ScreenText, SpellsOutEveryMetric) {
  for (const MetricInfo& info : all_metric_infos()) {
    for (const std::string& name : info.members.empty() ? std::vector{info.name} : info.members) {
      const MetricInfo one = metric_info(name);
      const std::string text = screen_text(one.words + one.formula, false);
      EXPECT_EQ(text.find("\\u{"), std::string::npos) << name << ": " << text;
    }
  }
}

TEST(ToList, FitsTheWidth) {
  TableOptions options;
  options.unicode = false;
  options.width = 50;
  const std::vector<ExplainedName> lines = {{"Heading", ""},
                                            {"a", "‖X‖ is the norm of a matrix with a long explanation"},
                                            {std::string(40, 'n'), "long"},
                                            {"Next", ""},
                                            {"bcd", "short"}};
  EXPECT_EQ(to_list(lines, options),
            "Heading\n"
            "  a  ||X|| is the norm of a matrix with a long\n"
            "     explanation\n"
            "  nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn\n"
            "     long\n"
            "\n"
            "Next\n"
            "  bcd  short\n");
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
