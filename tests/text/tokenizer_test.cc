#include <cstdlib>
#include <map>

#include <gmock/gmock.h>

#include "io/io_test_util.h"
#include <rankfall/tokenizer.h>

namespace rankfall {
namespace {

using test::input_error;
using test::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> texts(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> out;
  for (const Piece& piece : tokenizer.pieces(text)) out.push_back(piece.text);
  return out;
}

TEST(Tokenizer, FilesByFamily) {
  EXPECT_EQ(tokenizer_files("bert"), "vocab.txt or tokenizer.json");
  EXPECT_EQ(tokenizer_files("gpt2"), "vocab.json with merges.txt or tokenizer.json");
  EXPECT_EQ(tokenizer_files("camembert"), "tokenizer.json");
}

TEST(Tokenizer, SpecialTokensInTheText) {
  const auto bert = Tokenizer::open(std::string(RANKFALL_TEST_DATA) + "/tokenizers/bert-uncased");
  EXPECT_THAT(texts(*bert, "x [SEP]x[CLS] "), ElementsAre("x", "[SEP]", "x", "[CLS]"));
  EXPECT_THAT(texts(*bert, "[sep"), ElementsAre("[", "s", "##e", "##p"));
  EXPECT_EQ(bert->padding(), bert->pieces("[PAD]").at(0).id);
  const auto gpt2 = Tokenizer::open(std::string(RANKFALL_TEST_DATA) + "/tokenizers/gpt2");
  EXPECT_FALSE(gpt2->padding());
}

// A directory with a copy of reference files, to be changed.
void copy_tokenizer(const TempDir& dir, const char* name) {
  const auto from = std::filesystem::path(RANKFALL_TEST_DATA) / "tokenizers" / name;
  std::filesystem::copy(from, dir.path(),
                        std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
}

TEST(Tokenizer, SpaceBesideSpecialTokensByFamily) {
  const auto roberta = Tokenizer::open(std::string(RANKFALL_TEST_DATA) + "/tokenizers/roberta");
  EXPECT_THAT(texts(*roberta, "x <mask> x"), ElementsAre("x", "<mask>", "\u0120", "x"));
  EXPECT_THAT(texts(*roberta, "x <s>x"), ElementsAre("x", "\u0120", "<s>", "x"));
  const auto t5 = Tokenizer::open(std::string(RANKFALL_TEST_DATA) + "/tokenizers/t5");
  EXPECT_THAT(texts(*t5, "x <extra_id_3> x"), ElementsAre("\u2581", "x", "<extra_id_3>", "\u2581", "x"));
}

TEST(Tokenizer, SettingsCount) {
  const TempDir gpt2;
  copy_tokenizer(gpt2, "gpt2");
  gpt2.file("tokenizer_config.json",
            R"({"add_prefix_space": true, "added_tokens_decoder": {"900": {"content": "[E1]", "lstrip": true}}})");
  const auto tokenizer = Tokenizer::open(gpt2.path());
  EXPECT_EQ(tokenizer->ids("is"), tokenizer->ids(" is"));
  EXPECT_EQ(tokenizer->pieces("x [E1]").back().id, 900);

  const TempDir bert;
  copy_tokenizer(bert, "bert-cased");
  for (const char* settings : {R"({"tokenizer_class": "BertJapaneseTokenizer"})", R"({"do_basic_tokenize": false})",
                               R"({"added_tokens_decoder": {"x": {"content": "y"}}})"}) {
    bert.file("tokenizer_config.json", settings);
    EXPECT_THAT(input_error([&] { Tokenizer::open(bert.path()); }), HasSubstr("tokenizer_config.json")) << settings;
  }
}

TEST(Tokenizer, BytesThatAreNotUtf8CountAsReplacementCharacters) {
  for (const char* name : {"bert-cased", "gpt2", "t5", "albert"}) {
    const auto tokenizer = Tokenizer::open(std::string(RANKFALL_TEST_DATA) + "/tokenizers/" + name);
    EXPECT_EQ(tokenizer->ids("a\xFF\xC3 b"), tokenizer->ids("a\uFFFD\uFFFD b")) << name;
    EXPECT_NO_THROW(tokenizer->ids(std::string(1000, '\0')));
  }
}

TEST(Tokenizer, MissingAndBrokenFiles) {
  const struct {
    std::map<std::string, std::string> files;
    const char* says;
  } cases[] = {
      {{}, "has no config.json"},
      {{{"config.json", R"({"model_type": "vit"})"}}, "the family 'vit' has no supported tokenizer"},
      {{{"config.json", R"({"model_type": "bert"})"}}, "expected vocab.txt or tokenizer.json"},
      {{{"config.json", R"({"model_type": "gpt2"})"}, {"vocab.json", "{}"}}, "expected vocab.json with merges.txt"},
      {{{"config.json", R"({"model_type": "t5"})"}}, "expected spiece.model or tokenizer.model"},
      {{{"config.json", R"({"model_type": "bert"})"}, {"vocab.txt", "a\nb\n"}}, "has no piece '[UNK]'"},
      {{{"config.json", R"({"model_type": "bert"})"}, {"vocab.txt", "[UNK]\n[SEP]\n"}}, "has no piece '[CLS]'"},
      {{{"config.json", R"({"model_type": "bert"})"}, {"vocab.txt", "[UNK]"}, {"tokenizer_config.json", "[]"}},
       "tokenizer_config.json"},
      {{{"config.json", R"({"model_type": "t5"})"}, {"spiece.model", "not a model"}}, "spiece.model: not a sound"},
      {{{"config.json", R"({"model_type": "bert"})"}, {"vocab.txt", "version https://git-lfs.github.com/spec/v1\n"}},
       "Git LFS pointer"},
      {{{"config.json", R"({"model_type": "gpt2"})"}, {"vocab.json", R"({"a": 0, "b": 1})"}, {"merges.txt", "a b\n"}},
       "rule 1 merges 'a' and 'b', but 'ab' is not in the vocabulary"},
  };
  for (const auto& c : cases) {
    const TempDir dir;
    for (const auto& [name, content] : c.files) dir.file(name, content);
    EXPECT_THAT(input_error([&] { Tokenizer::open(dir.path()); }), HasSubstr(c.says));
  }
}

// Real vocabularies are not part of the project; RANKFALL_MODELS names the folder that has them. A page of several
// scripts, in which nothing but unknown characters may be lost.
TEST(RealTokenizers, TokeniseManyScripts) {
  const char* folder = std::getenv("RANKFALL_MODELS");
  if (!folder) GTEST_SKIP() << "no real vocabularies: RANKFALL_MODELS is not set";
  const std::string page =
      "The quick brown fox jumps over the lazy dog. Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. "
      "Съешь же ещё этих мягких французских булок. Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. いろはにほへと ちりぬるを。"
      "天地玄黃，宇宙洪荒。 키스의 고유조건은 입술끼리 만나야 하고. نص حكيم له سر قاطع. עטלף אבק נס דרך מזגן. "
      "ऋषियों को सताने वाले. 1,234.56 € — “quotes” … 🙂";
  for (const char* name : {"albert-base-v2", "all-MiniLM-L6-v2", "xlnet-base-cased"}) {
    const auto tokenizer = Tokenizer::open(std::filesystem::path(folder) / "tokenizers" / name);
    const auto pieces = tokenizer->pieces(page);
    EXPECT_GT(pieces.size(), 100U) << name;
    std::size_t n_unknown = 0;
    for (const Piece& piece : pieces) n_unknown += piece.text == "[UNK]" || piece.id == 0 || piece.id == 1 ? 1U : 0U;
    EXPECT_LT(n_unknown, pieces.size() / 3) << name;
    std::string joined;
    for (const Piece& piece :
         tokenizer->pieces("unaffable dogs, rebuilt in 1994, jump over antidisestablishmentarianism.")) {
      joined += piece.text;
    }
    for (const std::string_view mark : {"##", "\u2581"}) {
      for (std::size_t at = joined.find(mark); at != std::string::npos; at = joined.find(mark))
        joined.erase(at, mark.size());
    }
    EXPECT_EQ(joined, "unaffabledogs,rebuiltin1994,jumpoverantidisestablishmentarianism.") << name;
  }
}

// The same vocabulary as vocab.txt and as tokenizer.json.
TEST(RealTokenizers, BothFilesGiveTheSame) {
  const char* folder = std::getenv("RANKFALL_MODELS");
  if (!folder) GTEST_SKIP() << "no real vocabularies: RANKFALL_MODELS is not set";
  const auto source = std::filesystem::path(folder) / "tokenizers/all-MiniLM-L6-v2";
  const TempDir dir;
  std::filesystem::copy(source / "config.json", dir.path() / "config.json");
  std::filesystem::copy(source / "tokenizer.json", dir.path() / "tokenizer.json");
  const auto old = Tokenizer::open(source);
  const auto fast = Tokenizer::open(dir.path());
  for (const char* text : {"The program is free software; you can redistribute it.", "naïve café 中文 Ünïcödé ½ don't",
                           "a\u2028b \u200B [MASK] 3.14 unaffable", ""}) {
    EXPECT_EQ(old->ids(text), fast->ids(text)) << text;
  }
  EXPECT_EQ(old->front().at(0).id, fast->front().at(0).id);
  EXPECT_EQ(old->back().at(0).id, fast->back().at(0).id);
  EXPECT_EQ(old->padding(), fast->padding());
}

}  // namespace
}  // namespace rankfall
