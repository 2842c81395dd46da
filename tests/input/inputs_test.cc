#include "input/inputs.h"

#include <gmock/gmock.h>

#include "io/io_test_util.h"
#include <rankfall/model.h>

namespace rankfall {
namespace {

using test::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Network& tokens() {
  static const Network network = open_model("san:layers=1,heads=1,dim=4,vocab=10,positions=6", 0).network;
  return network;
}

std::string error_of(ErrorKind kind, const Network& network, const InputOptions& options) {
  try {
    open_inputs(network, options, 0);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

TEST(Inputs, RandomOnesFitTheModel) {
  const Inputs inputs = open_inputs(tokens(), {}, 3);
  EXPECT_THAT(inputs.samples, SizeIs(32));
  EXPECT_EQ(inputs.samples[0].n_tokens(), 6);  // not 128: the model has 6 positions
  EXPECT_EQ(inputs.source, "random, uniform");
  InputOptions options;
  options.n_samples = 2;
  options.n_tokens = 3;
  options.token_law = TokenLaw::kZipf;
  const Inputs small = open_inputs(tokens(), options, 3);
  EXPECT_EQ(size_of(small.samples).n_samples, 2);
  EXPECT_EQ(size_of(small.samples).n_tokens, 3);
  EXPECT_EQ(small.source, "random, zipf");
  options.n_samples = 0;
  EXPECT_THAT(error_of(ErrorKind::kUsage, tokens(), options), HasSubstr("at least 1"));
}

TEST(Inputs, Ids) {
  const TempDir dir;
  InputOptions options;
  options.ids = dir.file("ids.json", "[[1, 2, 3, 4], [5, 6], [7, 8, 9]]");
  const Inputs all = open_inputs(tokens(), options, 0);
  ASSERT_THAT(all.samples, SizeIs(3));
  EXPECT_THAT(std::get<TokenIds>(all.samples[1].content), ElementsAre(5, 6));
  EXPECT_THAT(all.notes, IsEmpty());

  options.n_tokens = 3;
  const Inputs cut = open_inputs(tokens(), options, 0);
  ASSERT_THAT(cut.samples, SizeIs(2));
  EXPECT_THAT(std::get<TokenIds>(cut.samples[0].content), ElementsAre(1, 2, 3));
  EXPECT_THAT(std::get<TokenIds>(cut.samples[1].content), ElementsAre(7, 8, 9));
  EXPECT_THAT(cut.notes, ElementsAre(HasSubstr("1 of 3 samples skipped")));

  options.n_samples = 1;
  EXPECT_THAT(open_inputs(tokens(), options, 0).samples, SizeIs(1));
  options.n_samples = 9;
  EXPECT_THAT(open_inputs(tokens(), options, 0).notes, SizeIs(2));
  options.n_tokens = 5;
  EXPECT_THAT(error_of(ErrorKind::kInput, tokens(), options), HasSubstr("none of 3 samples has 5 tokens"));
}

// What is not used is not looked at: neither kept, nor a reason to refuse the file.
TEST(Inputs, OnlyTheSamplesThatAreWanted) {
  const TempDir dir;
  InputOptions options;
  options.n_samples = 2;
  options.ids = dir.file("ids.json", "[[1, 2], [3], [4, 1000], [\"x\"]]");
  EXPECT_THAT(open_inputs(tokens(), options, 0).samples, SizeIs(2));
  std::string ids;
  for (std::int32_t i = 0; i < 1'000'000; ++i) ids += test::raw(i);
  options.ids = dir.file(
      "ids.safetensors",
      test::safetensors(R"({"input_ids":{"dtype":"I32","shape":[1000000,1],"data_offsets":[0,4000000]}})", ids));
  const Inputs inputs = open_inputs(tokens(), options, 0);
  ASSERT_THAT(inputs.samples, SizeIs(2));
  EXPECT_THAT(inputs.notes, IsEmpty());
  options.n_tokens = 1;
  EXPECT_THAT(open_inputs(tokens(), options, 0).samples, SizeIs(2));
}

TEST(Inputs, SamplesInMemory) {
  const Network network = open_model("san:layers=1,heads=1,dim=4,vocab=9", 0).network;
  InputOptions options;
  options.samples = std::make_shared<const std::vector<Sample>>(
      std::vector<Sample>{{TokenIds{1, 2, 3}}, {TokenIds{4}}, {TokenIds{5, 6, 7, 8}}});
  EXPECT_EQ(open_inputs(network, options, 0).samples.size(), 3U);
  options.n_tokens = 3;
  const Inputs cut = open_inputs(network, options, 0);
  ASSERT_EQ(cut.samples.size(), 2U);
  EXPECT_EQ(std::get<TokenIds>(cut.samples[1].content), (TokenIds{5, 6, 7}));
  EXPECT_EQ(cut.source, "the given samples");
  options.samples = std::make_shared<const std::vector<Sample>>(std::vector<Sample>{{TokenIds{1, 9, 3}}});
  EXPECT_THROW(open_inputs(network, options, 0), Error);  // beyond the vocabulary
  options.texts = {"and a text"};
  EXPECT_THROW(open_inputs(network, options, 0), Error);
}

TEST(Inputs, MasksAndSegments) {
  const TempDir dir;
  InputOptions options;
  options.ids = dir.file("ids.json", R"({"input_ids": [[1, 2, 0], [3, 4, 5]], "attention_mask": [[1, 1, 0], [1, 1, 1]],
                                         "token_type_ids": [[0, 1, 1], [0, 0, 0]]})");
  const Network bert = network_from_config(
      R"({"model_type": "bert", "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1,
          "intermediate_size": 4, "vocab_size": 10, "max_position_embeddings": 6})",
      "config");
  const Inputs inputs = open_inputs(bert, options, 0);
  EXPECT_THAT(inputs.samples[0].valid, ElementsAre(1, 1, 0));
  EXPECT_THAT(inputs.samples[0].segments, ElementsAre(0, 1, 1));
  options.n_tokens = 2;
  EXPECT_THAT(open_inputs(bert, options, 0).samples[0].valid, ElementsAre(1, 1));

