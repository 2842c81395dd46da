#include "text/byte_pair.h"

#include <gmock/gmock.h>

#include "io/io_test_util.h"

namespace rankfall {
namespace {

using test::input_error;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Vocabulary vocabulary(std::initializer_list<const char*> pieces) {
  Vocabulary out;
  for (const char* piece : pieces) out.add(piece, static_cast<std::int32_t>(out.size()));
  return out;
}

std::vector<std::string> encoded(const BytePair& pairs, std::string_view word) {
  Pieces out;
  out.with_texts = true;
  pairs.encode_word(word, out);
  return out.texts;
}

std::vector<std::string> gpt2_words(std::string_view text) {
  std::vector<std::string> words;
  split_gpt2(text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

TEST(BytePair, MergesByRankThenFromTheLeft) {
  const BytePair pairs(vocabulary({"a", "b", "aa", "ab", "aab"}), {{"a", "b"}, {"a", "a"}, {"a", "ab"}}, {}, "f");
  EXPECT_THAT(encoded(pairs, "aab"), ElementsAre("aab"));  // ab first, then a+ab
  EXPECT_THAT(encoded(pairs, "aaa"), ElementsAre("aa", "a"));
  EXPECT_THAT(encoded(pairs, "ba"), ElementsAre("b", "a"));
  EXPECT_THAT(encoded(pairs, ""), ElementsAre());
}

TEST(BytePair, LongWordsTakeNoQuadraticTime) {
  const BytePair pairs(vocabulary({"a", "aa", "aaaa"}), {{"a", "a"}, {"aa", "aa"}}, {}, "f");
  EXPECT_EQ(encoded(pairs, std::string(1 << 20, 'a')).size(), std::size_t{1} << 18);
}

TEST(BytePair, UnknownSymbols) {
  BytePair::Options options;
  options.unknown = 0;
  const auto merges = std::vector<BytePair::Merge>{{"a", "b"}};
  EXPECT_THAT(encoded(BytePair(vocabulary({"<unk>", "a", "b", "ab"}), merges, options, "f"), "abéé"),
              ElementsAre("ab", "<unk>", "<unk>"));
  options.fuse_unknown = true;
  EXPECT_THAT(encoded(BytePair(vocabulary({"<unk>", "a", "b", "ab"}), merges, options, "f"), "abéé"),
              ElementsAre("ab", "<unk>"));
  options.byte_fallback = true;
  EXPECT_THAT(encoded(BytePair(vocabulary({"<unk>", "a", "b", "ab", "<0xC3>", "<0xA9>"}), merges, options, "f"), "abé"),
              ElementsAre("ab", "<0xC3>", "<0xA9>"));
  EXPECT_THAT(encoded(BytePair(vocabulary({"a"}), {}, {}, "f"), "xax"), ElementsAre("a"));
}

TEST(BytePair, BrokenRulesAreNamed) {
  EXPECT_THAT(input_error([] {
                BytePair(vocabulary({"a", "b"}), {{"a", "b"}}, {}, "f");
              }),
              HasSubstr("f: rule 1 merges 'a' and 'b', but 'ab' is not in the vocabulary"));
}

TEST(BytePair, TheAlphabetOfBytes) {
  EXPECT_EQ(byte_character('A'), "A");
  EXPECT_EQ(byte_character(' '), "\u0120");
  EXPECT_EQ(byte_character('\0'), "\u0100");
  EXPECT_EQ(byte_character(0xAD), "\u0143");
  EXPECT_EQ(bytes_as_characters("é"), "Ã©");
}

TEST(Gpt2Words, FollowThePattern) {
  EXPECT_THAT(gpt2_words("I'll say it's 12x"), ElementsAre("I", "'ll", " say", " it", "'s", " 12", "x"));
  EXPECT_THAT(gpt2_words("  a\t\tb "), ElementsAre(" ", " a", "\t", "\t", "b", " "));
  EXPECT_THAT(gpt2_words("\n\nx"), ElementsAre("\n", "\n", "x"));
  EXPECT_THAT(gpt2_words("!? 'S"), ElementsAre("!?", " '", "S"));
  EXPECT_THAT(gpt2_words("a\u2003\u2003b"), ElementsAre("a", "\u2003", "\u2003", "b"));
  for (const char* text : {"", "é 中文 ½", "\xFF\xFE a"}) {
    std::string joined;
    for (const std::string& word : gpt2_words(text)) joined += word;
    EXPECT_EQ(joined, text);
  }
}

}  // namespace
}  // namespace rankfall
