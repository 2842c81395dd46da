#include "text/sentencepiece_model.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <set>
#include <utility>

#include <sentencepiece_processor.h>

#include "base/errors.h"
#include "text/sentencepiece_check.h"
#include "text/unicode.h"

namespace rankfall {
namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581, the library's space
constexpr std::uint64_t kWorkPerByteBefore = 64;     // accents, case and spaces
constexpr std::size_t kHeldPerByte = 4;  // of normalised text: the library keeps an origin and a piece for each

class SentencePieceModel final : public PieceModel {
 public:
  SentencePieceModel(std::string_view bytes, std::string_view where, const SentencePieceRules& rules)
      : model_(checked_sentencepiece(bytes, where)), rules_(rules) {
    const auto status = guarded([&] { return processor_.LoadFromSerializedProto(model_.bytes); }, where);
    std::string().swap(model_.bytes);
    if (!status.ok()) throw input_error("{}: SentencePiece cannot read it: {}", where, status.message());
  }

  void encode(std::string_view text, Pieces& out) const override {
    out.budget.work(kWorkPerByteBefore * text.size());
    const std::string prepared = prepare(text);
    spend(prepared, out.budget);
    if (!rules_.split_digit_commas && !out.with_texts) {
      add_ids(prepared, out);
      return;
    }
    const std::vector<std::string> pieces = pieces_of(prepared);
    for (const std::string& piece : rules_.split_digit_commas ? without_digit_commas(pieces) : pieces) {
      out.add(id_of(piece), piece);
    }
  }

  std::optional<std::int32_t> find(std::string_view piece) const override {
    const int id = id_of(piece);
    return id == processor_.unk_id() && processor_.IdToPiece(id) != piece ? std::nullopt : std::optional(id);
  }

  std::size_t size() const override { return model_.n_pieces; }

 private:
  // The library and what it stands on throw now and then.
  template <class Call>
  static sentencepiece::util::Status guarded(const Call& call, std::string_view where) {
    try {
      return call();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      throw input_error("{}: SentencePiece fails: {}", where, error.what());
    }
  }

  static void check(const sentencepiece::util::Status& status) {
    if (!status.ok()) throw input_error("SentencePiece: {}", status.message());
  }

  // The library cannot be stopped while it works: what it may need is compared with the budget before.
  void spend(std::string_view prepared, TextBudget& budget) const {
    const std::size_t n_bytes = model_.replacements.grown(prepared);
    budget.hold(kHeldPerByte * n_bytes);
    budget.work(n_bytes * std::max<std::size_t>(64, model_.longest_piece));
    // It joins unknown characters by itself, in the square of their number.
    if (!model_.unknown_as_bytes) budget.work(n_bytes / 8 * (n_bytes / 8));
  }

  bool stands_for_byte(int id) const { return static_cast<std::size_t>(id) >= model_.n_pieces; }

  int id_of(std::string_view piece) const {
    const int id = processor_.PieceToId({piece.data(), piece.size()});
    return stands_for_byte(id) ? processor_.unk_id() : id;
  }

  void add_ids(const std::string& prepared, Pieces& out) const {
    std::vector<int> ids;
    check(guarded([&] { return processor_.Encode(prepared, &ids); }, "text"));
    bool joins = false;
    for (const int id : ids) {
      const bool unknown = stands_for_byte(id);
      if (!unknown || !joins) out.ids.push_back(unknown ? processor_.unk_id() : id);
      joins = unknown;
    }
  }

  // Neighbouring unknown characters are one piece.
  std::vector<std::string> pieces_of(const std::string& prepared) const {
    std::vector<std::string> found;
    check(guarded([&] { return processor_.Encode(prepared, &found); }, "text"));
    if (!model_.unknown_as_bytes) return found;
    std::vector<std::string> pieces;
    bool joins = false;
    for (std::string& piece : found) {
      // No piece of the file has such a name.
      const int id = piece.size() == 6 && piece.starts_with("<0x") ? processor_.PieceToId(piece) : 0;
      const bool unknown = stands_for_byte(id);
      if (!unknown) {
        pieces.push_back(std::move(piece));
      } else {
        if (!joins) pieces.emplace_back();
        pieces.back() += static_cast<char>(static_cast<unsigned char>(static_cast<std::size_t>(id) - model_.n_pieces));
      }
      joins = unknown;
    }
    return pieces;
  }

  std::string prepare(std::string_view text) const {
    std::string out(text);
    if (rules_.collapse_spaces) out = collapsed(out);
    if (rules_.straight_quotes) {
      replace_all(out, "``", "\"");
      replace_all(out, "''", "\"");
    }
    if (rules_.strip_accents) out = without(to_nfkd(out), is_combining);
    return rules_.lower ? to_lower(out) : out;
  }

  static std::string collapsed(std::string_view text) {
    std::string out;
    bool pending = false;
    for_each_code(text, [&](char32_t c, std::string_view bytes) {
      if (is_python_space(c)) {
        pending = !out.empty();
        return;
      }
      if (pending) out += ' ';
      pending = false;
      out += bytes;
    });
    return out;
  }

