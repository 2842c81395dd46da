#include "text/gguf_tokenizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "io/file_limits.h"
#include "io/utf8.h"
#include "text/bert_words.h"
#include "text/sentencepiece_model.h"
#include "text/wordpiece.h"

namespace rankfall {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kWordStart = "\xE2\x96\x81";  // U+2581
// What a token is: tokenizer.ggml.token_type.
constexpr std::int64_t kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4;

// How byte-level tokenizers split a text before they join bytes: tokenizer.ggml.pre. Empty: as GPT-2.
struct Splitting {
  std::string_view name, pattern;
  bool composes = false;  // NFC first
};
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr Splitting kSplittings[] = {
    {"gpt-2", ""}, {"olmo", ""}, {"llama-bpe", kLlama3}, {"llama3", kLlama3}, {"qwen2", kQwen2, true},
};

class GgufBert final : public PieceModel {
 public:
  explicit GgufBert(WordPiece pieces) : pieces_(std::move(pieces)) {}
  void encode(std::string_view text, Pieces& out) const override {
    words_.split(text, [&](std::string_view word) { pieces_.encode_word(word, out); });
  }
  std::optional<std::int32_t> find(std::string_view piece) const override { return pieces_.vocabulary().find(piece); }
  std::size_t size() const override { return pieces_.vocabulary().size(); }

 private:
  BertWords words_{BertWords::Options{}};  // lower case: the file does not say otherwise
  WordPiece pieces_;
};

// What the metadata say, checked.
class Source {
 public:
  explicit Source(const GgufFile& file) : file_(file) {
    tokens_ = list("tokens").texts();
    if (tokens_.empty()) fail("tokens", "is no list of texts");
    std::size_t n_bytes = 0;
    for (const std::string_view token : tokens_) n_bytes += token.size();
    if (n_bytes > kMaxVocabularyBytes) fail("tokens", "is too long");
    if (file.value(key("token_type"))) {
      types_ = list("token_type").integers();
      if (types_.size() != tokens_.size()) fail("token_type", "has another length than the tokens");
    }
  }

  const std::vector<std::string_view>& tokens() const { return tokens_; }
  std::int64_t type(std::size_t id) const { return types_.empty() ? kNormal : types_[id]; }

  std::vector<double> scores() const {
    std::vector<double> scores = list("scores").numbers();
    if (scores.size() != tokens_.size()) fail("scores", "has another length than the tokens");
    if (!std::ranges::all_of(scores, [](double s) { return std::isfinite(s); })) fail("scores", "is not finite");
    return scores;
  }
  std::vector<std::string_view> merges() const { return list("merges").texts(); }

  std::optional<std::string> text(std::string_view name) const {
    const GgufValue* value = file_.value(key(name));
    if (!value) return std::nullopt;
    if (const auto* text = std::get_if<std::string_view>(value)) return std::string(*text);
    fail(name, "is no text");
  }
  bool flag(std::string_view name, bool fallback) const {
    const GgufValue* value = file_.value(key(name));
    if (!value) return fallback;
    if (const auto* flag = std::get_if<bool>(value)) return *flag;
    fail(name, "is not true or false");
  }
  // A token's number; nothing if the file does not say.
  std::optional<std::size_t> id(std::string_view name) const {
    const GgufValue* value = file_.value(key(name));
    if (!value) return std::nullopt;
    const auto* number = std::get_if<std::int64_t>(value);
    if (!number || *number < 0 || static_cast<std::uint64_t>(*number) >= tokens_.size()) {
      fail(name, "is no token's number");
    }
    return static_cast<std::size_t>(*number);
  }
  std::vector<SpecialPiece> special() const {
    std::vector<SpecialPiece> out;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (type(i) == kControl || type(i) == kUserDefined) out.push_back({piece(i)});
    }
    return out;
  }
  Piece piece(std::size_t id) const { return {std::string(tokens_[id]), static_cast<std::int32_t>(id)}; }
  const std::string& where() const { return file_.where(); }
  [[noreturn]] void fail(std::string_view name, std::string_view problem) const {
    throw input_error("{}: {} {}", file_.where(), in_quotes(key(name)), problem);
  }

 private:
  static std::string key(std::string_view name) { return fmt::format("tokenizer.ggml.{}", name); }
  const GgufList& list(std::string_view name) const {
    const GgufValue* value = file_.value(key(name));
    const auto* list = value ? std::get_if<GgufList>(value) : nullptr;
    if (!list) fail(name, value ? "is no list" : "is missing: the file has no tokenizer. Give InputOptions::ids");
    return *list;
  }

  const GgufFile& file_;
  std::vector<std::string_view> tokens_;
  std::vector<std::int64_t> types_;
};

// Tokens around a text that the file asks for, or that tokenizers of its kind put there.
void add_around(const Source& source, bool begins, bool ends, std::string_view end_name, TokenizerParts& parts) {
  const auto begin = source.id("bos_token_id");
  const auto end = source.id(end_name);
  if (source.flag("add_bos_token", begins) && begin) parts.front = {source.piece(*begin)};
  if (source.flag("add_eos_token", ends) && end) parts.back = {source.piece(*end)};
  if (const auto padding = source.id("padding_token_id")) parts.padding = static_cast<std::int32_t>(*padding);
  parts.rule = "tokenizer.ggml of the file";
}

