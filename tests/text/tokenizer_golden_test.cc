#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <rankfall/tokenizer.h>

// Texts with the pieces and ids of the reference Python tokenizers (data/tokenizers).

namespace rankfall {
namespace {

const std::filesystem::path kTokenizers = std::filesystem::path(RANKFALL_TEST_DATA) / "tokenizers";

class GoldenTokenizer : public testing::TestWithParam<const char*> {};

TEST_P(GoldenTokenizer, GivesThePiecesAndIdsOfTheReference) {
  const auto folder = kTokenizers / GetParam();
  const auto tokenizer = Tokenizer::open(folder);
  const auto cases = nlohmann::json::parse(std::ifstream(folder / "cases.json"));
  ASSERT_GE(cases.size(), 18U);
  for (const auto& c : cases) {
    const auto text = c["text"].get<std::string>();
    std::vector<std::string> pieces;
    TokenIds ids;
    for (const Piece& piece : tokenizer->front()) ids.push_back(piece.id);
    for (const Piece& piece : tokenizer->pieces(text)) {
      pieces.push_back(piece.text);
      ids.push_back(piece.id);
    }
    for (const Piece& piece : tokenizer->back()) ids.push_back(piece.id);
    EXPECT_EQ(pieces, c["tokens"].get<std::vector<std::string>>()) << text;
    EXPECT_EQ(ids, c["ids"].get<TokenIds>()) << text;
    const TokenIds plain = tokenizer->ids(text);
    EXPECT_EQ(plain, TokenIds(ids.begin() + static_cast<std::ptrdiff_t>(tokenizer->front().size()),
                              ids.end() - static_cast<std::ptrdiff_t>(tokenizer->back().size())));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenTokenizer,
                         testing::Values("albert", "bert-cased", "bert-uncased", "gpt2", "roberta", "t5", "xlnet"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace rankfall
