#include <utility>

#include "io/json_limits.h"
#include "io/utf8.h"
#include "text/byte_pair.h"
#include "text/json_stages.h"
#include "text/sentencepiece_model.h"
#include "text/tokenizer_parts.h"
#include "text/unicode.h"
#include "text/unigram.h"
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
  // `special` are recognised in normalised text.
  Pipeline(Normalization normalization, PreTokenization pre_tokenization, Model model, SpecialPieces special)
      : normalization_(std::move(normalization)),
        pre_tokenization_(std::move(pre_tokenization)),
        model_(std::move(model)),
        special_(std::move(special)) {}

  void encode(std::string_view text, Pieces& out) const override {
    const bool at_start = out.at_start;
    const std::string normalized = normalization_(std::string(text), out.budget);
    special_.cut(
        normalized, is_white_space, out.budget,
        [&](std::string_view part, std::size_t begin) {
          for (const Word& word : pre_tokenization_(std::string(part), at_start && begin == 0, out.budget)) {
            model_.encode_word(word.text, out);
          }
        },
        [&](const SpecialPiece& found) { out.add(found.piece.id, found.piece.text); });
  }
  std::optional<std::int32_t> find(std::string_view piece) const override { return model_.vocabulary().find(piece); }
  std::size_t size() const override { return model_.vocabulary().size(); }

 private:
  Normalization normalization_;
  PreTokenization pre_tokenization_;
  Model model_;
  SpecialPieces special_;
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

struct AddedToken {
  SpecialPiece piece;
  bool normalized = false;  // recognised in normalised text, and normalised itself
};

// A file before its post-processor.
struct Stages {
  Normalization before;
  PreTokenization words;
  std::vector<AddedToken> added;
};

// A token that the vocabulary has keeps the number that it has there.
template <class Find>
void renumber(std::vector<AddedToken>& added, const Find& find) {
  for (AddedToken& token : added) token.piece.piece.id = find(token.piece.piece.text).value_or(token.piece.piece.id);
}

SpecialPieces normalized_tokens(const Stages& stages) {
  std::size_t n_bytes = 0;
  for (const AddedToken& token : stages.added) n_bytes += token.piece.piece.text.size();
  TextBudget budget(n_bytes);  // of all together
  std::vector<SpecialPiece> pieces;
  n_bytes = 0;
  for (const AddedToken& token : stages.added) {
    if (!token.normalized) continue;
    SpecialPiece& piece = pieces.emplace_back(token.piece);
    piece.piece.text = stages.before(std::move(piece.piece.text), budget);
    budget.hold(n_bytes += piece.piece.text.size());
  }
  return SpecialPieces(std::move(pieces));
}

template <class Model>
std::unique_ptr<PieceModel> make_pipeline(Stages stages, Model model, TokenizerParts& parts) {
  renumber(stages.added, [&](std::string_view piece) { return model.vocabulary().find(piece); });
  std::vector<SpecialPiece> plain;
  for (const AddedToken& token : stages.added) {
    if (!token.normalized) plain.push_back(token.piece);
  }
  parts.special = SpecialPieces(std::move(plain));
  SpecialPieces normalized = normalized_tokens(stages);
  return std::make_unique<Pipeline<Model>>(std::move(stages.before), std::move(stages.words), std::move(model),
                                           std::move(normalized));
}

