#include "text/bert_words.h"

#include <vector>

#include <gmock/gmock.h>

#include "text/wordpiece.h"

namespace rankfall {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> words(std::string_view text, BertWords::Options options = {}) {
  std::vector<std::string> found;
  BertWords(options).split(text, [&](std::string_view word) { found.emplace_back(word); });
  return found;
}

TEST(BertWords, SplitsAtSpaceAndMarks) {
  EXPECT_THAT(words("Don't, \t stop!\n"), ElementsAre("don", "'", "t", ",", "stop", "!"));
  EXPECT_THAT(words(""), IsEmpty());
  EXPECT_THAT(words(" \u3000\u2029 "), IsEmpty());
  EXPECT_THAT(words("a\u00A0b\u2028c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(words("«Ça va»"), ElementsAre("«", "ca", "va", "»"));
}

TEST(BertWords, DropsControlCharacters) {
  EXPECT_THAT(words(std::string_view("a\0b\x7F\x0B"
                                     "c\u200Bd\uFFFD",
                                     14)),
              ElementsAre("abcd"));
}

TEST(BertWords, SetsIdeographsApart) {
  EXPECT_THAT(words("a中文b"), ElementsAre("a", "中", "文", "b"));
  EXPECT_THAT(words("a中b", {.cjk = false}), ElementsAre("a中b"));
}

TEST(BertWords, CaseAndAccents) {
  EXPECT_THAT(words("RÉSUMÉ"), ElementsAre("resume"));
  EXPECT_THAT(words("RÉSUMÉ", {.lower = false, .strip_accents = false}), ElementsAre("RÉSUMÉ"));
  EXPECT_THAT(words("RÉSUMÉ", {.lower = true, .strip_accents = false}), ElementsAre("résumé"));
  // The sigma at a word's end is seen over the apostrophe, as Python sees it.
  EXPECT_THAT(words("A'Σ", {.strip_accents = false}), ElementsAre("a", "'", "ς"));
}

TEST(WordPiece, IsGreedyFromTheLeft) {
  Vocabulary vocabulary;
  for (const char* piece : {"[UNK]", "un", "una", "##f", "##able", "##ffable", "é", "##é"}) {
    vocabulary.add(piece, static_cast<std::int32_t>(vocabulary.size()));
  }
  const WordPiece pieces(std::move(vocabulary), "[UNK]", "##", 10);
  const auto encoded = [&](std::string_view word) {
    Pieces out;
    out.with_texts = true;
    pieces.encode_word(word, out);
    return out.texts;
  };
  EXPECT_THAT(encoded("unaffable"), ElementsAre("una", "##ffable"));
  EXPECT_THAT(encoded("unable"), ElementsAre("[UNK]"));  // "una" leaves "ble": no way back
  EXPECT_THAT(encoded("éé"), ElementsAre("é", "##é"));
  EXPECT_THAT(encoded("éééééééééé"), ElementsAre("é", "##é", "##é", "##é", "##é", "##é", "##é", "##é", "##é", "##é"));
  EXPECT_THAT(encoded("ééééééééééé"), ElementsAre("[UNK]"));  // 11 characters
}

}  // namespace
}  // namespace rankfall
