#include <cstring>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "io/io_test_util.h"
#include "text/tokenizer_parts.h"

// tokenizer.json files made from the reference vocabularies must give the reference's tokens.

namespace rankfall {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::input_error;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const fs::path kTokenizerFolders = fs::path(RANKFALL_TEST_DATA) / "tokenizers";

Pieces encoded(const TokenizerParts& parts, std::string_view text) {
  Pieces out;
  out.with_texts = true;
  encode_text(parts, text, out);
  return out;
}

void expect_reference(const char* name, const json& file) {
  const TokenizerParts parts = parse_tokenizer_json(file.dump(), "f");
  for (const auto& c : json::parse(std::ifstream(kTokenizerFolders / name / "cases.json"))) {
    const auto text = c["text"].get<std::string>();
    Pieces expected;
    for (const Piece& piece : parts.front) expected.ids.push_back(piece.id);
    const Pieces found = encoded(parts, text);
    expected.ids.insert(expected.ids.end(), found.ids.begin(), found.ids.end());
    for (const Piece& piece : parts.back) expected.ids.push_back(piece.id);
    EXPECT_EQ(expected.ids, c["ids"].get<std::vector<std::int32_t>>()) << text;
  }
}

json added(const std::string& content, int id) {
  return {{"id", id}, {"content", content}, {"special", true}, {"normalized", false}};
}

TEST(TokenizerJson, WordPiece) {
  for (const bool lower : {true, false}) {
    const char* name = lower ? "bert-uncased" : "bert-cased";
    json vocabulary = json::object();
    std::ifstream lines(kTokenizerFolders / name / "vocab.txt");
    int n = 0;
    for (std::string line; std::getline(lines, line);) vocabulary[line] = n++;
    const json file = {
        {"added_tokens", {added("[CLS]", vocabulary["[CLS]"]), added("[PAD]", vocabulary["[PAD]"])}},
        {"normalizer",
         {{"type", "BertNormalizer"}, {"clean_text", true}, {"handle_chinese_chars", true}, {"lowercase", lower}}},
        {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
        {"post_processor",
         {{"type", "BertProcessing"},
          {"cls", {"[CLS]", vocabulary["[CLS]"]}},
          {"sep", {"[SEP]", vocabulary["[SEP]"]}}}},
        {"model", {{"type", "WordPiece"}, {"unk_token", "[UNK]"}, {"vocab", vocabulary}}}};
    expect_reference(name, file);
    EXPECT_EQ(parse_tokenizer_json(file.dump(), "f").padding, vocabulary["[PAD]"].get<int>());
  }
}

TEST(TokenizerJson, ByteLevelPairs) {
  for (const bool roberta : {false, true}) {
    const char* name = roberta ? "roberta" : "gpt2";
    const json vocabulary = json::parse(std::ifstream(kTokenizerFolders / name / "vocab.json"));
    json merges = json::array();
    json merges_as_lists = json::array();
    std::ifstream lines(kTokenizerFolders / name / "merges.txt");
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("#version") || line.empty()) continue;
      merges.push_back(line);
      merges_as_lists.push_back({line.substr(0, line.find(' ')), line.substr(line.find(' ') + 1)});
    }
    json file = {{"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
                 {"post_processor", {{"type", "ByteLevel"}}},
                 {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}}}};
    if (roberta) {
      file["post_processor"] = {
          {"type", "TemplateProcessing"},
          {"single",
           {{{"SpecialToken", {{"id", "<s>"}}}}, {{"Sequence", {{"id", "A"}}}}, {{"SpecialToken", {{"id", "</s>"}}}}}},
          {"special_tokens", {{"<s>", {{"ids", {vocabulary["<s>"]}}}}, {"</s>", {{"ids", {vocabulary["</s>"]}}}}}}};
    }
    expect_reference(name, file);
    file["model"]["merges"] = merges_as_lists;
    // The same pattern written out, as newer files have it.
    file["pre_tokenizer"] = {
        {"type", "Sequence"},
        {"pretokenizers",
         {{{"type", "Split"},
           {"pattern", {{"Regex", R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"}}},
           {"behavior", "Isolated"},
           {"invert", false}},
          {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
    expect_reference(name, file);
  }
}

// Fields of a protobuf message: number, and bytes where it has some.
std::vector<std::pair<std::uint64_t, std::string>> fields(std::string_view message) {
  std::vector<std::pair<std::uint64_t, std::string>> out;
  std::size_t at = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(at++));
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.size()) {
    const std::uint64_t tag = varint();
    std::string bytes;
    if ((tag & 7) == 0) {
      bytes = std::to_string(varint());
    } else {
      const std::size_t size = (tag & 7) == 2 ? varint() : 4;
      bytes = std::string(message.substr(at, size));
      at += size;
    }
    out.emplace_back(tag >> 3, bytes);
  }
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) out += i + j > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * j) & 63];
  }
  return out;
}

