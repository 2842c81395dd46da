#include "text/gguf_tokenizer.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/gguf.h"
#include "io/io_test_util.h"
#include <rankfall/tokenizer.h>

namespace rankfall {
namespace {

using test::bytes_of;
using test::input_error;
using test::raw;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kFolder = std::string(RANKFALL_TEST_DATA) + "/gguf/";

// The vocabularies of these files are "a b c ..", with a merge that it has no piece for, "▁t3 ▁t4 .." and "▁w5 ▁w6 ..".
TEST(GgufTokenizer, OfEachKind) {
  EXPECT_THAT(input_error([] { Tokenizer::open(kFolder + "gpt2-q4_0/model.gguf"); }),
              HasSubstr("rule 1 merges 'a' and 'b', but 'ab' is not in the vocabulary"));

  const auto pieces = Tokenizer::open(kFolder + "llama-f32/model.gguf");
  EXPECT_EQ(pieces->kind(), "SentencePiece, in the GGUF file");
  ASSERT_EQ(pieces->front().size(), 1U);
  EXPECT_EQ(pieces->front()[0].text, "<s>");
  EXPECT_EQ(pieces->front()[0].id, 1);
  EXPECT_TRUE(pieces->back().empty());

  const auto words = Tokenizer::open(kFolder + "bert-f16/model.gguf");
  EXPECT_EQ(words->kind(), "WordPiece, lower-cased, in the GGUF file");
  EXPECT_THAT(words->ids("W6 w5 [MASK] nothing"), ElementsAre(6, 5, 4, 1));
  EXPECT_EQ(words->front().at(0).text, "[CLS]");
  EXPECT_EQ(words->back().at(0).text, "[SEP]");
  EXPECT_EQ(words->padding(), 0);
}

std::string text(const std::string& s) { return raw(std::uint64_t{s.size()}) + s; }

// A file with these entries of tokenizer.ggml and no tensors.
class Entries {
 public:
  Entries& text_of(const std::string& key, const std::string& value) {
    return add(text("tokenizer.ggml." + key) + raw(std::uint32_t{8}) + text(value));
  }
  Entries& texts(const std::string& key, const std::vector<std::string>& values) {
    std::string out = text("tokenizer.ggml." + key) + raw(std::uint32_t{9}) + raw(std::uint32_t{8}) +
                      raw(std::uint64_t{values.size()});
    for (const std::string& value : values) out += text(value);
    return add(out);
  }
  Entries& integer(const std::string& key, std::uint32_t value) {
    return add(text("tokenizer.ggml." + key) + raw(std::uint32_t{4}) + raw(value));
  }
  Entries& scores(const std::vector<float>& values) {
    std::string out = text("tokenizer.ggml.scores") + raw(std::uint32_t{9}) + raw(std::uint32_t{6}) +
                      raw(std::uint64_t{values.size()});
    for (const float value : values) out += raw(value);
    return add(out);
  }
  TokenizerParts parts() const {
    std::string bytes = "GGUF" + raw(std::uint32_t{3}) + raw(std::uint64_t{0}) + raw(n_) + entries_;
    bytes.resize(bytes.size() + 64);
    return gguf_tokenizer(*GgufFile::parse(bytes_of(bytes), "a.gguf"));
  }
  std::string error() const {
    return input_error([&] { parts(); });
  }