  options.ids = dir.file("bad.json", R"({"input_ids": [[1, 2], [3, 4]], "attention_mask": [[1, 1]]})");
  EXPECT_THAT(error_of(ErrorKind::kInput, bert, options), HasSubstr("2 samples, but 'attention_mask' has 1"));
  options.ids = dir.file("bad.json", R"({"input_ids": [[1, 2]], "attention_mask": [[1]]})");
  options.n_tokens.reset();
  EXPECT_THAT(error_of(ErrorKind::kInput, bert, options), HasSubstr("2 tokens with 1 entries of the mask"));
}

// A text longer than the model's positions can be cut.
TEST(Inputs, CuttingComesBeforeChecking) {
  const TempDir dir;
  InputOptions options;
  options.ids = dir.file("ids.json", "[[1, 2, 3, 4, 5, 6, 7, 8, 9]]");
  options.n_tokens = 4;
  EXPECT_EQ(open_inputs(tokens(), options, 0).samples[0].n_tokens(), 4);
  options.ids = dir.file("ids.json", R"({"input_ids": [[1, 2, 3]], "attention_mask": [[false, false, true]]})");
  options.n_tokens = 2;
  EXPECT_THAT(error_of(ErrorKind::kInput, tokens(), options),
              HasSubstr("ids.json: sample 0: a sample that is all padding"));
}

TEST(Inputs, SegmentsOfAModelWithoutAreLeftOut) {
  const TempDir dir;
  InputOptions options;
  options.ids = dir.file("ids.json", R"({"input_ids": [[1, 2]], "token_type_ids": [[0, 1]]})");
  const Inputs inputs = open_inputs(tokens(), options, 0);
  EXPECT_THAT(inputs.samples[0].segments, IsEmpty());
  EXPECT_THAT(inputs.notes, ElementsAre(HasSubstr("'token_type_ids' left out")));

  // Relative positions as XLNet's compare segments, whatever the family.
  const Network relative = open_model("san:layers=1,heads=2,dim=8,vocab=10,relative=xlnet", 0).network;
  EXPECT_THAT(open_inputs(relative, options, 0).samples[0].segments, ElementsAre(0, 1));
}

TEST(Inputs, HiddenStates) {
  const TempDir dir;
  InputOptions options;
  options.hidden = dir.file("h.json", "[[[1, 2, 3, 4], [5, 6, 7, 8.5]]]");
  const Inputs inputs = open_inputs(tokens(), options, 0);
  EXPECT_EQ(std::get<HiddenState>(inputs.samples[0].content).values(1, 3), 8.5);
  options.n_tokens = 1;
  EXPECT_EQ(open_inputs(tokens(), options, 0).samples[0].n_tokens(), 1);
  options.n_tokens.reset();
  options.hidden =
      dir.file("m.json", R"({"hidden_states": [[[1, 2, 3, 4], [5, 6, 7, 8.5]]], "attention_mask": [[1, 0]]})");
  EXPECT_THAT(open_inputs(tokens(), options, 0).samples[0].valid, ElementsAre(1, 0));
  const std::string nan = test::raw(0.0F) + test::raw(0.0F) + test::raw(std::nanf("")) + test::raw(0.0F);
  options.hidden =
      dir.file("h", test::safetensors(R"({"hidden_states":{"dtype":"F32","shape":[1,4],"data_offsets":[0,16]}})", nan));
  EXPECT_THAT(error_of(ErrorKind::kInput, tokens(), options), HasSubstr("nan at row 0, column 2"));
}

TEST(Inputs, Images) {
  const TempDir dir;
  const Network vit = network_from_config(
      R"({"model_type": "vit", "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1,
          "intermediate_size": 4, "image_size": 2, "patch_size": 1, "num_channels": 1})",
      "config");
  InputOptions options;
  options.pixels = {dir.file("p.json", "[[[[0.5, 1], [2, 3]]]]")};
  const Inputs inputs = open_inputs(vit, options, 0);
  EXPECT_EQ(inputs.samples[0].n_tokens(), 5);
  options.pixels = {dir.file("p.json", "[[[[0.5, 1, 1], [2, 3, 1]]]]")};
  EXPECT_THAT(error_of(ErrorKind::kInput, vit, options), HasSubstr("shape [1, 2, 3], expected [1, 2, 2]"));
  options.pixels = {dir.file("p.json", "[[[[0, 255], [2, 3]]]]")};
  EXPECT_THAT(error_of(ErrorKind::kInput, vit, options), HasSubstr("scaled and normalised"));
  EXPECT_EQ(random_size(vit, {}).n_tokens, 5);
  EXPECT_EQ(open_inputs(vit, {}, 0).source, "random, standard normal");
}

