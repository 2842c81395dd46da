#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "io/io_test_util.h"
#include "text/tokenizer_parts.h"
#include <rankfall/tokenizer.h>

// Small tokenizers with the pipelines of the families: ids of an independent implementation in Python
// (tools/make_tokenizer_golden.py made the files, tools/tokenizer_twin.py the ids).

namespace rankfall {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::input_error;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const fs::path kPipelines = fs::path(RANKFALL_TEST_DATA) / "tokenizers/families";

json read(const char* name) { return json::parse(std::ifstream(kPipelines / name)); }

TokenIds all_ids(const Tokenizer& tokenizer, const std::string& text) {
  TokenIds ids;
  for (const Piece& piece : tokenizer.front()) ids.push_back(piece.id);
  const TokenIds own = tokenizer.ids(text);
  ids.insert(ids.end(), own.begin(), own.end());
  for (const Piece& piece : tokenizer.back()) ids.push_back(piece.id);
  return ids;
}

TEST(TokenizerFamilies, GiveTheIdsOfTheTwin) {
  const json texts = read("texts.json");
  const json expected = read("ids.json");
  ASSERT_GE(expected.size(), 16U);
  for (const auto& [name, ids] : expected.items()) {
    const auto tokenizer = Tokenizer::open(kPipelines / name);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(all_ids(*tokenizer, texts[i]), ids[i].get<TokenIds>()) << name << ": " << texts[i];
    }
  }
}

// The vocabulary of each file is the words that its one stage gives, so that ids show how it cuts.
TEST(TokenizerFamilies, EveryStageGivesTheWordsOfTheTwin) {
  const json texts = read("texts.json");
  const json stages = read("stages.json");
  ASSERT_GE(stages["stages"].size(), 60U);
  for (const json& stage : stages["stages"]) {
    const TokenizerParts parts = parse_tokenizer_json(stage["file"].dump(), "f");
    for (std::size_t i = 0; i < stages["texts"].size(); ++i) {
      const json& text = texts[stages["texts"][i].get<std::size_t>()];
      Pieces out;
      encode_text(parts, text.get<std::string>(), out);
      EXPECT_EQ(out.ids, stage["ids"][i].get<TokenIds>())
          << stage["file"]["normalizer"] << stage["file"]["pre_tokenizer"] << ": " << text;
    }
  }
}

std::vector<std::string> texts_of(const std::vector<Piece>& pieces) {
  std::vector<std::string> texts;
  for (const Piece& piece : pieces) texts.push_back(piece.text);
  return texts;
}

TEST(TokenizerFamilies, SpecialTokensComeFromTheFirstFileThatSaysSo) {
  const struct {
    const char* name;
    std::vector<std::string> front, back;
    const char* rule;
  } cases[] = {
      {"mistral", {"<s>"}, {}, "post_processor of tokenizer.json"},
      {"llama3", {"<|begin_of_text|>"}, {}, "post_processor of tokenizer.json"},
      {"modernbert", {"[CLS]"}, {"[SEP]"}, "post_processor of tokenizer.json"},
      {"phi3", {}, {}, "post_processor of tokenizer.json"},
      {"qwen2", {}, {}, "add_bos_token of tokenizer_config.json"},
      {"digits", {"<|endoftext|>"}, {"<|endoftext|>"}, "add_bos_token and add_eos_token of tokenizer_config.json"},
      {"opt", {"</s>"}, {}, "add_bos_token of tokenizer_config.json"},
      {"gpt_neox", {}, {}, "no file asks for any"},
  };
  for (const auto& c : cases) {
    const auto tokenizer = Tokenizer::open(kPipelines / c.name);
    EXPECT_EQ(texts_of(tokenizer->front()), c.front) << c.name;
    EXPECT_EQ(texts_of(tokenizer->back()), c.back) << c.name;
    EXPECT_EQ(tokenizer->special_rule(), c.rule) << c.name;
  }
}

TEST(TokenizerFamilies, SpecialTokensCanBeChosen) {
  const auto none = Tokenizer::open(kPipelines / "modernbert", SpecialTokens::kNone);
  EXPECT_THAT(none->front(), IsEmpty());
  EXPECT_THAT(none->back(), IsEmpty());
  EXPECT_EQ(none->special_rule(), "as requested");
  const auto bos = Tokenizer::open(kPipelines / "phi3", SpecialTokens::kBos);
  EXPECT_THAT(texts_of(bos->front()), ElementsAre("<s>"));
  EXPECT_THAT(bos->back(), IsEmpty());
  EXPECT_THAT(texts_of(Tokenizer::open(kPipelines / "mistral-v3", SpecialTokens::kBos)->front()), ElementsAre("<s>"));
  EXPECT_THAT(input_error([] { Tokenizer::open(kPipelines / "qwen2", SpecialTokens::kBos); }),
              HasSubstr("expected 'bos_token' in tokenizer_config.json"));
}

}  // namespace
}  // namespace rankfall