  static void replace_all(std::string& text, std::string_view from, std::string_view to) {
    std::size_t at = text.find(from);
    if (at == std::string::npos) return;
    std::string out;  // in one pass: replacing in place would move the rest each time
    std::size_t last = 0;
    for (; at != std::string::npos; at = text.find(from, last)) {
      out.append(text, last, at - last);
      out += to;
      last = at + from.size();
    }
    out.append(text, last);
    text = std::move(out);
  }

  // ALBERT and XLNet: "▁9," is cut into the pieces of "9" and ",".
  std::vector<std::string> without_digit_commas(const std::vector<std::string>& pieces) const {
    std::vector<std::string> out;
    for (const std::string& piece : pieces) {
      if (!ends_with_digit_comma(piece)) {
        out.push_back(piece);
        continue;
      }
      std::string number = piece.substr(0, piece.size() - 1);
      replace_all(number, kSpace, "");
      std::vector<std::string> parts = pieces_of(number);
      if (!piece.starts_with(kSpace) && !parts.empty() && parts[0].starts_with(kSpace)) {
        parts[0].erase(0, kSpace.size());
        if (parts[0].empty()) parts.erase(parts.begin());
      }
      out.insert(out.end(), parts.begin(), parts.end());
      out.emplace_back(",");
    }
    return out;
  }

  static bool ends_with_digit_comma(const std::string& piece) {
    if (piece.size() < 2 || piece.back() != ',') return false;
    char32_t last = 0;
    for_each_code(std::string_view(piece).substr(0, piece.size() - 1), [&](char32_t c, std::string_view) { last = c; });
    return is_digit(last);
  }

  CheckedSentencePiece model_;
  sentencepiece::SentencePieceProcessor processor_;
  SentencePieceRules rules_;
};

// Writing protobuf: the few fields that are needed.
void put_varint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(static_cast<unsigned char>(value | 0x80));
  out += static_cast<char>(static_cast<unsigned char>(value));
}
void put_number(std::uint32_t field, std::uint64_t value, std::string& out) {
  put_varint(std::uint64_t{field} << 3, out);
  put_varint(value, out);
}
void put_bytes(std::uint32_t field, std::string_view bytes, std::string& out) {
  put_varint(std::uint64_t{field} << 3 | 2, out);
  put_varint(bytes.size(), out);
  out += bytes;
}
void put_float(std::uint32_t field, float value, std::string& out) {
  put_varint(std::uint64_t{field} << 3 | 5, out);
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

}  // namespace

std::unique_ptr<PieceModel> open_sentencepiece(std::string_view bytes, std::string_view where,
                                               const SentencePieceRules& rules) {
  return std::make_unique<SentencePieceModel>(bytes, where, rules);
}

std::string sentencepiece_bytes(const UnigramVocabulary& vocabulary) {
  constexpr std::uint64_t kNormal = 1;
  constexpr std::uint64_t kUnknown = 2;
  constexpr std::uint64_t kControl = 3;
  constexpr std::uint64_t kByte = 6;
  const std::set<std::int32_t> special(vocabulary.special.begin(), vocabulary.special.end());
  std::string model;
  for (std::size_t i = 0; i < vocabulary.pieces.size(); ++i) {
    const auto& [text, score] = vocabulary.pieces[i];
    const bool is_byte = vocabulary.byte_fallback && text.size() == 6 && text.starts_with("<0x") && text.ends_with('>');
    std::string piece;
    put_bytes(1, text, piece);
    put_float(2, static_cast<float>(score), piece);
    put_number(3,
               i == vocabulary.unknown                          ? kUnknown
               : special.contains(static_cast<std::int32_t>(i)) ? kControl
               : is_byte                                        ? kByte
                                                                : kNormal,
               piece);
    put_bytes(1, piece, model);
  }
  std::string trainer;  // TrainerSpec: model_type = 3 (1: unigram, 2: pairs), byte_fallback = 35, ids of special pieces
                        // = 40..43
  put_number(3, vocabulary.joins_pairs ? 2 : 1, trainer);
  put_number(35, vocabulary.byte_fallback ? 1 : 0, trainer);
  put_number(40, vocabulary.unknown, trainer);
  for (const std::uint32_t field : {41U, 42U, 43U}) put_number(field, static_cast<std::uint64_t>(-1), trainer);
  put_bytes(2, trainer, model);
  std::string normalizer;  // name = 1, precompiled_charsmap = 2, add_dummy_prefix = 3, remove_extra_whitespaces = 4
  put_bytes(1, vocabulary.replacements.empty() ? "identity" : "user_defined", normalizer);
  put_bytes(2, vocabulary.replacements, normalizer);
  put_number(3, vocabulary.add_prefix ? 1 : 0, normalizer);
  put_number(4, vocabulary.remove_spaces ? 1 : 0, normalizer);
  put_bytes(3, normalizer, model);
  return model;
}

}  // namespace rankfall