TEST(Inputs, WhatDoesNotFitIsRefused) {
  const TempDir dir;
  const struct {
    const char* text;
    const char* says;
  } cases[] = {
      {"[[1, 10]]", "sample 0: token id 10 at position 1; the model's vocabulary has ids 0 to 9"},
      {"[[1], [-1]]", "sample 1: token id -1"},
      {"[[1, 2, 3, 4, 5, 6, 7]]", "positions for 6"},
      {"[[]]", "at least 1"},
      {"[[1.5]]", "expected whole numbers"},
      {"[[99999999999]]", "far beyond any vocabulary"},
      {"[]", "at least 1"},
  };
  for (const auto& c : cases) {
    InputOptions options;
    options.ids = dir.file("ids.json", c.text);
    EXPECT_THAT(error_of(ErrorKind::kInput, tokens(), options), HasSubstr(c.says)) << c.text;
  }
  InputOptions both;
  both.ids = both.hidden = "x";
  EXPECT_THAT(error_of(ErrorKind::kUsage, tokens(), both), HasSubstr("more than one of"));
  InputOptions wrong;
  wrong.pixels = {dir.file("p.json", "[[[[0.5]]]]")};
  EXPECT_THAT(error_of(ErrorKind::kInput, tokens(), wrong), HasSubstr("takes no images"));
}

}  // namespace
}  // namespace rankfall