TEST(TokenizerJson, Unigram) {
  json vocabulary = json::array();
  std::string replacements;
  int end_id = -1;
  for (const auto& [number, bytes] : fields(test::read_all(kTokenizerFolders / "t5/spiece.model"))) {
    if (number == 1) {
      std::string piece;
      float score = 0;
      for (const auto& [field, value] : fields(bytes)) {
        if (field == 1) piece = value;
        if (field == 2) std::memcpy(&score, value.data(), 4);
      }
      if (piece == "</s>") end_id = static_cast<int>(vocabulary.size());
      vocabulary.push_back({piece, score});
    }
    if (number == 3) {
      for (const auto& [field, value] : fields(bytes)) {
        if (field == 2) replacements = value;
      }
    }
  }
  ASSERT_GT(vocabulary.size(), 100U);
  ASSERT_FALSE(replacements.empty());
  json file = {{"added_tokens", {added("<pad>", 0), added("</s>", end_id)}},
               {"normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", base64(replacements)}}},
               {"pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"add_prefix_space", true}}},
               {"post_processor",
                {{"type", "TemplateProcessing"},
                 {"single", {{{"Sequence", {{"id", "A"}}}}, {{"SpecialToken", {{"id", "</s>"}}}}}},
                 {"special_tokens", {{"</s>", {{"ids", {end_id}}}}}}}},
               {"model", {{"type", "Unigram"}, {"unk_id", 2}, {"vocab", vocabulary}}}};
  expect_reference("t5", file);

  // With other models or stages the table is a stage of its own, which looks at whole graphemes. The normalised texts
  // are those of the library tokenizers 0.23.
  const std::pair<const char*, const char*> cases[] = {
      {"combining: e\u0301 n\u0303 A\u030A \u1e9b\u0323 \u0958 \ufb01 \u01c4 \u1109\u1161\u11a8 \uac01",
       "combining: \u00e9 \u00f1 \u00c5 \u1e61 \u0915\u093c fi D\u017d \u1109\u1161\u11a8 \uac01"},
      {"\u30AB\u30CA \uFF21\uFF11\u3000\U0001F1E9\U0001F1EA \u2764\uFE0F!",
       "\u30AB\u30CA A1 \U0001F1E9\U0001F1EA \u2764\uFE0F!"},
      {"\u017ft 'ſ \u212a", "st 's K"},
  };
  for (const auto& [text, normalized] : cases) {
    const json other = {{"normalizer", file["normalizer"]},
                        {"model", {{"type", "WordLevel"}, {"unk_token", "?"}, {"vocab", {{"?", 0}, {normalized, 1}}}}}};
    EXPECT_THAT(encoded(parse_tokenizer_json(other.dump(), "f"), text).ids, ElementsAre(1)) << text;
  }
  file["normalizer"]["precompiled_charsmap"] = "AAAA";
  EXPECT_THAT(input_error([&] { parse_tokenizer_json(file.dump(), "f"); }), HasSubstr("table of replacements"));
}

