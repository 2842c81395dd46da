#include "input/text_inputs.h"

#include <gmock/gmock.h>

#include "engine/recorder.h"
#include "input/inputs.h"
#include "input/text_source.h"
#include "io/io_test_util.h"
#include <rankfall/forward.h>
#include <rankfall/model.h>

namespace rankfall {
namespace {

using test::input_error;
using test::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kBert = std::string(RANKFALL_TEST_DATA) + "/tokenizers/bert-uncased";

// As many words as the vocabulary has pieces, and no limit of length.
const Network& network() {
  static const Network made = open_model("san:layers=2,heads=2,dim=8,vocab=600", 0).network;
  return made;
}

std::vector<std::string> items(const TempDir& dir, const std::string& text, InputOptions options = {}) {
  options.text = dir.file("text", text);
  TextSource source(options);
  std::vector<std::string> out;
  while (const auto item = source.next()) out.push_back(std::to_string(item->line) + ":" + item->text);
  return out;
}

TEST(TextSource, LinesBlocksAndJson) {
  const TempDir dir;
  EXPECT_THAT(items(dir, "\xEF\xBB\xBFone\r\n\n  \ntwo"), ElementsAre("1:one", "4:two"));
  InputOptions blocks;
  blocks.paragraphs = true;
  EXPECT_THAT(items(dir, "\n a\nb\n\n\nc\n", blocks), ElementsAre("2: a\nb", "6:c"));
  InputOptions json;
  json.field = "t";
  EXPECT_THAT(items(dir, "{\"t\": \"x\\ny\"}\n\n{\"t\": \"\"}\n", json), ElementsAre("1:x\ny"));
  EXPECT_THAT(input_error([&] { items(dir, "{\"u\": 1}\n", json); }), HasSubstr("line 1: found no text 't'"));
  EXPECT_THAT(input_error([&] { items(dir, "{\"t\": \"a\"}\n{", json); }), HasSubstr("line 2"));
  EXPECT_THAT(input_error([&] { items(dir, ""); }), HasSubstr("empty"));
  EXPECT_THAT(input_error([&] {
                items(dir,
                      "\xFF\xFE"
                      "a");
              }),
              HasSubstr("UTF-16"));
}

TEST(TextSource, TextsInMemory) {
  InputOptions options;
  options.texts = {"one\ntwo", " ", "three"};
  TextSource source(options);
  std::vector<std::string> out;
  while (const auto item = source.next()) out.push_back(std::to_string(item->line) + ":" + item->text);
  EXPECT_THAT(out, ElementsAre("1:one\ntwo", "3:three"));
  EXPECT_EQ(source.where(), "the given texts");
  options.paragraphs = true;
  EXPECT_THROW(TextSource{options}, Error);
}

InputOptions options_for(const TempDir& dir, const std::string& text, Index n_tokens) {
  InputOptions options;
  options.text = dir.file("text", text);
  options.tokenizer = kBert;
  options.n_tokens = n_tokens;
  return options;
}

TEST(TextInputs, KeepsWhatFillsTheTokens) {
  const TempDir dir;
  const Inputs inputs = open_inputs(network(), options_for(dir, "the the the the\nthe\nthe the the\n", 5), 0);
  ASSERT_THAT(inputs.samples, SizeIs(2));
  EXPECT_THAT(std::get<TokenIds>(inputs.samples[0].content), ElementsAre(2, 97, 97, 97, 3));
  EXPECT_THAT(std::get<TokenIds>(inputs.samples[1].content), ElementsAre(2, 97, 97, 97, 3));
  EXPECT_THAT(inputs.notes,
              ElementsAre(HasSubstr("1 of 3 samples skipped, shorter than 5 tokens (the longest of them has 3)")));
  EXPECT_THAT(input_error([&] { open_inputs(network(), options_for(dir, "the the\nthe\n", 9), 0); }),
              HasSubstr("none of 2 samples has 9 tokens, the longest has 4; without InputOptions::n_tokens"));
  EXPECT_THAT(input_error([&] { open_inputs(network(), options_for(dir, " \n\t\n", 9), 0); }),
              HasSubstr("nothing but white space"));
  EXPECT_THROW(open_inputs(network(), options_for(dir, "the", 2), 0), Error);
}

TEST(TextInputs, EachHasItsOwnLength) {
  const TempDir dir;
  InputOptions options = options_for(dir, "the the the\nthe\n\u200B\nthe the\n", 1);
  options.n_tokens.reset();
  const Inputs inputs = open_inputs(network(), options, 0);
  ASSERT_THAT(inputs.samples, SizeIs(3));
  EXPECT_THAT(std::get<TokenIds>(inputs.samples[0].content), ElementsAre(2, 97, 97, 97, 3));
  EXPECT_THAT(std::get<TokenIds>(inputs.samples[1].content), ElementsAre(2, 97, 3));
  EXPECT_THAT(inputs.samples[1].valid, IsEmpty());
  EXPECT_THAT(inputs.notes,
              ElementsAre(HasSubstr("1 of 4 samples skipped: no tokens"), HasSubstr("3 samples of 3 to 5 tokens")));
  EXPECT_EQ(tokens_text(size_of(inputs.samples)), "3 to 5");

  options.pad = true;  // to the longest
  options.n_samples = 5;
  const Inputs padded = open_inputs(network(), options, 0);
  EXPECT_EQ(tokens_text(size_of(padded.samples)), "5");
  EXPECT_THAT(padded.samples[1].valid, ElementsAre(1, 1, 1, 0, 0));
  EXPECT_THAT(padded.notes, testing::Contains(HasSubstr("5 requested samples, only 3 found")));

  // No more than the model has positions, and never a whole book.
  const Network few = open_model("san:layers=1,heads=1,dim=4,vocab=600,positions=4", 0).network;
  InputOptions longer = options_for(dir, "the the the\nthe\n", 1);
  longer.n_tokens.reset();
  const Inputs truncated = open_inputs(few, longer, 0);
  EXPECT_EQ(tokens_text(size_of(truncated.samples)), "3 to 4");
  EXPECT_THAT(truncated.notes, testing::Contains(HasSubstr("1 samples truncated to 4 tokens")));
  std::string book;
  for (int i = 0; i < 2'000; ++i) book += "the ";
  longer.text = dir.file("book", book);
  EXPECT_EQ(open_inputs(network(), longer, 0).samples[0].n_tokens(), 1'024);
}

TEST(TextInputs, PaddingChangesNothing) {
  const TempDir dir;
  const std::string text = "the program is free\nthe\n";
  InputOptions padded = options_for(dir, text, 12);
  padded.pad = true;
  padded.n_samples = 2;
  const Inputs with = open_inputs(network(), padded, 0);
  ASSERT_THAT(with.samples, SizeIs(2));
  EXPECT_THAT(with.samples[1].valid, ElementsAre(1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(TextInputs, LongAndStrangeTexts) {
  const TempDir dir;
  std::string longest;
  while (longest.size() < 3 * kMaxSampleBytes) longest += "the program ";
  const Inputs cut = open_inputs(network(), options_for(dir, longest, 50), 0);
  EXPECT_EQ(cut.samples[0].n_tokens(), 50);
  EXPECT_THAT(cut.notes, testing::Contains(HasSubstr("the rest of them is not read")));
  const Inputs unbroken = open_inputs(network(), options_for(dir, std::string(2 * kMaxSampleBytes, 'x'), 3), 0);
  EXPECT_EQ(unbroken.samples[0].n_tokens(), 3);
  EXPECT_EQ(shortened("ab cd", 4), "ab");
  EXPECT_EQ(shortened("ab cd", 5), "ab cd");
  EXPECT_EQ(shortened("a\u00E9\u00E9", 4), "a\u00E9");
  const std::string late = "hi " + std::string(10'000, 'x');
  EXPECT_EQ(shortened(late, 9'000).size(), 8'999U);  // the space is too far away
  const Inputs strange = open_inputs(network(), options_for(dir, std::string("the \xFF the\0the", 14), 4), 0);
  EXPECT_THAT(strange.notes, testing::Contains(HasSubstr("1 samples have bytes that are not UTF-8")));
}

TEST(TextInputs, ModelAndTokenizerMustFit) {
  const TempDir dir;
  const Network small = open_model("san:layers=1,heads=1,dim=4,vocab=50", 0).network;
  EXPECT_THAT(input_error([&] { open_inputs(small, options_for(dir, "the the the", 5), 0); }),
              HasSubstr("may not belong together"));
  InputOptions none = options_for(dir, "the", 5);
  none.tokenizer.clear();
  EXPECT_THROW(open_inputs(network(), none, 0), Error);
}

}  // namespace
}  // namespace rankfall
