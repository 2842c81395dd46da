#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "io/json_limits.h"
#include "io/utf8.h"
#include "text/bert_words.h"
#include "text/byte_pair.h"
#include "text/regex.h"
#include "text/sentencepiece_model.h"
#include "text/tokenizer_parts.h"
#include "text/unicode.h"
#include "text/vocabulary_files.h"
#include "text/wordpiece.h"
#include <rankfall/error.h>

// The file is a pipeline: normalizers (text to text), pre-tokenizers (text to words), a model (words to pieces), and a
// post-processor (special tokens around). Each stage is an object with a "type"; what is not known here is refused,
// since leaving it out would give other tokens.

namespace rankfall {
namespace {

using nlohmann::json;
using Normalizer = std::function<std::string(std::string)>;
using Words = std::vector<std::string>;
// `first`: the text begins where everything begins, not behind a special token.
using Splitter = std::function<void(std::string_view text, bool first, Words& out)>;

constexpr std::string_view kMetaspace = "\xE2\x96\x81";
constexpr std::size_t kMaxStages = 64;      // in all
constexpr std::size_t kMaxInserted = 1024;  // bytes that a stage may put in

// One object of the file, with the way to it for messages.
class Node {
 public:
  Node(const json& value, std::string where) : value_(value), where_(std::move(where)) {}

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::kInput, fmt::format("{}: {}", where_, problem));
  }
  bool has(const char* key) const { return value_.is_object() && value_.contains(key) && !value_.find(key)->is_null(); }
  const json& at(const char* key) const {
    if (!has(key)) fail(fmt::format("'{}' is missing", key));
    return *value_.find(key);
  }
  Node child(const char* key) const { return {at(key), fmt::format("{}: {}", where_, key)}; }
  std::vector<Node> list(const char* key) const {
    const json& items = at(key);
    if (!items.is_array() || items.size() > kMaxStages) fail(fmt::format("'{}' is no list of stages", key));
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < items.size(); ++i)
      nodes.emplace_back(items[i], fmt::format("{}: {}[{}]", where_, key, i));
    return nodes;
  }
  std::string text(const char* key) const {
    const json& value = at(key);
    if (!value.is_string()) fail(fmt::format("'{}' is no text", key));
    return value.get<std::string>();
  }
  std::string text(const char* key, const char* fallback) const { return has(key) ? text(key) : fallback; }
  bool flag(const char* key, bool fallback) const {
    if (!has(key)) return fallback;
    const json& value = at(key);
    if (!value.is_boolean()) fail(fmt::format("'{}' is neither true nor false", key));
    return value.get<bool>();
  }
  std::int64_t integer(const char* key, std::int64_t low, std::int64_t high) const {
    const json& value = at(key);
    if (!value.is_number_integer() || value.get<double>() < static_cast<double>(low) ||
        value.get<double>() > static_cast<double>(high)) {
      fail(fmt::format("'{}' is {}, expected a whole number from {} to {}", key, printable(value.dump()), low, high));
    }
    return value.get<std::int64_t>();
  }
  const json& value() const { return value_; }
  const std::string& where() const { return where_; }

 private:
  const json& value_;
  std::string where_;
};

// ---- normalizers

struct Normalization {
  std::vector<Normalizer> steps;
  std::string replacements;  // SentencePiece's own table, for Unigram

  std::string operator()(std::string text) const {
    const std::size_t limit = 64 * text.size() + (std::size_t{1} << 20);
    for (const Normalizer& step : steps) {
      text = step(std::move(text));
      if (text.size() > limit) throw Error(ErrorKind::kInput, "tokenizer.json: its normalizers blow the text up");
    }
    return text;
  }
};

std::string decode_base64(const Node& node, const std::string& text) {
  const auto value_of = [&](char c) -> std::uint32_t {
    if (c >= 'A' && c <= 'Z') return static_cast<std::uint32_t>(c - 'A');
    if (c >= 'a' && c <= 'z') return static_cast<std::uint32_t>(c - 'a') + 26;
    if (c >= '0' && c <= '9') return static_cast<std::uint32_t>(c - '0') + 52;
    if (c == '+') return 62;
    if (c == '/') return 63;
    node.fail("not base64");
  };
  std::string out;
  std::uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = (bits << 6 | value_of(c)) & 0xFFFFFF;
    n_bits += 6;
    if (n_bits >= 8) {
      n_bits -= 8;
      out += static_cast<char>(static_cast<unsigned char>(bits >> n_bits));
    }
  }
  return out;
}

