#include "text/special_pieces.h"

#include <gtest/gtest.h>

namespace rankfall {
namespace {

std::vector<SpecialPiece> of_texts(const std::vector<std::string>& texts) {
  std::vector<SpecialPiece> pieces;
  for (const std::string& text : texts) pieces.push_back({{text, static_cast<std::int32_t>(pieces.size())}});
  return pieces;
}

// Every piece tried at every place.
std::int32_t plain_find(const std::vector<std::string>& texts, std::string_view text, std::size_t at) {
  std::size_t longest = 0;
  std::int32_t found = -1;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() > longest && text.substr(at).starts_with(texts[i])) {
      longest = texts[i].size();
      found = static_cast<std::int32_t>(i);
    }
  }
  return found;
}

TEST(SpecialPieces, FindTheLongestAndTheFirstOfEqualOnes) {
  std::uint32_t bits = 1;
  const auto draw = [&](std::uint32_t n) {
    bits = bits * 1664525U + 1013904223U;
    return (bits >> 16) % n;
  };
  const std::string letters[] = {"a", "b", "\xC3\xA9", "\xF0\x9F\x98\x80", std::string(1, '\0')};
  const auto word = [&](std::uint32_t longest) {
    std::string text;
    for (std::uint32_t n = draw(longest + 1); n > 0; --n) text += letters[draw(5)];
    return text;
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> texts;
    for (std::uint32_t n = draw(12); n > 0; --n) texts.push_back(word(5));
    const SpecialPieces special(of_texts(texts));
    const std::string text = word(40);
    TextBudget budget;
    for (std::size_t at = 0; at < text.size(); ++at) {
      const SpecialPiece* found = special.find(text, at, budget);
      EXPECT_EQ(found ? found->piece.id : -1, plain_find(texts, text, at));
      if (found) {
        EXPECT_EQ(special.next(text, at), at);
      }
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].empty()) continue;
      const auto first = std::find(texts.begin(), texts.end(), texts[i]) - texts.begin();
      EXPECT_EQ(special.id_of(texts[i]), first);
    }
    EXPECT_FALSE(special.id_of("zz"));
  }
}

// 8,000 pieces of 8,000 lengths, none of which is in the text, cost as much as the longest of them alone.
TEST(SpecialPieces, TheCostDoesNotGrowWithTheirNumber) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 8'000; ++i) texts.push_back("<" + std::string(i, 'x') + ">");
  const std::string text = "<" + std::string(2'000, 'x') + "<" + std::string(2'000, 'y');
  const auto cost = [&](const std::vector<std::string>& some) {
    const SpecialPieces special(of_texts(some));
    TextBudget budget(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) EXPECT_EQ(special.find(text, at, budget), nullptr);
    return budget.spent();
  };
  EXPECT_EQ(cost(texts), cost({texts.back()}));
}

}  // namespace
}  // namespace rankfall
