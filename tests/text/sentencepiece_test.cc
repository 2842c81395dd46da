#include <map>

#include <gmock/gmock.h>

#include "io/io_test_util.h"
#include "text/sentencepiece_check.h"
#include "text/sentencepiece_model.h"

namespace rankfall {
namespace {

using test::input_error;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string model_file(const char* name) {
  return test::read_all(std::filesystem::path(RANKFALL_TEST_DATA) / "tokenizers" / name / "spiece.model");
}

UnigramVocabulary small() {
  UnigramVocabulary vocabulary;
  vocabulary.pieces = {{"<unk>", 0}, {"\u2581", -1}, {"a", -2}, {"b", -2}, {"ab", -1.5}, {"\u2581ab", -1}, {"<s>", 0}};
  vocabulary.special = {6};
  return vocabulary;
}

std::vector<std::string> encoded(const PieceModel& model, std::string_view text) {
  Pieces out;
  out.with_texts = true;
  model.encode(text, out);
  return out.texts;
}

TEST(SentencePiece, AVocabularyWithScoresIsAModel) {
  const auto model = open_sentencepiece(sentencepiece_bytes(small()), "f", {});
  EXPECT_THAT(encoded(*model, "ab  bab"), ElementsAre("\u2581ab", "\u2581", "b", "ab"));
  EXPECT_EQ(model->find("ab"), 4);
  EXPECT_EQ(model->find("<s>"), 6);
  EXPECT_EQ(model->find("<unk>"), 0);
  EXPECT_FALSE(model->find("zz"));
  EXPECT_EQ(model->size(), 7U);
  Pieces ids;
  model->encode("<s>ab", ids);
  EXPECT_THAT(ids.ids, testing::Not(testing::Contains(6)));  // text never becomes a special piece here
}

TEST(SentencePiece, EveryReferenceModelIsSound) {
  for (const char* name : {"albert", "t5", "xlnet"}) EXPECT_NO_THROW(checked_sentencepiece(model_file(name), name));
}

// Whatever byte is changed, the library gets a model it can be trusted with or none at all.
TEST(SentencePiece, SpoiltModelsAreRefusedOrWork) {
  const std::string good = model_file("albert");
  std::size_t n_refused = 0;
  for (std::size_t i = 0; i < 400; ++i) {
    std::string bad = good;
    bad[(i * 7919) % bad.size()] = static_cast<char>(i * 31);
    try {
      encoded(*open_sentencepiece(bad, "f", {}), "The program is free \u00BD \uFB01 software");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      ++n_refused;
    }
  }
  EXPECT_GT(n_refused, 0U);
  for (std::size_t size = 0; size < good.size(); size += good.size() / 50) {
    EXPECT_THROW(open_sentencepiece(good.substr(0, size), "f", {}), Error) << size;
  }
}

TEST(SentencePiece, WhatIsWrongIsSaid) {
  const auto refused = [](const UnigramVocabulary& vocabulary) {
    const std::string bytes = sentencepiece_bytes(vocabulary);
    return input_error([&] { checked_sentencepiece(bytes, "f"); });
  };
  UnigramVocabulary twice = small();
  twice.pieces.emplace_back("ab", 0);
  EXPECT_THAT(refused(twice), HasSubstr("piece 7 'ab' is there twice"));
  UnigramVocabulary empty = small();
  empty.pieces.emplace_back("", 0);
  EXPECT_THAT(refused(empty), HasSubstr("piece 7 has 0 bytes"));
  UnigramVocabulary infinite = small();
  infinite.pieces[3].second = 1e300;
  EXPECT_THAT(refused(infinite), HasSubstr("piece 3 has the score inf"));
  UnigramVocabulary table = small();
  table.replacements = std::string("\xFF\xFF\xFF\x7F", 4) + std::string(100, 'x');
  EXPECT_THAT(refused(table), HasSubstr("table of replacements"));
  // A double array of 256 units, with one text behind it.
  const auto with_units = [&](const std::map<std::size_t, std::uint32_t>& units) {
    std::string links;
    for (int i = 0; i < 256; ++i) links += test::raw(std::uint32_t{0x80000000U});  // no step leads here
    for (const auto& [at, unit] : units) links.replace(4 * at, 4, test::raw(unit));
    table.replacements = test::raw(std::uint32_t{1024}) + links + std::string("x\0", 2);
    return refused(table);
  };
  const auto step = [](std::uint32_t label, std::uint32_t offset, bool leaf) {
    return label | offset << 10 | (leaf ? 256U : 0U);
  };
  EXPECT_THAT(with_units({{0, 0x80000200U}}), HasSubstr("begins with a leaf"));
  EXPECT_THAT(with_units({{0, step(0, 256, false)}}), HasSubstr("leads outside"));
  EXPECT_THAT(with_units({{0, step(0, 1, false)}, {1 ^ 'a', step('a', 3, true)}, {1 ^ 'a' ^ 3, 5}}),
              HasSubstr("a leaf that is none"));
  EXPECT_THAT(with_units({{0, step(0, 1, false)}, {1 ^ 'a', step('a', 'a', false)}}), HasSubstr("in a circle"));
  EXPECT_THAT(with_units({{0, step(0, 1, false)}, {1 ^ 'a', step('a', 2, true)}, {1 ^ 'a' ^ 2, 0x80000009U}}),
              HasSubstr("lies outside"));
  UnigramVocabulary nul = small();
  nul.pieces.emplace_back(std::string("\0a", 2), 0);
  EXPECT_THAT(refused(nul), HasSubstr("piece 7 holds a NUL"));
  EXPECT_THAT(input_error([] { checked_sentencepiece("", "f"); }), HasSubstr("no pieces"));
  EXPECT_THAT(input_error([] { checked_sentencepiece("\x0A\xFF", "f"); }), HasSubstr("ends in the middle"));
}

// Runs of unknown characters are one piece, as the library joins them, in time that does not grow with their square.
TEST(SentencePiece, UnknownCharactersAreOnePiece) {
  const auto model = open_sentencepiece(sentencepiece_bytes(small()), "f", {});
  EXPECT_THAT(encoded(*model, "ab\u00E9\u4E2Dba\u00E9 \u00E9<0x41>"),
              ElementsAre("\u2581ab", "\u00E9\u4E2D", "b", "a", "\u00E9", "\u2581", "\u00E9<0x41>"));
  EXPECT_FALSE(model->find("<0x41>"));
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += "\u4E2D";
  Pieces out;
  out.budget = TextBudget(many.size());
  model->encode(many, out);
  EXPECT_THAT(out.ids, ElementsAre(1, 0));
  EXPECT_LT(out.budget.spent(), 0.5);
}

// A piece that is called like a byte keeps its meaning; the library then joins by itself, which is paid for.
TEST(SentencePiece, APieceCalledLikeAByte) {
  UnigramVocabulary named = small();
  named.pieces.emplace_back("<0x41>", -1);
  const auto model = open_sentencepiece(sentencepiece_bytes(named), "f", {});
  EXPECT_THAT(encoded(*model, "ab\u00E9\u4E2Da<0x41>"), ElementsAre("\u2581ab", "\u00E9\u4E2D", "a", "<0x41>"));
  EXPECT_EQ(model->find("<0x41>"), 7);
  EXPECT_THAT(input_error([&] { encoded(*model, std::string(60'000, 'z')); }), HasSubstr("takes too long"));
}

TEST(SentencePiece, ReplacementsThatMultiply) {
  // 'a' becomes 200 bytes.
  std::string links;
  for (int i = 0; i < 256; ++i) links += test::raw(std::uint32_t{0x80000000U});
  links.replace(0, 4, test::raw(std::uint32_t{1U << 10}));
  links.replace(4 * (1 ^ 'a'), 4, test::raw(std::uint32_t{'a' | 2U << 10 | 256U}));
  links.replace(4 * (1 ^ 'a' ^ 2), 4, test::raw(std::uint32_t{0x80000000U}));
  UnigramVocabulary vocabulary = small();
  vocabulary.replacements = test::raw(std::uint32_t{1024}) + links + std::string(200, 'b') + std::string(1, '\0');
  const auto model = open_sentencepiece(sentencepiece_bytes(vocabulary), "f", {});
  EXPECT_EQ(encoded(*model, "aab").size(), 402U);
  EXPECT_THAT(input_error([&] { encoded(*model, std::string(5'000, 'a')); }), HasSubstr("multiplies it"));
}

TEST(SentencePiece, PiecesThatCollideAreRefused) {
  UnigramVocabulary vocabulary = small();
  for (int i = 0; vocabulary.pieces.size() < 1'050; ++i) {
    const std::string text = "w" + std::to_string(i);
    if (std::hash<std::string_view>{}(text) % 1'109 == 0) vocabulary.pieces.emplace_back(text, -1);
  }
  EXPECT_THAT(input_error([&] { checked_sentencepiece(sentencepiece_bytes(vocabulary), "f"); }),
              HasSubstr("made to collide"));
}

}  // namespace
}  // namespace rankfall