// A pattern is {"String": ...} or {"Regex": ...}.
Regex pattern_of(const Node& node) {
  const Node pattern = node.child("pattern");
  if (pattern.has("Regex")) return {pattern.text("Regex"), pattern.where()};
  std::string quoted = "\\Q";  // literally, whatever it says
  for (const char c : pattern.text("String")) {
    if (c == '\\') {
      quoted += "\\E\\\\\\Q";
    } else {
      quoted += c;
    }
  }
  return {quoted + "\\E", pattern.where()};
}

std::string replaced(const Regex& pattern, const std::string& content, std::string_view text) {
  std::string out;
  std::size_t last = 0;
  for (const auto& [first, end] : pattern.find_all(text)) {
    out += text.substr(last, first - last);
    out += content;
    last = end;
  }
  out += text.substr(last);
  return out;
}

std::string stripped(std::string_view text, bool left, bool right) {
  std::size_t first = text.size();
  std::size_t end = 0;
  std::size_t at = 0;
  for_each_code(text, [&](char32_t c, std::string_view bytes) {
    if (!is_white_space(c)) {
      first = std::min(first, at);
      end = at + bytes.size();
    }
    at += bytes.size();
  });
  if (!left) first = 0;
  if (!right) end = text.size();
  return std::string(first < end ? text.substr(first, end - first) : std::string_view());
}

std::string short_text(const Node& node, const char* key) {
  std::string text = node.text(key);
  if (text.size() > kMaxInserted)
    node.fail(fmt::format("'{}' has {} bytes, expected at most {}", key, text.size(), kMaxInserted));
  return text;
}

void add_normalizer(const Node& node, Normalization& out) {
  const std::string type = node.text("type");
  if (out.steps.size() > kMaxStages) node.fail("more stages than anybody needs");
  const bool harmless_behind = type == "Replace" || type == "Strip" || type == "Sequence";
  if (!out.replacements.empty() && !harmless_behind)
    node.fail(fmt::format("{} behind 'Precompiled' is not known", in_quotes(type)));
  if (type == "Sequence") {
    for (const Node& step : node.list("normalizers")) add_normalizer(step, out);
  } else if (type == "BertNormalizer") {
    BertWords::Options options;
    options.clean = node.flag("clean_text", true);
    options.cjk = node.flag("handle_chinese_chars", true);
    options.lower = node.flag("lowercase", true);
    options.strip_accents = node.flag("strip_accents", options.lower);
    options.lower_each = true;
    out.steps.emplace_back([words = BertWords(options)](const std::string& text) { return words.normalized(text); });
  } else if (type == "Lowercase") {
    out.steps.emplace_back([](const std::string& text) { return to_lower_each(text); });
  } else if (type == "NFC") {
    out.steps.emplace_back([](const std::string& text) { return to_nfc(text); });
  } else if (type == "NFD") {
    out.steps.emplace_back([](const std::string& text) { return to_nfd(text); });
  } else if (type == "NFKC") {
    out.steps.emplace_back([](const std::string& text) { return to_nfkc(text); });
  } else if (type == "NFKD") {
    out.steps.emplace_back([](const std::string& text) { return to_nfkd(text); });
  } else if (type == "StripAccents") {
    out.steps.emplace_back([](const std::string& text) {
      std::string kept;
      for_each_code(text, [&](char32_t c, std::string_view bytes) {
        if (!is_mark(c)) kept += bytes;
      });
      return kept;
    });
  } else if (type == "Strip") {
    out.steps.emplace_back([left = node.flag("strip_left", true), right = node.flag("strip_right", true)](
                               const std::string& text) { return stripped(text, left, right); });
  } else if (type == "Prepend") {
    out.steps.emplace_back(
        [front = short_text(node, "prepend")](const std::string& text) { return text.empty() ? text : front + text; });
  } else if (type == "Replace") {
    out.steps.emplace_back([pattern = std::make_shared<Regex>(pattern_of(node)), content = short_text(node, "content")](
                               const std::string& text) { return replaced(*pattern, content, text); });
  } else if (type == "Precompiled") {
    out.replacements = decode_base64(node, node.text("precompiled_charsmap"));
  } else {
    node.fail(fmt::format("the normalizer {} is not known", in_quotes(type)));
  }
}

