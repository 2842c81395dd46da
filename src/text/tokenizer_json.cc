#include <utility>

#include "io/json_limits.h"
#include "io/utf8.h"
#include "text/byte_pair.h"
#include "text/json_stages.h"
#include "text/sentencepiece_model.h"
#include "text/tokenizer_parts.h"
#include "text/unicode.h"
#include "text/unsupported.h"
#include "text/vocabulary_files.h"
#include "text/word_level.h"
#include "text/wordpiece.h"
#include <rankfall/error.h>

// The file is a pipeline: normalizers and pre-tokenizers (json_stages.h), a model (words to pieces), and a
// post-processor (special tokens around).

namespace rankfall {
namespace {

using nlohmann::json;

// A pipeline with WordPiece, WordLevel or BPE at its end.
template <class Model>
class Pipeline final : public PieceModel {
 public:
  Pipeline(Normalization normalization, PreTokenization pre_tokenization, Model model)
      : normalization_(std::move(normalization)),
        pre_tokenization_(std::move(pre_tokenization)),
        model_(std::move(model)) {}

  void encode(std::string_view text, Pieces& out) const override {
    const bool first = out.ids.empty();
    std::string normalized = normalization_(std::string(text), out.budget);
    for (const std::string& word : pre_tokenization_(std::move(normalized), first, out.budget)) {
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
    model_->encode(normalization_(std::string(text), out.budget), out);
  }
  std::optional<std::int32_t> find(std::string_view piece) const override { return model_->find(piece); }
  std::size_t size() const override { return model_->size(); }

 private:
  Normalization normalization_;
  std::unique_ptr<PieceModel> model_;
};

// Rules are "a b" or, in newer files, ["a", "b"].
std::vector<BytePair::Merge> merges_of(const Config& node) {
  std::vector<BytePair::Merge> merges;
  const json& rules = node.at("merges");
  if (!rules.is_array()) node.fail("'merges' is no list");
  merges.reserve(rules.size());
  for (const json& rule : rules) {
    if (rule.is_string()) {
      const auto text = rule.get<std::string>();
      const std::size_t space = text.find(' ');
      if (space == 0 || space == text.npos || space + 1 == text.size()) {
        node.fail("rule {}: found {}, expected two pieces", merges.size() + 1, in_quotes(text));
      }
      merges.push_back({text.substr(0, space), text.substr(space + 1)});
    } else if (rule.is_array() && rule.size() == 2 && rule[0].is_string() && rule[1].is_string()) {
      merges.push_back({rule[0].get<std::string>(), rule[1].get<std::string>()});
    } else {
      node.fail("rule {}: expected two pieces", merges.size() + 1);
    }
  }
  return merges;
}

std::unique_ptr<PieceModel> make_wordpiece(const Config& node, Normalization before, PreTokenization words) {
  if (words.byte_level) fail_unsupported(node, "WordPiece behind 'ByteLevel'");
  Vocabulary vocabulary = vocabulary_of(node.at("vocab"), node.where());
  const std::string unknown = node.text("unk_token", "[UNK]");
  if (!vocabulary.find(unknown)) node.fail("has no piece {}", in_quotes(unknown));
  const auto longest = node.has("max_input_chars_per_word")
                           ? static_cast<std::size_t>(node.integer("max_input_chars_per_word", 1, 1'000))
                           : std::size_t{100};
  return std::make_unique<Pipeline<WordPiece>>(
      std::move(before), std::move(words),
      WordPiece(std::move(vocabulary), unknown, node.text("continuing_subword_prefix", "##"), longest));
}

std::unique_ptr<PieceModel> make_word_level(const Config& node, Normalization before, PreTokenization words) {
  if (words.byte_level) fail_unsupported(node, "WordLevel behind 'ByteLevel'");
  return std::make_unique<Pipeline<WordLevel>>(
      std::move(before), std::move(words),
      WordLevel(vocabulary_of(node.at("vocab"), node.where()), node.text("unk_token", "<unk>"), node.where()));
}

std::unique_ptr<PieceModel> make_byte_pair(const Config& node, Normalization before, PreTokenization words) {
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!node.text(key, "").empty()) fail_unsupported(node, "a model with '{}'", key);
  }
  BytePair::Options options;
  options.bytes_as_characters = words.byte_level;
  options.byte_fallback = node.flag("byte_fallback", false);
  options.ignore_merges = node.flag("ignore_merges", false);
  options.fuse_unknown = node.flag("fuse_unk", false);
  Vocabulary vocabulary = vocabulary_of(node.at("vocab"), node.where());
  if (node.has("unk_token")) {
    options.unknown = vocabulary.find(node.text("unk_token"));
    if (!options.unknown) node.fail("has no piece {}", in_quotes(node.text("unk_token")));
  }
  return std::make_unique<Pipeline<BytePair>>(std::move(before), std::move(words),
                                              BytePair(std::move(vocabulary), merges_of(node), options, node.where()));
}

bool puts_space_in_front(const PreTokenization& words) {
  TextBudget budget;
  return words(std::string("a"), true, budget)[0] != "a";
}

std::unique_ptr<PieceModel> make_unigram(const Config& node, Normalization before, const PreTokenization& words,
                                         std::vector<std::int32_t> special) {
  UnigramVocabulary vocabulary;
  const json& pieces = node.at("vocab");
  if (!pieces.is_array()) node.fail("'vocab' is no list");
  for (const json& piece : pieces) {
    if (!piece.is_array() || piece.size() != 2 || !piece[0].is_string() || !piece[1].is_number()) {
      node.fail("piece {}: expected a text and its score", vocabulary.pieces.size());
    }
    vocabulary.pieces.emplace_back(piece[0].get<std::string>(), piece[1].get<double>());
  }
  if (vocabulary.pieces.empty()) node.fail("'vocab' is empty");
  vocabulary.unknown =
      static_cast<std::size_t>(node.integer("unk_id", 0, static_cast<std::int64_t>(vocabulary.pieces.size()) - 1));
  vocabulary.special = std::move(special);
  vocabulary.byte_fallback = node.flag("byte_fallback", false);
  vocabulary.replacements = before.replacements;
  const std::vector<std::string> plain = {"Metaspace"};
  const std::vector<std::string> split = {"WhitespaceSplit", "Metaspace"};
  if ((words.types != plain && words.types != split) || !puts_space_in_front(words)) {
    fail_unsupported(node,
                     "Unigram without the pre-tokenizer 'Metaspace' that puts a space in front, or with another before "
                     "it than 'WhitespaceSplit',");
  }
  if (words.types == split) {
    before.steps.emplace_back([](const std::string& text, TextBudget&) {
      std::string spaced;
      for_each_code(text, [&](char32_t c, std::string_view bytes) {
        spaced += is_white_space(c) ? std::string_view(" ") : bytes;
      });
      return spaced;
    });
  }
  return std::make_unique<NormalizedModel>(std::move(before),
                                           open_sentencepiece(sentencepiece_bytes(vocabulary), node.where(), {}));
}

// ---- special tokens

struct Added {
  std::vector<SpecialPiece> tokens;
  std::vector<std::int32_t> ids;
};

Added added_tokens(const Config& root) {
  Added added;
  if (!root.has("added_tokens")) return added;
  for (const Config& token : root.list("added_tokens", kMaxTokenId)) {
    const auto id = static_cast<std::int32_t>(token.integer("id", 0, kMaxTokenId));
    if (token.flag("single_word", false)) fail_unsupported(token, "'single_word'");
    added.tokens.push_back({{token.text("content"), id}, token.flag("lstrip", false), token.flag("rstrip", false)});
    added.ids.push_back(id);
  }
  return added;
}

void add_around(const Config& node, TokenizerParts& parts) {
  const std::string type = node.text("type");
  const auto pair = [&](const char* key) {
    const json& value = node.at(key);
    if (!value.is_array() || value.size() != 2 || !value[0].is_string()) {
      node.fail("'{}' is not a token with its number", key);
    }
    return Piece{value[0].get<std::string>(), token_id(value[1], in_quotes(key), node.where())};
  };
  if (type == "Sequence") {
    for (const Config& step : node.list("processors", kMaxStages)) add_around(step, parts);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    parts.front = {pair("cls")};
    parts.back = {pair("sep")};
  } else if (type == "TemplateProcessing") {
    bool after = false;
    for (const Config& item : node.list("single", kMaxStages)) {
      if (item.has("Sequence")) {
        after = true;
        continue;
      }
      const std::string name = item.child("SpecialToken").text("id");
      for (const json& id : node.child("special_tokens").child(name).at("ids")) {
        (after ? parts.back : parts.front).push_back({name, token_id(id, in_quotes(name), node.where())});
      }
    }
  } else if (type != "ByteLevel") {
    fail_unsupported(node, "the post-processor {}", in_quotes(type));
  }
}

}  // namespace

TokenizerParts read_tokenizer_json(const std::filesystem::path& path) {
  return parse_tokenizer_json(read_text(path), path.string());
}

TokenizerParts parse_tokenizer_json(std::string_view text, const std::string& where) {
  const Config root(parse_json(text, where), where, ErrorKind::kInput);
  Normalization before;
  PreTokenization words;
  if (root.has("normalizer")) add_normalizer(root.child("normalizer"), before);
  if (root.has("pre_tokenizer")) add_pre_tokenizer(root.child("pre_tokenizer"), words);
  const Config model = root.child("model");
  Added added = added_tokens(root);
  // Older files do not name the model's type.
  const std::string type = model.has("type")              ? model.text("type")
                           : model.has("merges")          ? "BPE"
                           : model.at("vocab").is_array() ? "Unigram"
                                                          : "WordPiece";
  TokenizerParts parts;
  if (type != "Unigram" && !before.replacements.empty()) {
    fail_unsupported(root, "the normalizer 'Precompiled' with another model than 'Unigram'");
  }
  if (type == "WordPiece") {
    parts.model = make_wordpiece(model, std::move(before), std::move(words));
  } else if (type == "WordLevel") {
    parts.model = make_word_level(model, std::move(before), std::move(words));
  } else if (type == "BPE") {
    parts.model = make_byte_pair(model, std::move(before), std::move(words));
  } else if (type == "Unigram") {
    parts.model = make_unigram(model, std::move(before), words, added.ids);
  } else {
    fail_unsupported(model, "the model {} (expected WordPiece, WordLevel, BPE or Unigram)", in_quotes(type));
  }
  parts.kind = type + " of tokenizer.json";
  parts.special = SpecialPieces(std::move(added.tokens));
  if (root.has("post_processor")) add_around(root.child("post_processor"), parts);
  for (const char* name : {"[PAD]", "<pad>"}) {
    if (const auto id = parts.special.id_of(name)) parts.padding = id;
  }
  return parts;
}

}  // namespace rankfall
