#include "text/unicode.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace rankfall {
namespace {

TEST(Unicode, Classes) {
  EXPECT_TRUE(is_letter(U'é') && is_letter(U'語') && !is_letter(U'1'));
  EXPECT_TRUE(is_number(U'½') && is_number(U'٣') && !is_number(U'x'));
  EXPECT_TRUE(is_punctuation(U'。') && is_punctuation(U'-') && !is_punctuation(U'$'));
  EXPECT_TRUE(is_other(0x200B) && is_other(0x7F) && is_other(0xE000) && !is_other(U' '));
  EXPECT_TRUE(is_space_mark(0xA0) && !is_space_mark(0x2028));
  EXPECT_TRUE(is_white_space(0x2028) && !is_white_space(0x1C) && is_python_space(0x1C) && is_python_space(0x85));
  EXPECT_TRUE(is_accent(0x301) && is_combining(0x301) && is_mark(0x903) && !is_accent(0x903));
  EXPECT_TRUE(is_digit(U'5') && is_digit(U'²') && !is_digit(U'½'));
  EXPECT_TRUE(is_cjk(U'中') && is_cjk(0x20000) && !is_cjk(U'あ'));
}

TEST(Unicode, Mappings) {
  EXPECT_EQ(to_lower("À Σ ΑΣ İ"), "à σ ας i\u0307");
  EXPECT_EQ(to_nfd("é"), "e\u0301");
  EXPECT_EQ(to_nfc("e\u0301"), "é");
  EXPECT_EQ(to_nfkc("ﬁ½"), "fi1⁄2");
  EXPECT_EQ(to_nfkd("Å"), "A\u030A");
  for (const char32_t c : {U'a', U'é', U'語', U'🙂'}) {
    std::string text;
    append_utf8(c, text);
    for_each_code(text, [&](char32_t back, std::string_view bytes) {
      EXPECT_EQ(back, c);
      EXPECT_EQ(bytes, text);
    });
  }
}

TEST(Unicode, InvalidBytesAreReplacedOneByOne) {
  EXPECT_EQ(valid_utf8("a\xFF\xC3z\xE4\xB8"), "a\uFFFD\uFFFDz\uFFFD\uFFFD");
  EXPECT_EQ(valid_utf8(""), "");
}

// Runs of marks too long for ICU's own sorting: the same forms as by the definition.
TEST(Unicode, LongRunsOfMarksAreSorted) {
  const std::vector<std::string> marks = {"\u0301", "\u0316", "\u0327", "\u0344", "\u0F73", "\u05B0"};
  std::string text = "a";
  for (std::size_t i = 0; i < 300; ++i) text += marks[i * i % 7 % marks.size()];
  text += "b\u0301\uAC00";
  // By the definition: decomposed one by one, then by class, equal ones in their order.
  std::vector<std::pair<int, std::string>> run;
  for (std::size_t i = 0; i < 300; ++i) {
    for_each_code(to_nfd(marks[i * i % 7 % marks.size()]), [&](char32_t c, std::string_view bytes) {
      const int of = c == 0x0301 || c == 0x0308 ? 230
                     : c == 0x0316              ? 220
                     : c == 0x0327              ? 202
                     : c == 0x05B0              ? 10
                     : c == 0x0F71              ? 129
                                                : 130;
      run.emplace_back(of, std::string(bytes));
    });
  }
  std::ranges::stable_sort(run, {}, [](const auto& mark) { return mark.first; });
  std::string sorted = "a";
  for (const auto& mark : run) sorted += mark.second;
  EXPECT_EQ(to_nfd(text), sorted + "b\u0301\u1100\u1161");
  EXPECT_EQ(to_nfkd(text), to_nfd(text));
  EXPECT_EQ(to_nfc(text), to_nfc(to_nfd(text)));
  EXPECT_EQ(to_nfd(to_nfc(text)), to_nfd(text));
  EXPECT_EQ(to_nfkc(text), to_nfc(text));
}

}  // namespace
}  // namespace rankfall