// ---- pre-tokenizers

// Applies a splitter to every word so far.
void refine(const Splitter& splitter, bool first, Words& words) {
  Words out;
  for (std::size_t i = 0; i < words.size(); ++i) splitter(words[i], first && i == 0, out);
  words = std::move(out);
}

// Cuts a text at the matches of a pattern. Isolated: matches are words of their own; otherwise they go.
Splitter split_at(const std::shared_ptr<const Regex>& pattern, bool isolated, bool invert) {
  return [=](std::string_view text, bool, Words& out) {
    const auto add = [&](std::size_t first, std::size_t end, bool match) {
      if (first < end && (isolated || match == invert)) out.emplace_back(text.substr(first, end - first));
    };
    std::size_t last = 0;
    for (const auto& [first, end] : pattern->find_all(text)) {
      add(last, first, false);
      add(first, end, true);
      last = end;
    }
    add(last, text.size(), false);
  };
}

struct PreTokenization {
  std::vector<Splitter> steps;
  bool byte_level = false;         // words are bytes in GPT-2's alphabet from here on
  std::vector<std::string> types;  // of the stages, in order

  Words operator()(std::string text, bool first) const {
    Words words = {std::move(text)};
    for (const Splitter& step : steps) refine(step, first, words);
    return words;
  }
};

void add_metaspace(const Node& node, PreTokenization& out) {
  if (const std::string mark = node.text("replacement", "\xE2\x96\x81"); mark != kMetaspace) {
    node.fail(fmt::format("the space {} is not known, expected U+2581", in_quotes(mark)));
  }
  const std::string scheme = node.text("prepend_scheme", node.flag("add_prefix_space", true) ? "always" : "never");
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    node.fail(fmt::format("the scheme {} is not known", in_quotes(scheme)));
  }
  const bool split = node.flag("split", true);
  out.steps.emplace_back([=](std::string_view text, bool first_word, Words& words) {
    const bool prefix = scheme == "always" || (scheme == "first" && first_word);
    std::string marked;
    for (const char c : text) {
      if (c == ' ') {
        marked += kMetaspace;
      } else {
        marked += c;
      }
    }
    if (prefix && !marked.starts_with(kMetaspace)) marked.insert(0, kMetaspace);
    if (!split) {
      words.push_back(marked);
      return;
    }
    std::size_t first = 0;
    for (std::size_t at = marked.find(kMetaspace, 1); at != marked.npos; at = marked.find(kMetaspace, at + 1)) {
      words.push_back(marked.substr(first, at - first));
      first = at;
    }
    words.push_back(marked.substr(first));
  });
}

void add_pre_tokenizer(const Node& node, PreTokenization& out) {
  const std::string type = node.text("type");
  if (type != "Sequence") {
    if (out.byte_level) node.fail(fmt::format("{} behind 'ByteLevel' is not known", in_quotes(type)));
    if (out.types.size() >= kMaxStages) node.fail("more stages than anybody needs");
    out.types.push_back(type);
  }
  const auto regex = [&](const char* pattern) { return std::make_shared<const Regex>(pattern, node.where()); };
  if (type == "Sequence") {
    for (const Node& step : node.list("pretokenizers")) add_pre_tokenizer(step, out);
  } else if (type == "BertPreTokenizer") {
    out.steps.emplace_back([words = BertWords({.clean = false, .cjk = false, .lower = false, .strip_accents = false})](
                               std::string_view text, bool, Words& found) {
      words.split(text, [&](std::string_view word) { found.emplace_back(word); });
    });
  } else if (type == "ByteLevel") {
    const bool prefix = node.flag("add_prefix_space", true);
    const bool use_regex = node.flag("use_regex", true);
    out.byte_level = true;
    out.steps.emplace_back([=](std::string_view text, bool, Words& words) {
      std::string spaced = prefix && !text.starts_with(' ') ? " " + std::string(text) : std::string(text);
      if (!use_regex) {
        words.push_back(std::move(spaced));
        return;
      }
      split_gpt2(spaced, [&](std::string_view word) { words.emplace_back(word); });
    });
  } else if (type == "Metaspace") {
    add_metaspace(node, out);
  } else if (type == "Whitespace") {
    out.steps.push_back(split_at(regex("\\w+|[^\\w\\s]+"), false, true));
  } else if (type == "WhitespaceSplit") {
    out.steps.push_back(split_at(regex("\\s+"), false, false));
  } else if (type == "Digits") {
    out.steps.push_back(split_at(regex(node.flag("individual_digits", false) ? "\\p{N}" : "\\p{N}+"), true, false));
  } else if (type == "Punctuation") {
    if (const std::string behavior = node.text("behavior", "Isolated"); behavior != "Isolated") {
      node.fail(fmt::format("the behavior {} is not known", in_quotes(behavior)));
    }
    out.steps.push_back(split_at(regex("[!-/:-@\\[-`{-~\\p{P}]"), true, false));
  } else if (type == "Split") {
    const std::string behavior = node.text("behavior");
    if (behavior != "Isolated" && behavior != "Removed") {
      node.fail(fmt::format("the behavior {} is not known", in_quotes(behavior)));
    }
    out.steps.push_back(
        split_at(std::make_shared<const Regex>(pattern_of(node)), behavior == "Isolated", node.flag("invert", false)));
  } else {
    node.fail(fmt::format("the pre-tokenizer {} is not known", in_quotes(type)));
  }
}

