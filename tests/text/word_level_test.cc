#include "text/word_level.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "io/io_test_util.h"
#include "text/tokenizer_parts.h"

namespace rankfall {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TokenIds word_ids(const json& file, std::string_view text) {
  Pieces out;
  encode_text(parse_tokenizer_json(file.dump(), "f"), text, out);
  return out.ids;
}

TEST(WordLevel, WordsOrUnknown) {
  json file = {{"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
               {"model",
                {{"type", "WordLevel"},
                 {"unk_token", "[UNK]"},
                 {"vocab", {{"[UNK]", 0}, {"one", 1}, {"two", 2}, {"two,", 3}, {",", 4}, {"one two", 5}}}}}};
  EXPECT_THAT(word_ids(file, "one\ttwo,  three one"), ElementsAre(1, 3, 0, 1));
  file["pre_tokenizer"]["type"] = "Whitespace";
  EXPECT_THAT(word_ids(file, "one two, three"), ElementsAre(1, 2, 4, 0));
  file["normalizer"] = {{"type", "Lowercase"}};
  EXPECT_THAT(word_ids(file, "One TWO"), ElementsAre(1, 2));
  file.erase("pre_tokenizer");  // without one the text is a word
  EXPECT_THAT(word_ids(file, "one two"), ElementsAre(5));
  EXPECT_THAT(word_ids(file, "one two "), ElementsAre(0));
  EXPECT_EQ(parse_tokenizer_json(file.dump(), "f").kind, "WordLevel of tokenizer.json");
  file["model"]["unk_token"] = "none";
  EXPECT_THAT(test::input_error([&] { word_ids(file, "three"); }),
              HasSubstr("the word 'three' is not in the vocabulary, nor is the unknown token 'none'"));
}

}  // namespace
}  // namespace rankfall