// Llama 2: no pre-tokenizer, spaces as a visible mark, unknown characters as bytes.
TEST(TokenizerJson, PairsWithVisibleSpaces) {
  const json file = {
      {"added_tokens", {added("<s>", 1)}},
      {"normalizer",
       {{"type", "Sequence"},
        {"normalizers",
         {{{"type", "Prepend"}, {"prepend", "\u2581"}},
          {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}}}}},
      {"pre_tokenizer", nullptr},
      {"model",
       {{"type", "BPE"},
        {"byte_fallback", true},
        {"fuse_unk", true},
        {"unk_token", "<unk>"},
        {"vocab",
         {{"<unk>", 0}, {"<s>", 1}, {"\u2581", 2}, {"a", 3}, {"b", 4}, {"\u2581a", 5}, {"<0xC3>", 6}, {"<0xA9>", 7}}},
        {"merges", {"\u2581 a"}}}}};
  const TokenizerParts parts = parse_tokenizer_json(file.dump(), "f");
  EXPECT_THAT(encoded(parts, "ab aé").texts, ElementsAre("\u2581a", "b", "\u2581a", "<0xC3>", "<0xA9>"));
  EXPECT_THAT(encoded(parts, "<s>b").ids, ElementsAre(1, 2, 4));
}

TEST(TokenizerJson, StagesThatAreNotKnownAreRefused) {
  const json good = {{"model", {{"type", "WordPiece"}, {"unk_token", "[UNK]"}, {"vocab", {{"[UNK]", 0}, {"a", 1}}}}}};
  EXPECT_NO_THROW(parse_tokenizer_json(good.dump(), "f"));
  const struct {
    const char* patch;
    const char* says;
  } cases[] = {
      {R"([])", "found [], expected a JSON object"},
      {R"({"model": {"type": "Unigram", "vocab": [], "unk_id": 0}, "pre_tokenizer": {"type": "Metaspace"}})",
       "'vocab' is empty"},
      {R"({})", "'model' is missing"},
      {R"({"model": {"type": "Odd", "vocab": {}}})", "(InputOptions::ids)"},
      {R"({"model": {"type": "Odd", "vocab": {}}})",
       "the model 'Odd' (expected WordPiece, WordLevel, BPE or Unigram) is not"},
      {R"({"model": {"type": "WordLevel", "vocab": {}}})", "no pieces"},
      {R"({"model": {"type": "WordPiece", "vocab": {"a": 0}}})", "has no piece '[UNK]'"},
      {R"({"model": {"type": "WordPiece", "vocab": {"[UNK]": -1}}})", "has the number -1"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]}})", "expected two pieces"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "a"]]}})", "'aa' is not in the vocabulary"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"], "continuing_subword_prefix": "##"}})",
       "merges 'a' and 'b', which does not begin with '##'"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1}})",
       "'dropout', which makes tokens random, is not supported"},
      {R"({"model": {"type": "Unigram", "vocab": [["a", 0]], "unk_id": 4}})", "'unk_id' is 4"},
      {R"({"model": {"type": "Unigram", "vocab": [["a", 0]], "unk_id": 0}, "pre_tokenizer": {"type": "Metaspace"},
           "normalizer": {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": "AAAA"},
           {"type": "NFC"}]}})",
       "'NFC' behind 'Precompiled' is not supported"},
      {R"({"model": {"vocab": {"[UNK]": 0}}, "added_tokens": [{"id": 1, "content": "x", "single_word": 1}]})",
       "single_word"},
      {R"({"model": {"vocab": {"[UNK]": 0}}, "post_processor": {"type": "TemplateProcessing", "single":
           [{"Sequence": {"id": "A"}}, {"Sequence": {"id": "A"}}]}})",
       "'single' with the text 2 times is not supported"},
      {R"({"model": {"vocab": {"[UNK]": 0}},
           "post_processor": {"type": "BertProcessing", "cls": ["x", 4294967301], "sep": ["x", 1]}})",
       "has the number 4294967301"},
      {R"({"normalizer": {"type": "Append"}, "model": {"vocab": {"[UNK]": 0}}})",
       "the normalizer 'Append' is not supported"},
      {R"({"pre_tokenizer": {"type": "CharDelimiterSplit", "delimiter": "ab"}, "model": {"vocab": {"[UNK]": 0}}})",
       "'delimiter' is 'ab', expected one character"},
      {R"({"pre_tokenizer": {"type": "Punctuation", "behavior": "Odd"}, "model": {"vocab": {"[UNK]": 0}}})",
       "the behavior 'Odd' is not supported"},
      {R"({"pre_tokenizer": {"type": "Metaspace", "add_prefix_space": false, "prepend_scheme": "always"},
           "model": {"vocab": {"[UNK]": 0}}})",
       "'add_prefix_space' is false, but"},
      {R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}+"}, "behavior": "Isolated"},
           "model": {"vocab": {"[UNK]": 0}}})",
       "a possessive interval such as {1,3}+ is not supported"},
      {R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(?s).+"}, "behavior": "Isolated"},
           "model": {"vocab": {"[UNK]": 0}}})",
       "a flag other than i, m and x is not supported"},
      {R"({"pre_tokenizer": {"type": "Delimiter"}, "model": {"vocab": {"[UNK]": 0}}})", "is not supported"},
      {R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"},
           "model": {"vocab": {"[UNK]": 0}}})",
       "pattern '('"},
      {R"({"post_processor": {"type": "Odd"}, "model": {"vocab": {"[UNK]": 0}}})", "the post-processor 'Odd'"},
      {R"({"added_tokens": [{"id": -1, "content": "x"}], "model": {"vocab": {"[UNK]": 0}}})", "'added_tokens'[0]"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(input_error([&] { parse_tokenizer_json(c.patch, "f"); }), HasSubstr(c.says)) << c.patch;
  }
}