// ---- models

// A pipeline with WordPiece or BPE at its end.
template <class Model>
class Pipeline final : public PieceModel {
 public:
  Pipeline(Normalization normalization, PreTokenization pre_tokenization, Model model)
      : normalization_(std::move(normalization)),
        pre_tokenization_(std::move(pre_tokenization)),
        model_(std::move(model)) {}

  void encode(std::string_view text, Pieces& out) const override {
    const bool first = out.ids.empty();
    for (const std::string& word : pre_tokenization_(normalization_(std::string(text)), first)) {
      model_.encode_word(word, out);
    }
  }
  std::optional<std::int32_t> find(std::string_view piece) const override { return model_.vocabulary().find(piece); }
  std::size_t size() const override { return model_.vocabulary().size(); }

 private:
  Normalization normalization_;
  PreTokenization pre_tokenization_;
  Model model_;
};

// SentencePiece's own model after the normalizers it does not have itself.
class NormalizedModel final : public PieceModel {
 public:
  NormalizedModel(Normalization normalization, std::unique_ptr<PieceModel> model)
      : normalization_(std::move(normalization)), model_(std::move(model)) {}

  void encode(std::string_view text, Pieces& out) const override {
    model_->encode(normalization_(std::string(text)), out);
  }
  std::optional<std::int32_t> find(std::string_view piece) const override { return model_->find(piece); }
  std::size_t size() const override { return model_->size(); }

 private:
  Normalization normalization_;
  std::unique_ptr<PieceModel> model_;
};

Vocabulary vocabulary_of(const Node& node) {
  const json& pieces = node.at("vocab");
  if (!pieces.is_object()) node.fail("'vocab' is no object");
  Vocabulary vocabulary;
  for (const auto& [piece, id] : pieces.items()) {
    if (!id.is_number_integer() || id.get<double>() < 0 || id.get<double>() > kMaxTokenId) {
      node.fail(fmt::format("piece {} has the number {}", in_quotes(piece), printable(id.dump())));
    }
    vocabulary.add(piece, id.get<std::int32_t>());
  }
  return vocabulary;
}

// Rules are "a b" or, in newer files, ["a", "b"].
std::vector<BytePair::Merge> merges_of(const Node& node) {
  std::vector<BytePair::Merge> merges;
  const json& rules = node.at("merges");
  if (!rules.is_array()) node.fail("'merges' is no list");
  merges.reserve(rules.size());
  for (const json& rule : rules) {
    if (rule.is_string()) {
      const auto text = rule.get<std::string>();
      const std::size_t space = text.find(' ');
      if (space == 0 || space == text.npos || space + 1 == text.size()) {
        node.fail(fmt::format("rule {}: found {}, expected two pieces", merges.size() + 1, in_quotes(text)));
      }
      merges.push_back({text.substr(0, space), text.substr(space + 1)});
    } else if (rule.is_array() && rule.size() == 2 && rule[0].is_string() && rule[1].is_string()) {
      merges.push_back({rule[0].get<std::string>(), rule[1].get<std::string>()});
    } else {
      node.fail(fmt::format("rule {}: expected two pieces", merges.size() + 1));
    }
  }
  return merges;
}

