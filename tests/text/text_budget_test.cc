#include "text/text_budget.h"

#include <cstring>
#include <functional>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "io/io_test_util.h"
#include "text/tokenizer_parts.h"
#include "text/vocabulary.h"

// Files and texts that were made to cost much: they end in an error, or cost little.

namespace rankfall {
namespace {

using nlohmann::json;
using test::input_error;
using ::testing::HasSubstr;

std::string cost_error(const json& file, const std::string& text) {
  const TokenizerParts parts = parse_tokenizer_json(file.dump(), "f");
  return input_error([&] {
    Pieces out;
    encode_text(parts, text, out);
  });
}

double cost(const json& file, const std::string& text) {
  const TokenizerParts parts = parse_tokenizer_json(file.dump(), "f");
  Pieces out;
  encode_text(parts, text, out);
  return out.budget.spent();
}

json with(const char* stage, json value) {
  return {{stage, std::move(value)}, {"model", {{"type", "WordPiece"}, {"vocab", {{"[UNK]", 0}, {"a", 1}}}}}};
}

json split(const std::string& pattern) {
  return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}};
}

json replace(const std::string& pattern, const std::string& content) {
  return {{"type", "Replace"}, {"pattern", {{"String", pattern}}}, {"content", content}};
}

TEST(TextBudget, AllowsSoMuchWorkAndSoManyBytes) {
  TextBudget budget(1'000);
  EXPECT_TRUE(budget.try_work(TextBudget::kWork));
  EXPECT_TRUE(budget.try_work(TextBudget::kWorkPerByte * 1'000 - 1));
  EXPECT_FALSE(budget.try_work(100'000));
  EXPECT_THAT(input_error([&] { budget.work(1); }), HasSubstr("text of 1000 bytes takes too long"));
  EXPECT_NO_THROW(budget.hold(TextBudget::kBytes + 1'000 * TextBudget::kBytesPerByte));
  EXPECT_THAT(input_error([&] { budget.hold(TextBudget::kBytes + 1'000 * TextBudget::kBytesPerByte + 1); }),
              HasSubstr("multiplies it"));
}

// Each word alone stays below what one match may cost.
TEST(TextBudget, IsSharedByAllWordsAndStages) {
  json stages = json::array();
  stages.push_back({{"type", "WhitespaceSplit"}});
  for (int i = 0; i < 20; ++i) stages.push_back(split("(a|aa)+b"));
  std::string text;
  for (int i = 0; i < 400; ++i) text += std::string(18, 'a') + " ";
  const json file = with("pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", stages}});
  EXPECT_THAT(cost_error(file, text), HasSubstr("takes too long"));
}

TEST(TextBudget, OrdinaryPatternsUseLittleOfIt) {
  const json file = with(
      "pre_tokenizer",
      {{"type", "Sequence"},
       {"pretokenizers",
        {split("\\p{N}{1,3}"),
         split(
             R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)")}}});
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "It's the word no. " + std::to_string(i) + ", isn't it?\n";
  EXPECT_LT(cost(file, text), 0.2);
}

TEST(TextBudget, PatternsHaveSoManyClasses) {
  std::string pattern = "(?i)";
  for (int i = 0; i < 60; ++i) pattern += "[\\p{L}a]";
  json stages = json::array();
  stages.push_back(split(pattern));
  stages.push_back(split(pattern));
  const json two = with("pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", stages}});
  EXPECT_NO_THROW(parse_tokenizer_json(two.dump(), "f"));
  stages.push_back(split(pattern));
  const json three = with("pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", stages}});
  EXPECT_THAT(input_error([&] { parse_tokenizer_json(three.dump(), "f"); }),
              HasSubstr("360 character classes, expected at most 256"));
}

// One replacement may not make 1 GB before somebody looks.
TEST(TextBudget, ReplacementsAreStoppedWhileTheyWork) {
  json steps = json::array();
  for (const char* pair : {"ab", "bc", "cd"}) {
    steps.push_back(replace(std::string(1, pair[0]), std::string(1'000, pair[1])));
  }
  const json file = with("normalizer", {{"type", "Sequence"}, {"normalizers", steps}});
  EXPECT_THAT(cost_error(file, "aaaa"), HasSubstr("multiplies it"));
}

TEST(TextBudget, LongWordsOfLongPieces) {
  json file = with("pre_tokenizer", {{"type", "WhitespaceSplit"}});
  file["model"]["max_input_chars_per_word"] = 1'000;
  file["model"]["vocab"][std::string(1'000, 'x')] = 2;
  file["model"]["vocab"]["##a"] = 3;
  std::string text;
  for (int i = 0; i < 40; ++i) text += std::string(999, 'a') + "z ";
  EXPECT_THAT(cost_error(file, text), HasSubstr("takes too long"));
}

// An unknown piece with a long name, once per word.
TEST(TextBudget, TextsOfPiecesCount) {
  const std::string unknown(100'000, 'u');
  const json file = {{"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                     {"model", {{"type", "WordPiece"}, {"unk_token", unknown}, {"vocab", {{unknown, 0}}}}}};
  const TokenizerParts parts = parse_tokenizer_json(file.dump(), "f");
  Pieces out;
  out.with_texts = true;
  EXPECT_THAT(input_error([&] { encode_text(parts, "a b c d e f g h i j k l m n", out); }), HasSubstr("multiplies it"));
}

// 16 bytes that std::hash (MurmurHash64A in libstdc++) maps to one value: the second half undoes what the first does.
std::string colliding(std::uint64_t number) {
  constexpr std::uint64_t kFactor = 0xC6A4A7935BD1E995U;
  std::uint64_t inverse = kFactor;
  for (int i = 0; i < 6; ++i) inverse *= 2 - kFactor * inverse;
  std::uint64_t k = number * kFactor;
  k = (k ^ k >> 47) * kFactor;
  const std::uint64_t start = 0xC70F6907U ^ 16 * kFactor;
  std::uint64_t second = (start ^ k) * kFactor ^ 0x1234567890ABCDEFU;
  second *= inverse;
  second = (second ^ second >> 47) * inverse;
  std::string text(16, '\0');
  std::memcpy(text.data(), &number, 8);
  std::memcpy(text.data() + 8, &second, 8);
  return text;
}

TEST(TextBudget, EntriesOfAVocabularyCannotBeMadeToCollide) {
  const std::hash<std::string_view> known;
  ASSERT_EQ(known(colliding(1)), known(colliding(2)));
  Vocabulary vocabulary;
  for (std::int32_t i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(vocabulary.add(colliding(static_cast<std::uint64_t>(i)), i));
  }
  EXPECT_EQ(vocabulary.find(colliding(77)), 77);
}

}  // namespace
}  // namespace rankfall
