#include "io/utf8.h"

#include <string>

#include <gtest/gtest.h>

namespace rankfall {
namespace {

TEST(Utf8, EveryCodePointIsReadBack) {
  for (char32_t code = 0; code <= 0x10ffff; ++code) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const auto byte = [](char32_t c) { return static_cast<char>(static_cast<unsigned char>(c)); };
    std::string text;
    if (code < 0x80) {
      text = {byte(code)};
    } else if (code < 0x800) {
      text = {byte(0xc0 | (code >> 6)), byte(0x80 | (code & 0x3f))};
    } else if (code < 0x10000) {
      text = {byte(0xe0 | (code >> 12)), byte(0x80 | ((code >> 6) & 0x3f)), byte(0x80 | (code & 0x3f))};
    } else {
      text = {byte(0xf0 | (code >> 18)), byte(0x80 | ((code >> 12) & 0x3f)), byte(0x80 | ((code >> 6) & 0x3f)),
              byte(0x80 | (code & 0x3f))};
    }
    const Utf8Unit unit = utf8_decode(text + "x");
    ASSERT_TRUE(unit.valid) << static_cast<unsigned>(code);
    ASSERT_EQ(unit.code, code);
    ASSERT_EQ(unit.length, text.size());
    ASSERT_EQ(utf8_first_error(text), text.size());
  }
}

TEST(Utf8, MalformedBytesAreFoundAtAnyPosition) {
  const std::string bad[] = {"\x80",
                             "\xc0\xaf",
                             "\xc1\xbf",
                             "\xe0\x80\xaf",
                             "\xed\xa0\x80",
                             "\xf0\x80\x80\xaf",
                             "\xf4\x90\x80\x80",
                             "\xf8\x88\x80\x80",
                             "\xff",
                             "\xe2\x82",
                             "\xc3",
                             "\xe2(\xa1"};
  for (const std::string& sequence : bad) {
    for (std::size_t n = 0; n < 20; ++n) {
      const std::string before(n, 'a');
      EXPECT_EQ(utf8_first_error(before + sequence), n) << printable(sequence);
      EXPECT_EQ(utf8_first_error(before + sequence + "bbbbbbbbbbbb"), n) << printable(sequence);
    }
  }
}

TEST(Utf8, MessagesAreSafeToPrint) {
  EXPECT_EQ(printable("h.0.weight"), "h.0.weight");
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(printable("\x1b[2J\n\x7f"), "\\x1b[2J\\x0a\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u{9b}31m");  // a C1 control: the 8-bit form of ESC [
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\u{202e}b");  // right-to-left override
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable(std::string(500, 'x'), 10), "xxxxxxxxxx...");
  EXPECT_EQ(printable("\xe2\x82\xac\xe2\x82\xac", 4), "\xe2\x82\xac...");  // never cuts a character
  EXPECT_EQ(in_quotes("a'b"), "'a'b'");
}

TEST(ValidUtf8, ReplacesWhatIsNot) {
  EXPECT_EQ(valid_utf8("a é 日"), "a é 日");
  EXPECT_EQ(valid_utf8("a\xff\xc3"), "a\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace rankfall