std::unique_ptr<PieceModel> make_wordpiece(const Node& node, Normalization before, PreTokenization words) {
  if (words.byte_level) node.fail("WordPiece behind 'ByteLevel' is not known");
  Vocabulary vocabulary = vocabulary_of(node);
  const std::string unknown = node.text("unk_token", "[UNK]");
  if (!vocabulary.find(unknown)) node.fail(fmt::format("has no piece {}", in_quotes(unknown)));
  const auto longest = node.has("max_input_chars_per_word")
                           ? static_cast<std::size_t>(node.integer("max_input_chars_per_word", 1, 1'000))
                           : std::size_t{100};
  return std::make_unique<Pipeline<WordPiece>>(
      std::move(before), std::move(words),
      WordPiece(std::move(vocabulary), unknown, node.text("continuing_subword_prefix", "##"), longest));
}

std::unique_ptr<PieceModel> make_byte_pair(const Node& node, Normalization before, PreTokenization words) {
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!node.text(key, "").empty()) node.fail(fmt::format("'{}' is set, which is not known", key));
  }
  BytePair::Options options;
  options.bytes_as_characters = words.byte_level;
  options.byte_fallback = node.flag("byte_fallback", false);
  options.ignore_merges = node.flag("ignore_merges", false);
  options.fuse_unknown = node.flag("fuse_unk", false);
  Vocabulary vocabulary = vocabulary_of(node);
  if (node.has("unk_token")) {
    options.unknown = vocabulary.find(node.text("unk_token"));
    if (!options.unknown) node.fail(fmt::format("has no piece {}", in_quotes(node.text("unk_token"))));
  }
  return std::make_unique<Pipeline<BytePair>>(std::move(before), std::move(words),
                                              BytePair(std::move(vocabulary), merges_of(node), options, node.where()));
}

std::unique_ptr<PieceModel> make_unigram(const Node& node, Normalization before, const PreTokenization& words,
                                         std::vector<std::int32_t> special) {
  UnigramVocabulary vocabulary;
  const json& pieces = node.at("vocab");
  if (!pieces.is_array()) node.fail("'vocab' is no list");
  for (const json& piece : pieces) {
    if (!piece.is_array() || piece.size() != 2 || !piece[0].is_string() || !piece[1].is_number()) {
      node.fail(fmt::format("piece {}: expected a text and its score", vocabulary.pieces.size()));
    }
    vocabulary.pieces.emplace_back(piece[0].get<std::string>(), piece[1].get<double>());
  }
  vocabulary.unknown =
      static_cast<std::size_t>(node.integer("unk_id", 0, static_cast<std::int64_t>(vocabulary.pieces.size()) - 1));
  vocabulary.special = std::move(special);
  vocabulary.byte_fallback = node.flag("byte_fallback", false);
  vocabulary.replacements = before.replacements;
  const std::vector<std::string> plain = {"Metaspace"};
  const std::vector<std::string> split = {"WhitespaceSplit", "Metaspace"};
  if ((words.types != plain && words.types != split) || words(std::string("a"), true)[0] == "a") {
    node.fail(
        "Unigram is known with the pre-tokenizer 'Metaspace' that puts a space in front, and 'WhitespaceSplit' before "
        "it");
  }
  if (words.types == split) {
    before.steps.emplace_back([](const std::string& text) {
      std::string spaced;
      for_each_code(text, [&](char32_t c, std::string_view bytes) {
        if (is_white_space(c)) {
          spaced += ' ';
        } else {
          spaced += bytes;
        }
      });
      return spaced;
    });
  }
  return std::make_unique<NormalizedModel>(std::move(before),
                                           open_sentencepiece(sentencepiece_bytes(vocabulary), node.where(), {}));
}

// ---- special tokens

struct Added {
  SpecialPieces tokens;
  std::vector<std::int32_t> ids;
};

