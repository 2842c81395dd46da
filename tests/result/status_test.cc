#include <set>
#include <sstream>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include "result/prose_format.h"
#include <rankfall/path.h>
#include <rankfall/result.h>

namespace rankfall {
namespace {

// Every value up to the last one has a word of its own and is found by it.
template <class T>
void expect_words(T last) {
  std::set<std::string_view> words;
  for (int i = 1; i <= static_cast<int>(last); ++i) {
    const auto value = static_cast<T>(i);
    EXPECT_FALSE(word(value).empty()) << i;
    EXPECT_TRUE(words.insert(word(value)).second) << word(value);
    EXPECT_EQ(from_word<T>(word(value)), value);
  }
  EXPECT_EQ(word(T{}), "");
  EXPECT_EQ(from_word<T>(""), std::nullopt);
  EXPECT_EQ(from_word<T>("no such word"), std::nullopt);
}

TEST(Status, HasWords) {
  expect_words(Status::kTooFewLayers);
  expect_words(Reason::kSkipMayCancel);
  expect_words(Basis::kDefinition);
}

template <class T>
concept Comparable = requires(const T& a, const T& b) {
  a == b;
};
template <class T>
concept Searchable = requires(const T& a) {
  a.find("x");
}
|| requires(const T& a) { a.starts_with("x"); };

// Nothing can come to depend on the wording.
TEST(Prose, CanOnlyBeMadeAndPrinted) {
  static_assert(!Comparable<Prose>);
  static_assert(!Searchable<Prose>);
  static_assert(!std::is_convertible_v<Prose, std::string>);
  static_assert(!std::is_convertible_v<Prose, std::string_view>);
  const Prose prose = "holds for all";
  std::ostringstream out;
  out << prose;
  EXPECT_EQ(out.str(), "holds for all");
  EXPECT_EQ(fmt::format("<{}>", prose), "<holds for all>");
  EXPECT_FALSE(prose.empty());
  EXPECT_TRUE(Prose().empty());
}

TEST(Path, ReadsWhatItWrites) {
  for (const Heads& heads : {Heads{}, Heads{{0, 0}}, Heads{{2, 5}, {3, 0}, {7, 11}}}) {
    EXPECT_EQ(heads_from(to_string(heads)), heads);
  }
  for (const char* text : {"", "L", "L2", "L2H", "L2H5 >", "L2H5 > ", " L2H5", "L2H5 L3H0", "L-1H0", "L2H5>L3H0",
                           "L99999999999999999999H0", "L10000000H0", "skips", "mlp.3"}) {
    EXPECT_EQ(heads_from(text), std::nullopt) << text;
  }
}

TEST(Origin, ReadsWhatItWrites) {
  for (const auto kind : {Origin::Kind::kEmbedding, Origin::Kind::kMlp, Origin::Kind::kBias, Origin::Kind::kAll}) {
    for (const auto block : {std::optional<Index>(), std::optional<Index>(0), std::optional<Index>(12)}) {
      const Origin origin{kind, block};
      EXPECT_EQ(origin_from(to_string(origin)), origin);
    }
  }
  for (const char* text : {"", "mlp.", "mlp.x", "mlp.3x", "mlp.-1", "Mlp", "mlp3", "bias.99999999999999999999"}) {
    EXPECT_EQ(origin_from(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace rankfall
