#include "text/sentencepiece_model.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include "text/sentencepiece_check.h"
#include "text/unicode.h"
#include <rankfall/error.h>

namespace rankfall {
namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581, the library's space

class SentencePieceModel final : public PieceModel {
 public:
  SentencePieceModel(std::string_view bytes, std::string_view where, const SentencePieceRules& rules) : rules_(rules) {
    const std::string model = checked_sentencepiece(bytes, where);
    const auto status = guarded([&] { return processor_.LoadFromSerializedProto(model); }, where);
    if (!status.ok()) {
      throw Error(ErrorKind::kInput, fmt::format("{}: SentencePiece cannot read it: {}", where, status.message()));
    }
  }

  void encode(std::string_view text, Pieces& out) const override {
    const std::string prepared = prepare(text);
    std::vector<std::string> pieces;
    if (!rules_.split_digit_commas && !out.with_texts) {
      std::vector<int> ids;
      check(guarded([&] { return processor_.Encode(prepared, &ids); }, "text"));
      out.ids.insert(out.ids.end(), ids.begin(), ids.end());
      return;
    }
    check(guarded([&] { return processor_.Encode(prepared, &pieces); }, "text"));
    for (const std::string& piece : rules_.split_digit_commas ? without_digit_commas(pieces) : pieces) {
      out.add(processor_.PieceToId(piece), piece);
    }
  }

  std::optional<std::int32_t> find(std::string_view piece) const override {
    const int id = processor_.PieceToId({piece.data(), piece.size()});
    return id == processor_.unk_id() && processor_.IdToPiece(id) != piece ? std::nullopt : std::optional(id);
  }

  std::size_t size() const override { return static_cast<std::size_t>(processor_.GetPieceSize()); }

 private:
  // The library and what it stands on throw now and then.
  template <class Call>
  static sentencepiece::util::Status guarded(const Call& call, std::string_view where) {
    try {
      return call();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      throw Error(ErrorKind::kInput, fmt::format("{}: SentencePiece fails: {}", where, error.what()));
    }
  }

  static void check(const sentencepiece::util::Status& status) {
    if (!status.ok()) throw Error(ErrorKind::kInput, fmt::format("SentencePiece: {}", status.message()));
  }

  std::string prepare(std::string_view text) const {
    std::string out(text);
    if (rules_.collapse_spaces) out = collapsed(out);
    if (rules_.straight_quotes) {
      replace_all(out, "``", "\"");
      replace_all(out, "''", "\"");
    }
    if (rules_.strip_accents) {
      std::string kept;
      for_each_code(to_nfkd(out), [&](char32_t c, std::string_view bytes) {
        if (!is_combining(c)) kept += bytes;
      });
      out = std::move(kept);
    }
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
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
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
      std::vector<std::string> parts;
      check(processor_.Encode(number, &parts));
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
  std::string trainer;  // TrainerSpec: model_type = 3 (1: unigram), byte_fallback = 35, ids of special pieces = 40..43
  put_number(3, 1, trainer);
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