TokenizerParts sentencepiece(const Source& source, bool pairs) {
  UnigramVocabulary vocabulary;
  vocabulary.joins_pairs = pairs;
  const std::vector<double> scores = source.scores();
  bool has_bytes = false;
  for (std::size_t i = 0; i < source.tokens().size(); ++i) {
    vocabulary.pieces.emplace_back(source.tokens()[i], scores[i]);
    if (source.type(i) == kControl) vocabulary.special.push_back(static_cast<std::int32_t>(i));
    if (source.type(i) == kUnknown) vocabulary.unknown = i;
    has_bytes = has_bytes || source.tokens()[i] == "<0x00>";
  }
  if (const auto unknown = source.id("unknown_token_id")) vocabulary.unknown = *unknown;
  vocabulary.byte_fallback = has_bytes;
  vocabulary.add_prefix = source.flag("add_space_prefix", true);
  vocabulary.remove_spaces = source.flag("remove_extra_whitespaces", !pairs);
  TokenizerParts parts;
  parts.model = open_sentencepiece(sentencepiece_bytes(vocabulary), source.where(), {});
  parts.special = SpecialPieces(source.special());
  parts.kind = "SentencePiece, in the GGUF file";
  add_around(source, pairs, !pairs, "eos_token_id", parts);
  return parts;
}

// As the tokenizer.json that it stands for.
TokenizerParts byte_pairs(const Source& source) {
  const std::string name = source.text("pre").value_or("gpt-2");
  const auto* splitting = std::ranges::find(kSplittings, name, &Splitting::name);
  if (splitting == std::end(kSplittings)) {
    throw input_error(
        "{}: the tokenizer splits texts by the rule {}, which is not supported; give token ids instead "
        "(InputOptions::ids)",
        source.where(), in_quotes(name));
  }
  Json vocabulary = Json::object();
  Json added = Json::array();
  for (std::size_t i = 0; i < source.tokens().size(); ++i) {
    const std::string token(source.tokens()[i]);
    if (utf8_first_error(token) != token.size()) source.fail("tokens", fmt::format("has no UTF-8 at {}", i));
    vocabulary[token] = i;
    if (source.type(i) != kControl && source.type(i) != kUserDefined) continue;
    added.push_back({{"id", i},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", source.type(i) == kControl}});
  }
  Json merges = Json::array();
  for (const std::string_view merge : source.merges()) {
    if (utf8_first_error(merge) != merge.size()) source.fail("merges", "is not UTF-8");
    merges.push_back(merge);
  }
  Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  Json before = bytes;
  if (!splitting->pattern.empty()) {
    bytes["use_regex"] = false;
    before = {{"type", "Sequence"},
              {"pretokenizers",
               {{{"type", "Split"},
                 {"pattern", {{"Regex", splitting->pattern}}},
                 {"behavior", "Isolated"},
                 {"invert", false}},
                bytes}}};
  }
  Json json = {{"version", "1.0"},
               {"added_tokens", added},
               {"normalizer", nullptr},
               {"pre_tokenizer", before},
               {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}}}};
  if (splitting->composes) json["normalizer"] = {{"type", "NFC"}};
  TokenizerParts parts = parse_tokenizer_json(json.dump(), source.where());
  parts.kind = "byte-level BPE, in the GGUF file";
  add_around(source, name.starts_with("llama"), false, "eos_token_id", parts);
  return parts;
}

// The file marks pieces that begin a word instead of those that go on with one.
TokenizerParts word_pieces(const Source& source) {
  Vocabulary vocabulary;
  for (std::size_t i = 0; i < source.tokens().size(); ++i) {
    const std::string_view token = source.tokens()[i];
    std::string text = "##" + std::string(token);
    if (source.type(i) == kControl || source.type(i) == kUnknown) text = token;
    if (token.starts_with(kWordStart)) text = token.substr(kWordStart.size());
    vocabulary.add(text, static_cast<std::int32_t>(i));
  }
  const auto unknown = source.id("unknown_token_id");
  const std::string text = unknown ? source.piece(*unknown).text : "[UNK]";
  if (!vocabulary.find(text)) throw input_error("{}: has no piece {}", source.where(), in_quotes(text));
  TokenizerParts parts;
  parts.model = std::make_unique<GgufBert>(WordPiece(std::move(vocabulary), text));
  std::vector<SpecialPiece> special = source.special();
  for (SpecialPiece& piece : special) piece.strip_left = piece.strip_right = true;
  parts.special = SpecialPieces(std::move(special));
  parts.kind = "WordPiece, lower-cased, in the GGUF file";
  add_around(source, true, true, "seperator_token_id", parts);  // as the format spells it
  return parts;
}

}  // namespace

TokenizerParts gguf_tokenizer(const GgufFile& file) {
  const Source source(file);
  const std::string model = source.text("model").value_or("");
  if (model == "llama") return sentencepiece(source, true);
  if (model == "t5") return sentencepiece(source, false);
  if (model == "gpt2") return byte_pairs(source);
  if (model == "bert") return word_pieces(source);
  throw input_error(
      "{}: a tokenizer of the kind {}, expected llama, t5, gpt2 or bert; give token ids instead (InputOptions::ids)",
      file.where(), in_quotes(model));
}

std::optional<Piece> gguf_begin(const GgufFile& file) {
  const Source source(file);
  const auto id = source.id("bos_token_id");
  return id ? std::optional(source.piece(*id)) : std::nullopt;
}

}  // namespace rankfall