 private:
  Entries& add(const std::string& entry) {
    entries_ += entry;
    ++n_;
    return *this;
  }
  std::string entries_;
  std::uint64_t n_ = 0;
};

TEST(GgufTokenizer, OfBytePairs) {
  const auto ids = [](const char* rule, const std::string& sample) {
    const TokenizerParts parts = Entries()
                                     .text_of("model", "gpt2")
                                     .text_of("pre", rule)
                                     .texts("tokens", {"a", "b", "c", "ab", "\u0120", "1", "11", "111", "1111"})
                                     .texts("merges", {"a b", "1 1", "11 1", "11 11"})
                                     .parts();
    Pieces out;
    encode_text(parts, sample, out);
    return out.ids;
  };
  EXPECT_THAT(ids("gpt-2", "cab ab"), ElementsAre(2, 3, 4, 3));
  EXPECT_THAT(ids("gpt-2", "1111"), ElementsAre(8));
  EXPECT_THAT(ids("llama-bpe", "1111"), ElementsAre(7, 5)) << "three digits at a time";
  EXPECT_THAT(ids("qwen2", "111"), ElementsAre(5, 5, 5)) << "digit by digit";
}

TEST(GgufTokenizer, WhatIsWrongIsNamed) {
  const std::vector<std::string> abc = {"a", "b", "c"};
  EXPECT_THAT(Entries().error(), HasSubstr("'tokenizer.ggml.tokens' is missing: the file has no tokenizer"));
  EXPECT_THAT(Entries().text_of("model", "rwkv").texts("tokens", abc).error(),
              HasSubstr("a tokenizer of the kind 'rwkv', expected llama, t5, gpt2 or bert"));
  EXPECT_THAT(Entries().text_of("model", "gpt2").text_of("pre", "tekken").texts("tokens", abc).error(),
              HasSubstr("splits texts by the rule 'tekken', which is not supported"));
  EXPECT_THAT(Entries().text_of("model", "llama").texts("tokens", abc).error(),
              HasSubstr("'tokenizer.ggml.scores' is missing"));
  EXPECT_THAT(Entries().text_of("model", "llama").texts("tokens", abc).scores({1, 2}).error(),
              HasSubstr("'tokenizer.ggml.scores' has another length than the tokens"));
  EXPECT_THAT(Entries().text_of("model", "bert").texts("tokens", abc).error(), HasSubstr("has no piece '[UNK]'"));
  EXPECT_THAT(Entries().text_of("model", "gpt2").texts("tokens", abc).texts("merges", {"a c"}).error(),
              HasSubstr("a.gguf"));
  EXPECT_THAT(Entries()
                  .text_of("model", "llama")
                  .texts("tokens", {"<unk>", "a"})
                  .scores({0, 0})
                  .integer("unknown_token_id", 7)
                  .error(),
              HasSubstr("'tokenizer.ggml.unknown_token_id' is no token's number"));
  EXPECT_THAT(Entries().text_of("model", "gpt2").texts("tokens", {"a", "\xff"}).texts("merges", {}).error(),
              HasSubstr("has no UTF-8 at 1"));
}

// Vocabularies of llama.cpp with its own test texts and what it makes of them; not part of the project.
TEST(RealGgufTokenizers, GiveTheIdsOfLlamaCpp) {
  const char* folder = std::getenv("RANKFALL_MODELS");
  if (!folder) GTEST_SKIP() << "no real vocabularies: RANKFALL_MODELS is not set";
  for (const char* name : {"gpt-2", "llama-spm", "phi-3", "bert-bge"}) {
    const std::filesystem::path file = std::filesystem::path(folder) / "gguf-vocab" / (std::string(name) + ".gguf");
    const auto tokenizer = Tokenizer::open(file);
    std::ifstream in(file.string() + ".inp", std::ios::binary);
    std::string all((std::istreambuf_iterator<char>(in)), {});
    std::ifstream out(file.string() + ".out");
    const std::string separator = "\n__ggml_vocab_test__\n";
    std::size_t n = 0;
    for (std::size_t at = 0; at != std::string::npos;) {
      const std::size_t end = all.find(separator, at);
      const std::string sample = all.substr(at, end == std::string::npos ? end : end - at);
      at = end == std::string::npos ? end : end + separator.size();
      std::string line;
      if (!std::getline(out, line)) break;
      std::istringstream words(line);
      const std::vector<std::int32_t> expected((std::istream_iterator<std::int32_t>(words)), {});
      EXPECT_EQ(tokenizer->ids(sample), expected) << name << " " << n << ": " << sample;
      ++n;
    }
    EXPECT_EQ(n, 46U) << name;
  }
}

}  // namespace
}  // namespace rankfall