std::unique_ptr<PieceModel> make_wordpiece(const Config& node, Stages stages, TokenizerParts& parts) {
  stages.words.spell_bytes();
  Vocabulary vocabulary = vocabulary_of(node.at("vocab"), node.where());
  const std::string unknown = node.text("unk_token", "[UNK]");
  if (!vocabulary.find(unknown)) node.fail("has no piece {}", in_quotes(unknown));
  const auto longest = node.has("max_input_chars_per_word")
                           ? static_cast<std::size_t>(node.integer("max_input_chars_per_word", 1, 1'000))
                           : std::size_t{100};
  return make_pipeline(std::move(stages),
                       WordPiece(std::move(vocabulary), unknown, node.text("continuing_subword_prefix", "##"), longest),
                       parts);
}

std::unique_ptr<PieceModel> make_word_level(const Config& node, Stages stages, TokenizerParts& parts) {
  stages.words.spell_bytes();
  return make_pipeline(
      std::move(stages),
      WordLevel(vocabulary_of(node.at("vocab"), node.where()), node.text("unk_token", "<unk>"), node.where()), parts);
}

std::unique_ptr<PieceModel> make_byte_pair(const Config& node, Stages stages, TokenizerParts& parts) {
  if (node.number("dropout", -1e300, 1e300, 0) != 0) {
    fail_unsupported(node, "'dropout', which makes tokens random,");
  }
  BytePair::Options options;
  options.continuing = node.text("continuing_subword_prefix", "");
  options.ending = node.text("end_of_word_suffix", "");
  options.byte_fallback = node.flag("byte_fallback", false);
  options.ignore_merges = node.flag("ignore_merges", false);
  options.fuse_unknown = node.flag("fuse_unk", false);
  // Bytes need not be spelled out where a symbol is one of them.
  if (!options.continuing.empty() || !options.ending.empty() || options.byte_fallback) stages.words.spell_bytes();
  options.bytes_as_characters = stages.words.byte_level;
  Vocabulary vocabulary = vocabulary_of(node.at("vocab"), node.where());
  if (node.has("unk_token")) {
    options.unknown = vocabulary.find(node.text("unk_token"));
    if (!options.unknown) options.missing_unknown = node.text("unk_token");
  }
  return make_pipeline(std::move(stages), BytePair(std::move(vocabulary), merges_of(node), options, node.where()),
                       parts);
}

using ScoredPieces = std::vector<std::pair<std::string, double>>;

ScoredPieces scored_pieces(const Config& node) {
  ScoredPieces scored;
  const json& pieces = node.at("vocab");
  if (!pieces.is_array()) node.fail("'vocab' is no list");
  for (const json& piece : pieces) {
    if (!piece.is_array() || piece.size() != 2 || !piece[0].is_string() || !piece[1].is_number()) {
      node.fail("piece {}: expected a text and its score", scored.size());
    }
    scored.emplace_back(piece[0].get<std::string>(), piece[1].get<double>());
  }
  if (scored.empty()) node.fail("'vocab' is empty");
  if (scored.size() > static_cast<std::size_t>(kMaxTokenId)) node.fail("'vocab' has {} pieces", scored.size());
  return scored;
}

// Stages that the SentencePiece library has inside: 'Metaspace' with a space in front, and 'WhitespaceSplit' before it.
bool is_like_sentencepiece(const PreTokenization& words) {
  const std::vector<std::string> plain = {"Metaspace"};
  const std::vector<std::string> split = {"WhitespaceSplit", "Metaspace"};
  if (words.types != plain && words.types != split) return false;
  TextBudget budget;
  return words(std::string("a"), true, budget)[0].text ==
         "\xE2\x96\x81"
         "a";
}

std::unique_ptr<PieceModel> make_unigram(const Config& node, Stages stages, TokenizerParts& parts) {
  ScoredPieces pieces = scored_pieces(node);
  const auto last = static_cast<std::int64_t>(pieces.size()) - 1;
  if (!stages.before.for_sentencepiece) {
    stages.words.spell_bytes();
    Unigram::Options options;
    if (node.has("unk_id")) options.unknown = static_cast<std::int32_t>(node.integer("unk_id", 0, last));
    options.byte_fallback = node.flag("byte_fallback", false);
    return make_pipeline(std::move(stages), Unigram(pieces, options, node.where()), parts);
  }
  UnigramVocabulary vocabulary;
  vocabulary.pieces = std::move(pieces);
  vocabulary.unknown = static_cast<std::size_t>(node.integer("unk_id", 0, last));
  std::vector<SpecialPiece> special;
  for (const AddedToken& token : stages.added) {
    vocabulary.special.push_back(token.piece.piece.id);
    special.push_back(token.piece);
  }
  parts.special = SpecialPieces(std::move(special));
  vocabulary.byte_fallback = node.flag("byte_fallback", false);
  vocabulary.replacements = stages.before.replacements;
  if (stages.words.types[0] == "WhitespaceSplit") {
    stages.before.steps.emplace_back([](const std::string& text, TextBudget&) {
      std::string spaced;
      for_each_code(text, [&](char32_t c, std::string_view bytes) {
        spaced += is_white_space(c) ? std::string_view(" ") : bytes;
      });
      return spaced;
    });
  }
  return std::make_unique<NormalizedModel>(std::move(stages.before),
                                           open_sentencepiece(sentencepiece_bytes(vocabulary), node.where(), {}));
}

// ---- special tokens

std::vector<AddedToken> added_tokens(const Config& root) {
  std::vector<AddedToken> added;
  if (!root.has("added_tokens")) return added;
  for (const Config& token : root.list("added_tokens", kMaxTokenId)) {
    const auto id = static_cast<std::int32_t>(token.integer("id", 0, kMaxTokenId));
    added.push_back({.piece = {.piece = {token.text("content"), id},
                               .strip_left = token.flag("lstrip", false),
                               .strip_right = token.flag("rstrip", false),
                               .single_word = token.flag("single_word", false)},
                     .normalized = token.flag("normalized", !token.flag("special", false))});
  }
  return added;
}

// What a post-processor puts around a text. The processors of a sequence work one after another: later ones add
// outside.
struct Around {
  std::vector<Piece> front, back;
  bool decides = false;  // it has a word on special tokens: ByteLevel has none
};

void add_outside(std::vector<Piece> front, std::vector<Piece> back, Around& around) {
  front.insert(front.end(), around.front.begin(), around.front.end());
  around.front = std::move(front);
  around.back.insert(around.back.end(), back.begin(), back.end());
  around.decides = true;
}

void add_template(const Config& node, Around& around) {
  std::vector<Piece> front;
  std::vector<Piece> back;
  int n_texts = 0;
  for (const Config& item : node.list("single", kMaxStages)) {
    if (item.has("Sequence")) {
      ++n_texts;
      continue;
    }
    const std::string name = item.child("SpecialToken").text("id");
    for (const json& id : node.child("special_tokens").child(name).at("ids")) {
      (n_texts > 0 ? back : front).push_back({name, token_id(id, in_quotes(name), node.where())});
    }
  }
  if (n_texts != 1) fail_unsupported(node, "'single' with the text {} times", n_texts);
  add_outside(std::move(front), std::move(back), around);
}

void add_around(const Config& node, Around& around) {
  const std::string type = node.text("type");
  const auto pair = [&](const char* key) {
    const json& value = node.at(key);
    if (!value.is_array() || value.size() != 2 || !value[0].is_string()) {
      node.fail("'{}' is not a token with its number", key);
    }
    return Piece{value[0].get<std::string>(), token_id(value[1], in_quotes(key), node.where())};
  };
  if (type == "Sequence") {
    for (const Config& step : node.list("processors", kMaxStages)) add_around(step, around);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    add_outside({pair("cls")}, {pair("sep")}, around);
  } else if (type == "TemplateProcessing") {
    add_template(node, around);
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
  const Config model = root.child("model");
  // Older files do not name the model's type.
  const std::string type = model.has("type")              ? model.text("type")
                           : model.has("merges")          ? "BPE"
                           : model.at("vocab").is_array() ? "Unigram"
                                                          : "WordPiece";
  Stages stages;
  if (root.has("pre_tokenizer")) add_pre_tokenizer(root.child("pre_tokenizer"), stages.words);
  stages.before.for_sentencepiece = type == "Unigram" && is_like_sentencepiece(stages.words);
  if (root.has("normalizer")) add_normalizer(root.child("normalizer"), stages.before);
  stages.added = added_tokens(root);
  TokenizerParts parts;
  if (type == "WordPiece") {
    parts.model = make_wordpiece(model, std::move(stages), parts);
  } else if (type == "WordLevel") {
    parts.model = make_word_level(model, std::move(stages), parts);
  } else if (type == "BPE") {
    parts.model = make_byte_pair(model, std::move(stages), parts);
  } else if (type == "Unigram") {
    parts.model = make_unigram(model, std::move(stages), parts);
  } else {
    fail_unsupported(model, "the model {} (expected WordPiece, WordLevel, BPE or Unigram)", in_quotes(type));
  }
  parts.kind = type + " of tokenizer.json";
  parts.strips = is_white_space;
  if (root.has("post_processor")) {
    Around around;
    add_around(root.child("post_processor"), around);
    parts.front = std::move(around.front);
    parts.back = std::move(around.back);
    if (around.decides) parts.rule = std::string(kPostProcessorRule);
  }
  for (const char* name : {"[PAD]", "<pad>"}) {
    if (const auto id = parts.special.id_of(name)) parts.padding = id;
  }
  return parts;
}

}  // namespace rankfall