Added added_tokens(const Node& root) {
  Added added;
  if (!root.has("added_tokens")) return added;
  const json& tokens = root.at("added_tokens");
  if (!tokens.is_array()) root.fail("'added_tokens' is no list");
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Node token(tokens[i], fmt::format("{}: added_tokens[{}]", root.where(), i));
    const auto id = static_cast<std::int32_t>(token.integer("id", 0, kMaxTokenId));
    if (token.flag("single_word", false)) token.fail("'single_word' is true, which is not known");
    added.tokens.add({{token.text("content"), id}, token.flag("lstrip", false), token.flag("rstrip", false)});
    added.ids.push_back(id);
  }
  return added;
}

// A token's number, as post-processors have it.
std::int32_t checked_id(const Node& node, const json& id) {
  if (!id.is_number_integer() || id.get<double>() < 0 || id.get<double>() > kMaxTokenId) {
    node.fail(fmt::format("{} is no token's number", printable(id.dump())));
  }
  return id.get<std::int32_t>();
}

void add_around(const Node& node, TokenizerParts& parts) {
  const std::string type = node.text("type");
  const auto pair = [&](const char* key) {
    const json& value = node.at(key);
    if (!value.is_array() || value.size() != 2 || !value[0].is_string()) {
      node.fail(fmt::format("'{}' is not a token with its number", key));
    }
    return Piece{value[0].get<std::string>(), checked_id(node, value[1])};
  };
  if (type == "Sequence") {
    for (const Node& step : node.list("processors")) add_around(step, parts);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    parts.front = {pair("cls")};
    parts.back = {pair("sep")};
  } else if (type == "TemplateProcessing") {
    bool after = false;
    for (const Node& item : node.list("single")) {
      if (item.has("Sequence")) {
        after = true;
        continue;
      }
      const std::string name = item.child("SpecialToken").text("id");
      const json& tokens = node.at("special_tokens");
      const auto found = tokens.is_object() ? tokens.find(name) : tokens.end();
      if (!tokens.is_object() || found == tokens.end()) node.fail(fmt::format("no special token {}", in_quotes(name)));
      const Node token(*found, node.where());
      for (const json& id : token.at("ids")) {
        (after ? parts.back : parts.front).push_back({name, checked_id(node, id)});
      }
    }
  } else if (type != "ByteLevel") {
    node.fail(fmt::format("the post-processor {} is not known", in_quotes(type)));
  }
}

}  // namespace

TokenizerParts read_tokenizer_json(const std::filesystem::path& path) {
  return parse_tokenizer_json(read_text(path), path.string());
}

TokenizerParts parse_tokenizer_json(std::string_view text, const std::string& where) {
  const json file = parse_json(text, where);
  const Node root(file, where);
  if (!file.is_object()) root.fail(fmt::format("found a {}, expected an object", file.type_name()));
  Normalization before;
  PreTokenization words;
  if (root.has("normalizer")) add_normalizer(root.child("normalizer"), before);
  if (root.has("pre_tokenizer")) add_pre_tokenizer(root.child("pre_tokenizer"), words);
  const Node model = root.child("model");
  const Added added = added_tokens(root);
  // Older files do not name the model's type.
  const std::string type = model.has("type")              ? model.text("type")
                           : model.has("merges")          ? "BPE"
                           : model.at("vocab").is_array() ? "Unigram"
                                                          : "WordPiece";
  TokenizerParts parts;
  if (type != "Unigram" && !before.replacements.empty()) {
    root.fail("the normalizer 'Precompiled' is known with the model 'Unigram' only");
  }
  if (type == "WordPiece") {
    parts.model = make_wordpiece(model, std::move(before), std::move(words));
  } else if (type == "BPE") {
    parts.model = make_byte_pair(model, std::move(before), std::move(words));
  } else if (type == "Unigram") {
    parts.model = make_unigram(model, std::move(before), words, added.ids);
  } else {
    model.fail(fmt::format("the model {} is not known, expected WordPiece, BPE or Unigram", in_quotes(type)));
  }
  parts.kind = type + " of tokenizer.json";
  parts.special = added.tokens;
  if (root.has("post_processor")) add_around(root.child("post_processor"), parts);
  for (const char* name : {"[PAD]", "<pad>"}) {
    if (const auto id = parts.special.id_of(name)) parts.padding = id;
  }
  return parts;
}

}  // namespace rankfall
