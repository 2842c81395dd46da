#include "text/vocabulary.h"

#include <gmock/gmock.h>

#include "io/io_test_util.h"
#include "text/vocabulary_files.h"

namespace rankfall {
namespace {

using test::input_error;
using ::testing::HasSubstr;

TEST(Vocabulary, FindsWhatWasAdded) {
  Vocabulary vocabulary;
  EXPECT_FALSE(vocabulary.find("x"));
  for (int i = 0; i < 5000; ++i) EXPECT_TRUE(vocabulary.add("piece " + std::to_string(i), i));
  EXPECT_FALSE(vocabulary.add("piece 7", 9));
  EXPECT_EQ(vocabulary.find("piece 7"), 7);
  EXPECT_EQ(vocabulary.find("piece 4999"), 4999);
  EXPECT_FALSE(vocabulary.find("piece 5000"));
  EXPECT_EQ(vocabulary.text(1234), "piece 1234");
  EXPECT_EQ(vocabulary.text(-1), "");
  EXPECT_EQ(vocabulary.text(5000), "");
  EXPECT_EQ(vocabulary.size(), 5000U);
  EXPECT_EQ(vocabulary.longest(), 10U);
}

TEST(VocabularyFiles, Lines) {
  const Vocabulary lines = read_vocabulary_lines("a\nb\r\n\nc\na", "f");
  EXPECT_EQ(lines.find("b"), 1);
  EXPECT_EQ(lines.find("c"), 3);
  EXPECT_EQ(lines.find("a"), 4);  // the last of equal lines
  EXPECT_THAT(input_error([] { read_vocabulary_lines("", "f"); }), HasSubstr("f: no pieces"));
  EXPECT_THAT(input_error([] { read_vocabulary_lines("a\n\xFF\n", "f"); }),
              HasSubstr("f: line 2: byte 1 is not UTF-8"));
}

TEST(VocabularyFiles, Json) {
  EXPECT_EQ(read_vocabulary_json(R"({"a": 0, "b": 7})", "f").find("b"), 7);
  for (const char* bad : {"[]", "{}", R"({"a": -1})", R"({"a": 1.5})", R"({"a": 99999999999})", R"({"a": "1"})",
                          R"({"a": 0, "a": 1})", "{"}) {
    EXPECT_THAT(input_error([&] { read_vocabulary_json(bad, "f"); }), HasSubstr("f: ")) << bad;
  }
}

TEST(VocabularyFiles, Merges) {
  const auto merges = read_merges("#version: 0.2\na b\n\n# #\n", "f");
  ASSERT_EQ(merges.size(), 2U);
  EXPECT_EQ(merges[1].left, "#");
  for (const char* bad : {"a\n", "a b c\n", " b\n", "a \n", "a b\nc"}) {
    EXPECT_THAT(input_error([&] { read_merges(bad, "f"); }), HasSubstr("expected two pieces")) << bad;
  }
}

}  // namespace
}  // namespace rankfall
