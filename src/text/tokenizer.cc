#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "base/errors.h"
#include "base/parse_number.h"
#include "io/gguf.h"
#include "io/json_file.h"
#include "io/mapped_file.h"
#include "io/utf8.h"
#include "network/config.h"
#include "text/bert_words.h"
#include "text/byte_pair.h"
#include "text/gguf_tokenizer.h"
#include "text/sentencepiece_model.h"
#include "text/tokenizer_parts.h"
#include "text/unicode.h"
#include "text/unsupported.h"
#include "text/vocabulary_files.h"
#include "text/wordpiece.h"
#include <rankfall/tokenizer.h>

namespace rankfall {

struct Tokenizer::Impl {
  TokenizerParts parts;
};

namespace {

namespace fs = std::filesystem;

std::string_view strip_left(std::string_view text) {
  while (!text.empty()) {
    const Utf8Unit unit = utf8_decode(text);
    if (!unit.valid || !is_python_space(unit.code)) break;
    text.remove_prefix(unit.length);
  }
  return text;
}

class BertModel final : public PieceModel {
 public:
  BertModel(BertWords words, WordPiece pieces) : words_(words), pieces_(std::move(pieces)) {}
  void encode(std::string_view text, Pieces& out) const override {
    words_.split(text, [&](std::string_view word) { pieces_.encode_word(word, out); });
  }
  std::optional<std::int32_t> find(std::string_view piece) const override { return pieces_.vocabulary().find(piece); }
  std::size_t size() const override { return pieces_.vocabulary().size(); }

 private:
  BertWords words_;
  WordPiece pieces_;
};

class Gpt2Model final : public PieceModel {
 public:
  Gpt2Model(BytePair pairs, bool add_space) : pairs_(std::move(pairs)), add_space_(add_space) {}
  void encode(std::string_view text, Pieces& out) const override {
    const auto encode_word = [&](std::string_view word) { pairs_.encode_word(word, out); };
    if (add_space_ && out.ids.empty() && !strip_left(text).empty() && strip_left(text).size() == text.size()) {
      split_gpt2(" " + std::string(text), encode_word);
    } else {
      split_gpt2(text, encode_word);
    }
  }
  std::optional<std::int32_t> find(std::string_view piece) const override { return pairs_.vocabulary().find(piece); }
  std::size_t size() const override { return pairs_.vocabulary().size(); }