TEST(TokenizerJson, SpacesInFrontOnlyAtTheBeginning) {
  const json vocabulary = {{"<s>", 0}, {"\u2581", 1}, {"a", 2}, {"\u2581a", 3}};
  json file = {{"added_tokens", {added("<s>", 0)}},
               {"pre_tokenizer", {{"type", "Metaspace"}, {"prepend_scheme", "first"}}},
               {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", {"\u2581 a"}}}}};
  EXPECT_THAT(encoded(parse_tokenizer_json(file.dump(), "f"), "a<s>a").ids, ElementsAre(3, 0, 2));
  file["pre_tokenizer"]["prepend_scheme"] = "always";
  EXPECT_THAT(encoded(parse_tokenizer_json(file.dump(), "f"), "a<s>a").ids, ElementsAre(3, 0, 3));
  file["added_tokens"][0]["lstrip"] = true;
  EXPECT_THAT(encoded(parse_tokenizer_json(file.dump(), "f"), "a <s>a").ids, ElementsAre(3, 0, 3));
}

TEST(TokenizerJson, LettersAreLoweredOneByOne) {
  const json file = {{"normalizer", {{"type", "Lowercase"}}},
                     {"model", {{"vocab", {{"[UNK]", 0}, {"\u03B1\u03C3", 1}}}}}};
  EXPECT_THAT(encoded(parse_tokenizer_json(file.dump(), "f"), "\u0391\u03A3").ids, ElementsAre(1));
}

// Unlike BERT's first tokenizer, which drops unassigned code points and sets these ideographs apart.
TEST(TokenizerJson, BertNormalizerKeepsWhatIsUnassigned) {
  const json file = {{"normalizer", {{"type", "BertNormalizer"}}},
                     {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                     {"model", {{"vocab", {{"[UNK]", 0}, {"a\u0378b", 1}, {"a\U0002B820", 2}, {"a", 3}}}}}};
  EXPECT_THAT(encoded(parse_tokenizer_json(file.dump(), "f"), "A\u0378B a\U0002B820 \u200Ea\u4E2D").ids,
              ElementsAre(1, 2, 3, 0));
}

TEST(TokenizerJson, TextsThatWouldGrowWithoutEnd) {
  json file = {
      {"normalizer", {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1000, 'a')}}},
      {"model", {{"vocab", {{"[UNK]", 0}}}}}};
  const TokenizerParts parts = parse_tokenizer_json(file.dump(), "f");
  EXPECT_THAT(input_error([&] { encoded(parts, std::string(100'000, 'a')); }), HasSubstr("multiplies it"));
  file["normalizer"]["content"] = std::string(2000, 'a');
  EXPECT_THAT(input_error([&] { parse_tokenizer_json(file.dump(), "f"); }), HasSubstr("expected at most 1024"));
}

// Words as the library tokenizers 0.23 cuts them.
TEST(TokenizerJson, ScriptsAreCutApart) {
  json file = {{"pre_tokenizer", {{"type", "UnicodeScripts"}}},
               {"model", {{"type", "WordLevel"}, {"unk_token", "?"}, {"vocab", {{"?", 0}}}}}};
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"  leading and trailing  ", {"leading and trailing  "}},
      {"\u6CE8\u610F\u3002\u30A2\u30C6\u30F3\u30FC\u3042 \uC8FC\uC758 \uFF21\uFF22\uFF11",
       {"\u6CE8\u610F", "\u3002", "\u30A2\u30C6\u30F3\u30FC\u3042 ", "\uC8FC\uC758 ", "\uFF21\uFF22", "\uFF11"}},
      {"n\u0303 \u0412\u043D! x", {"n", "\u0303 ", "\u0412\u043D", "! ", "x"}},
  };
  for (const auto& [text, words] : cases) {
    file["model"]["vocab"] = {{"?", 0}};
    for (std::size_t i = 0; i < words.size(); ++i) file["model"]["vocab"][words[i]] = i + 1;
    EXPECT_EQ(encoded(parse_tokenizer_json(file.dump(), "f"), text).texts, words);
  }
}

TEST(TokenizerJson, UnknownTokensThatAreMissingMatterOnlyWhenNeeded) {
  const json pairs = {
      {"model", {{"type", "BPE"}, {"unk_token", "?"}, {"vocab", {{"a", 0}}}, {"merges", json::array()}}}};
  EXPECT_THAT(encoded(parse_tokenizer_json(pairs.dump(), "f"), "aa").ids, ElementsAre(0, 0));
  EXPECT_THAT(input_error([&] { encoded(parse_tokenizer_json(pairs.dump(), "f"), "ab"); }),
              HasSubstr("'b' is not in the vocabulary, nor is the unknown token '?'"));
  const json unigram = {{"model", {{"type", "Unigram"}, {"vocab", json::array({json::array({"a", -1})})}}}};
  EXPECT_THAT(encoded(parse_tokenizer_json(unigram.dump(), "f"), "aa").ids, ElementsAre(0, 0));
  EXPECT_THAT(input_error([&] { encoded(parse_tokenizer_json(unigram.dump(), "f"), "ab"); }),
              HasSubstr("there is no 'unk_id'"));
}

// Every prefix of a long text is a piece: n places times n lengths.
TEST(TokenizerJson, UnigramsThatTakeTooLongEnd) {
  json vocabulary = json::array();
  for (std::size_t n = 1; n <= 3000; ++n) vocabulary.push_back({std::string(n, 'a'), -1.0});
  const json file = {{"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocabulary}}}};
  const TokenizerParts parts = parse_tokenizer_json(file.dump(), "f");
  EXPECT_THAT(input_error([&] { encoded(parts, std::string(20'000, 'a')); }), HasSubstr("too long"));
}

// Many words of one character, made of few.
TEST(TokenizerJson, ManyShortWordsAreCounted) {
  const json file = {
      {"normalizer", {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(15, '1')}}},
      {"pre_tokenizer", {{"type", "Digits"}, {"individual_digits", true}}},
      {"model", {{"vocab", {{"[UNK]", 0}}}}}};
  const TokenizerParts parts = parse_tokenizer_json(file.dump(), "f");
  EXPECT_THAT(input_error([&] { encoded(parts, std::string(200'000, 'a')); }), HasSubstr("multiplies it"));
  EXPECT_NO_THROW(encoded(parts, std::string(200'000, '1')));
}

// (a*)*b on many a's: the match would take for ever.
TEST(TokenizerJson, PatternsThatTakeForEverEnd) {
  const json file = {
      {"pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", "(a|aa)+$"}}}, {"behavior", "Isolated"}}},
      {"model", {{"vocab", {{"[UNK]", 0}}}}}};
  const TokenizerParts parts = parse_tokenizer_json(file.dump(), "f");
  EXPECT_THAT(input_error([&] { encoded(parts, std::string(60, 'a') + "b"); }), HasSubstr("too long"));
}

}  // namespace
}  // namespace rankfall