 private:
  BytePair pairs_;
  bool add_space_;
};

enum class FileKind { kWordPiece, kBytePair, kSentencePiece };

// What a family puts around a text and knows as special.
struct FamilyTokens {
  std::string_view family;
  FileKind files;
  std::array<std::string_view, 2> front;
  std::array<std::string_view, 2> back;
  std::string_view padding;
  std::array<std::string_view, 9> special;
  // The token that begins a text, where tokenizer_config.json does not name it and may switch it on or off.
  std::string_view bos = {};
  bool json_first = false;  // tokenizer.json comes before the family's own files
};

constexpr std::array<std::string_view, 9> kBertSpecial = {"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"};

constexpr std::array<std::string_view, 9> kLlamaSpecial = {"<unk>", "<s>", "</s>"};
constexpr std::array<std::string_view, 9> kGemmaSpecial = {"<pad>", "<eos>", "<bos>", "<unk>", "<mask>"};

constexpr FamilyTokens kFamilies[] = {
    {"albert", FileKind::kSentencePiece, {"[CLS]"}, {"[SEP]"}, "<pad>", {"<unk>", "[CLS]", "[SEP]", "<pad>", "[MASK]"}},
    {"bert", FileKind::kWordPiece, {"[CLS]"}, {"[SEP]"}, "[PAD]", kBertSpecial},
    {"distilbert", FileKind::kWordPiece, {"[CLS]"}, {"[SEP]"}, "[PAD]", kBertSpecial},
    {"electra", FileKind::kWordPiece, {"[CLS]"}, {"[SEP]"}, "[PAD]", kBertSpecial},
    {"gemma", FileKind::kSentencePiece, {"<bos>"}, {}, "<pad>", kGemmaSpecial, "<bos>", true},
    {"gemma2", FileKind::kSentencePiece, {"<bos>"}, {}, "<pad>", kGemmaSpecial, "<bos>", true},
    {"gemma3", FileKind::kSentencePiece, {"<bos>"}, {}, "<pad>", kGemmaSpecial, "<bos>", true},
    {"gemma3_text", FileKind::kSentencePiece, {"<bos>"}, {}, "<pad>", kGemmaSpecial, "<bos>", true},
    {"gpt2", FileKind::kBytePair, {}, {}, "", {"<|endoftext|>"}, "<|endoftext|>"},
    {"llama", FileKind::kSentencePiece, {"<s>"}, {}, "", kLlamaSpecial, "<s>"},
    {"mistral", FileKind::kSentencePiece, {"<s>"}, {}, "", kLlamaSpecial, "<s>", true},
    {"opt", FileKind::kBytePair, {"</s>"}, {}, "<pad>", {"</s>", "<pad>"}, "</s>"},
    {"phi3", FileKind::kSentencePiece, {"<s>"}, {}, "", kLlamaSpecial, "<s>", true},
    {"roberta", FileKind::kBytePair, {"<s>"}, {"</s>"}, "<pad>", {"<s>", "</s>", "<unk>", "<pad>", "<mask>"}},
    {"t5", FileKind::kSentencePiece, {}, {"</s>"}, "<pad>", {"</s>", "<unk>", "<pad>"}},
    {"xlnet",
     FileKind::kSentencePiece,
     {},
     {"<sep>", "<cls>"},
     "<pad>",
     {"<s>", "</s>", "<unk>", "<sep>", "<pad>", "<cls>", "<mask>", "<eop>", "<eod>"}},
};

const FamilyTokens* find_family(std::string_view name) {
  const auto* found = std::ranges::find(kFamilies, name, &FamilyTokens::family);
  return found == std::end(kFamilies) ? nullptr : found;
}

// tokenizer_config.json, or an empty one.
Config settings_of(const fs::path& directory) {
  const fs::path path = directory / "tokenizer_config.json";
  return {is_there(path) ? read_json_file(path) : nlohmann::json::object(), path.string(), ErrorKind::kInput};
}

std::int32_t required(const PieceModel& model, std::string_view piece, const std::string& where) {
  const auto id = model.find(piece);
  if (!id) throw input_error("{}: has no piece '{}', which every text gets", where, piece);
  return *id;
}

// `added_tokens_decoder` of tokenizer_config.json: numbers with the texts of tokens that were added to the vocabulary.
void add_more_special(const Config& settings, std::vector<SpecialPiece>& special) {
  const auto added = settings.object("added_tokens_decoder");
  if (!added) return;
  for (const std::string& number : added->keys()) {
    const std::int32_t id = parse_number<std::int32_t>(number).value_or(-1);
    if (id < 0 || id > kMaxTokenId) {
      added->fail("{} is no token's number", in_quotes(number));
    }
    const Config token = *added->object(number);
    special.push_back({{token.text("content"), id},
                       token.flag("lstrip", false),
                       token.flag("rstrip", false),
                       token.flag("single_word", false)});
  }
}

// A tokenizer of another kind under a known family would give other tokens.
void check_class(const Config& settings, std::initializer_list<std::string_view> known) {
  const std::string name = settings.text("tokenizer_class", "");
  if (name.empty() || name == "PreTrainedTokenizerFast") return;
  for (const std::string_view family : known) {
    if (name == std::string(family) + "Tokenizer" || name == std::string(family) + "TokenizerFast") return;
  }
  fail_unsupported(settings, "the 'tokenizer_class' {} for this family", in_quotes(name));
}

// Adds the family's special pieces to a model, and behind them `more`.
TokenizerParts with_special(std::unique_ptr<PieceModel> model, const FamilyTokens& family, const Config& settings,
                            const std::string& where, const std::vector<SpecialPiece>& more = {}) {
  TokenizerParts parts;
  for (const std::string_view piece : family.front) {
    if (!piece.empty()) parts.front.push_back({std::string(piece), required(*model, piece, where)});
  }
  for (const std::string_view piece : family.back) {
    if (!piece.empty()) parts.back.push_back({std::string(piece), required(*model, piece, where)});
  }
  if (!family.padding.empty()) parts.padding = model->find(family.padding);
  std::vector<SpecialPiece> special;
  for (const std::string_view piece : family.special) {
    const auto id = piece.empty() ? std::nullopt : model->find(piece);
    if (!id) continue;
    // As the original tokenizers do: byte-level ones strip before the mask only, Llama's nothing, the others all round.
    const bool mask = piece == "<mask>";
    const bool strip = family.files != FileKind::kBytePair && family.bos.empty();
    special.push_back({{std::string(piece), *id}, strip || mask, strip});
  }
  add_more_special(settings, special);
  special.insert(special.end(), more.begin(), more.end());
  parts.special = SpecialPieces(std::move(special));
  parts.model = std::move(model);
  parts.rule = fmt::format("rule of the family {}", family.family);
  return parts;
}

// A token that tokenizer_config.json or special_tokens_map.json names; empty if neither does.
std::string named_token(const fs::path& directory, const Config& settings, const char* key) {
  std::string name = settings.plain_text(key, "");
  const fs::path map = directory / "special_tokens_map.json";
  if (!name.empty() || !is_there(map)) return name;
  return Config(read_json_file(map), map.string(), ErrorKind::kInput).plain_text(key, "");
}

// Puts the tokens around a text that add_bos_token and add_eos_token of tokenizer_config.json ask for, where the file
// has one of them. `bos` and `eos` are the family's names for them, or empty.
void apply_settings(const fs::path& directory, const Config& settings, std::string_view bos, std::string_view eos,
                    TokenizerParts& parts) {
  std::string rule;
  const auto tokens = [&](const char* flag, const char* key, std::string_view fallback, std::vector<Piece>& around) {
    if (!settings.has(flag)) return;
    around.clear();
    rule += fmt::format("{}{}", rule.empty() ? "" : " and ", flag);
    if (!settings.flag(flag, false)) return;
    std::string name = named_token(directory, settings, key);
    if (name.empty()) name = fallback;
    if (name.empty()) settings.fail("'{}' is true, but no file has '{}'", flag, key);
    const auto id = parts.find(name);
    if (!id) settings.fail("'{}' is true, but the vocabulary has no piece {}", flag, in_quotes(name));
    around = {{name, *id}};
  };
  tokens("add_bos_token", "bos_token", bos, parts.front);
  tokens("add_eos_token", "eos_token", eos, parts.back);
  if (!rule.empty()) parts.rule = rule + " of tokenizer_config.json";
}

TokenizerParts open_json(const fs::path& directory) {
  TokenizerParts parts = read_tokenizer_json(directory / "tokenizer.json");
  const Config settings = settings_of(directory);
  if (parts.rule.empty()) apply_settings(directory, settings, "", "", parts);
  if (const std::string padding = named_token(directory, settings, "pad_token"); !padding.empty()) {
    if (const auto id = parts.find(padding)) parts.padding = id;
  }
  return parts;
}

TokenizerParts open_wordpiece(const fs::path& directory, const FamilyTokens& family) {
  const std::string where = (directory / "vocab.txt").string();
  const Config settings = settings_of(directory);
  check_class(settings, {"Bert", "DistilBert", "Electra"});
  if (!settings.flag("do_basic_tokenize", true)) fail_unsupported(settings, "'do_basic_tokenize' = false");
  Vocabulary vocabulary = read_vocabulary_lines(read_text(where), where);
  const std::string unknown = settings.plain_text("unk_token", "[UNK]");
  if (!vocabulary.find(unknown)) throw input_error("{}: has no piece {}", where, in_quotes(unknown));
  BertWords::Options options;
  options.lower = settings.flag("do_lower_case", true);
  options.strip_accents = settings.flag("strip_accents", options.lower);
  options.cjk = settings.flag("tokenize_chinese_chars", true);
  auto model = std::make_unique<BertModel>(BertWords(options), WordPiece(std::move(vocabulary), unknown));
  TokenizerParts parts = with_special(std::move(model), family, settings, where);
  parts.kind = fmt::format("WordPiece, {}", options.lower ? "lower-cased" : "cased");
  return parts;
}

TokenizerParts open_byte_pairs(const fs::path& directory, const FamilyTokens& family) {
  const std::string where = (directory / "vocab.json").string();
  const std::string merges_where = (directory / "merges.txt").string();
  const Config settings = settings_of(directory);
  check_class(settings, {"GPT2", "Roberta"});
  Vocabulary vocabulary = read_vocabulary_json(read_text(where), where);
  BytePair::Options options;
  options.bytes_as_characters = true;
  options.unknown = vocabulary.find(family.bos.empty() ? "<unk>" : family.bos);
  auto model = std::make_unique<Gpt2Model>(
      BytePair(std::move(vocabulary), read_merges(read_text(merges_where), merges_where), options, merges_where),
      settings.flag("add_prefix_space", false));
  TokenizerParts parts = with_special(std::move(model), family, settings, where);
  if (!family.bos.empty()) apply_settings(directory, settings, family.bos, family.bos, parts);
  parts.kind = "byte-level BPE";
  return parts;
}

// They lie behind the model's own pieces, the first one last.
std::vector<SpecialPiece> t5_sentinels(const Config& settings, std::size_t n_pieces) {
  const auto n = static_cast<std::int32_t>(settings.integer("extra_ids", 0, 10'000, 100));
  const auto size = static_cast<std::int32_t>(n_pieces);
  std::vector<SpecialPiece> sentinels;
  for (std::int32_t i = 0; i < n; ++i) {
    sentinels.push_back({{fmt::format("<extra_id_{}>", i), size + n - 1 - i}, true, true});
  }
  return sentinels;
}

TokenizerParts open_sentencepiece_file(const fs::path& path, const FamilyTokens& family) {
  const Config settings = settings_of(path.parent_path());
  const bool albert = family.family == "albert";
  const bool xlnet = family.family == "xlnet";
  SentencePieceRules rules;
  if (albert || xlnet) {
    rules.collapse_spaces = settings.flag("remove_space", true);
    rules.straight_quotes = true;
    rules.strip_accents = !settings.flag("keep_accents", false);
    rules.lower = settings.flag("do_lower_case", albert);
    rules.split_digit_commas = true;
  }
  check_class(settings, {"Albert", "XLNet", "T5", "Llama", "Gemma"});
  auto model = open_sentencepiece(read_text(path), path.string(), rules);
  const auto sentinels = family.family == "t5" ? t5_sentinels(settings, model->size()) : std::vector<SpecialPiece>();
  TokenizerParts parts = with_special(std::move(model), family, settings, path.string(), sentinels);
  parts.kind = fmt::format("SentencePiece{}", rules.lower ? ", lower-cased" : "");
  if (!family.bos.empty()) {
    apply_settings(path.parent_path(), settings, family.bos, family.bos == "<s>" ? "</s>" : "<eos>", parts);
  }
  return parts;
}

TokenizerParts open_parts(const fs::path& directory) {
  if (is_gguf_file(directory)) return gguf_tokenizer(*GgufFile::open(directory));
  const fs::path config_file = directory / "config.json";
  const fs::path fast = directory / "tokenizer.json";
  if (!is_there(config_file)) {
    throw input_error("{}: has no config.json, which names the family of its tokenizer", directory.string());
  }
  const Config config(read_json_file(config_file), config_file.string(), ErrorKind::kInput);
  const std::string name = config.text("model_type");
  const FamilyTokens* family = find_family(name);
  if (!family) {
    if (is_there(fast)) return open_json(directory);
    throw input_error(
        "{}: the family {} has no supported tokenizer; token ids from another one can be given instead "
        "(InputOptions::ids)",
        config_file.string(), in_quotes(name));
  }
  if (family->json_first && is_there(fast)) return open_json(directory);
  switch (family->files) {
    case FileKind::kWordPiece:
      if (is_there(directory / "vocab.txt")) return open_wordpiece(directory, *family);
      break;
    case FileKind::kBytePair:
      if (is_there(directory / "vocab.json") && is_there(directory / "merges.txt")) {
        return open_byte_pairs(directory, *family);
      }
      break;
    case FileKind::kSentencePiece:
      for (const char* file : {"spiece.model", "tokenizer.model"}) {
        if (!is_there(directory / file)) continue;
        try {
          return open_sentencepiece_file(directory / file, *family);
        } catch (const Error&) {
          // Newer Llamas have a file of that name which is no SentencePiece model, and tokenizer.json beside it.
          if (family->family != "llama" || !is_there(fast)) throw;
        }
      }
      break;
  }
  if (is_there(fast)) return open_json(directory);
  throw input_error("{}: has no tokenizer; expected {} for the family {}. Without one give InputOptions::ids",
                    directory.string(), tokenizer_files(name), name);
}

void choose_special(const fs::path& directory, SpecialTokens special, TokenizerParts& parts) {
  if (special == SpecialTokens::kAsStored) {
    if (parts.rule.empty()) parts.rule = "no file asks for any";
    return;
  }
  parts.front.clear();
  parts.back.clear();
  parts.rule = "as requested";
  if (special == SpecialTokens::kNone) return;
  if (is_gguf_file(directory)) {
    const auto begin = gguf_begin(*GgufFile::open(directory));
    if (!begin) throw input_error("{}: the tokenizer has no token that begins a text", directory.string());
    parts.front = {*begin};
    return;
  }
  std::string name = named_token(directory, settings_of(directory), "bos_token");
  if (name.empty()) {
    const fs::path file = directory / "config.json";
    const FamilyTokens* family =
        find_family(Config(read_json_file(file), file.string(), ErrorKind::kInput).text("model_type"));
    if (family) name = family->bos;
  }
  if (name.empty()) {
    throw input_error(
        "{}: the tokenizer has no token that begins a text (InputOptions::special_tokens); expected 'bos_token' in "
        "tokenizer_config.json or special_tokens_map.json",
        directory.string());
  }
  const auto id = parts.find(name);
  if (!id) throw input_error("{}: 'bos_token' is {}, which the vocabulary lacks", directory.string(), in_quotes(name));
  parts.front = {{name, *id}};
}

}  // namespace

std::string tokenizer_files(std::string_view family) {
  constexpr std::string_view kAny = "tokenizer.json";
  const FamilyTokens* found = find_family(family);
  if (!found) return std::string(kAny);
  const char* own = found->files == FileKind::kWordPiece  ? "vocab.txt"
                    : found->files == FileKind::kBytePair ? "vocab.json with merges.txt"
                                                          : "spiece.model or tokenizer.model";
  return fmt::format("{} or {}", own, kAny);
}

std::optional<std::int32_t> TokenizerParts::find(std::string_view piece) const {
  const auto id = special.id_of(piece);
  return id ? id : model->find(piece);
}

void encode_text(const TokenizerParts& parts, std::string_view text, Pieces& out) {
  out.budget = TextBudget(text.size());
  parts.special.cut(
      text, parts.strips, out.budget,
      [&](std::string_view part, std::size_t begin) {
        out.at_start = begin == 0;
        parts.model->encode(part, out);
      },
      [&](const SpecialPiece& found) { out.add(found.piece.id, found.piece.text); });
}

namespace {

Pieces encode_any(const TokenizerParts& parts, std::string_view text, bool with_texts) {
  Pieces out;
  out.with_texts = with_texts;
  if (utf8_first_error(text) == text.size()) {
    encode_text(parts, text, out);
  } else {
    encode_text(parts, valid_utf8(text), out);
  }
  return out;
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

std::shared_ptr<const Tokenizer> Tokenizer::open(const fs::path& directory, SpecialTokens special) {
  TokenizerParts parts = open_parts(directory);
  choose_special(directory, special, parts);
  return std::shared_ptr<const Tokenizer>(new Tokenizer(std::make_unique<Impl>(Impl{std::move(parts)})));
}

std::vector<Piece> Tokenizer::pieces(std::string_view text) const {
  Pieces found = encode_any(impl_->parts, text, true);
  std::vector<Piece> pieces(found.ids.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i] = {std::move(found.texts[i]), found.ids[i]};
  return pieces;
}

TokenIds Tokenizer::ids(std::string_view text) const { return encode_any(impl_->parts, text, false).ids; }

const std::vector<Piece>& Tokenizer::front() const { return impl_->parts.front; }
const std::vector<Piece>& Tokenizer::back() const { return impl_->parts.back; }
std::optional<std::int32_t> Tokenizer::padding() const { return impl_->parts.padding; }
const std::string& Tokenizer::kind() const { return impl_->parts.kind; }
const std::string& Tokenizer::special_rule() const { return impl_->parts.rule; }

}  // namespace rankfall
