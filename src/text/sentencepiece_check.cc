#include "text/sentencepiece_check.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>

#include <fmt/format.h>

#include "io/utf8.h"
#include <rankfall/error.h>

namespace rankfall {
namespace {

constexpr std::size_t kMaxPieces = 1 << 22;
constexpr std::size_t kMaxPieceBytes = 1 << 16;

// One field of a protobuf message. Varints and fixed32 are in `number`, lengths of bytes in `bytes`.
struct Field {
  std::uint32_t number_in_message = 0;
  std::uint64_t number = 0;
  std::string_view bytes;
};

class Message {
 public:
  Message(std::string_view bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::kInput, fmt::format("{}: not a sound SentencePiece model: {}", where_, problem));
  }

  // False at the end.
  bool next(Field& field) {
    if (bytes_.empty()) return false;
    const std::uint64_t tag = varint();
    if (tag >> 3 == 0 || tag >> 32 != 0) fail("a field without a number");
    field = {static_cast<std::uint32_t>(tag >> 3), 0, {}};
    switch (tag & 7) {
      case 0:
        field.number = varint();
        break;
      case 1:
        take(8);
        break;
      case 2: {
        const std::uint64_t size = varint();
        if (size > bytes_.size()) fail(fmt::format("a field of {} bytes where {} are left", size, bytes_.size()));
        field.bytes = take(static_cast<std::size_t>(size));
        break;
      }
      case 5: {
        std::uint32_t bits = 0;
        std::memcpy(&bits, take(4).data(), 4);
        field.number = bits;
        break;
      }
      default:
        fail("a field of an unknown kind");
    }
    return true;
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    fail("a number of more than 64 bits");
  }

  std::string_view take(std::size_t n) {
    if (n > bytes_.size()) fail("it ends in the middle of a field");
    const std::string_view taken = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return taken;
  }

  std::string_view bytes_;
  std::string_view where_;
};

// ModelProto.SentencePiece: piece = 1, score = 2, type = 3 (1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused,
// 6 byte).
void check_piece(std::string_view bytes, std::string_view where, std::size_t index, std::set<std::string_view>& seen,
                 std::size_t& n_unknown) {
  Message message(bytes, where);
  Field field;
  std::string_view piece;
  std::uint64_t type = 1;
  while (message.next(field)) {
    if (field.number_in_message == 1) piece = field.bytes;
    if (field.number_in_message == 2) {
      float score = 0;
      const auto bits = static_cast<std::uint32_t>(field.number);
      std::memcpy(&score, &bits, sizeof score);
      if (!std::isfinite(score)) message.fail(fmt::format("piece {} has the score {}", index, score));
    }
    if (field.number_in_message == 3) type = field.number;
  }
  if (piece.empty() || piece.size() > kMaxPieceBytes) {
    message.fail(fmt::format("piece {} has {} bytes", index, piece.size()));
  }
  if (utf8_first_error(piece) != piece.size()) message.fail(fmt::format("piece {} is not UTF-8", index));
  if (!seen.insert(piece).second) message.fail(fmt::format("piece {} {} is there twice", index, in_quotes(piece)));
  if (type < 1 || type > 6) message.fail(fmt::format("piece {} has the unknown type {}", index, type));
  if (type == 2) ++n_unknown;
}

// The replacements: a 32-bit size, a double array of that many bytes (Darts-clone), and texts each ended by NUL.
void check_replacements(std::string_view table, const Message& message) {
  if (table.empty()) return;
  std::uint32_t size = 0;
  if (table.size() < sizeof size) message.fail("its table of replacements is cut off");
  std::memcpy(&size, table.data(), sizeof size);
  table.remove_prefix(sizeof size);
  if (size > table.size() || size == 0 || size % 1024 != 0) {
    message.fail(
        fmt::format("its table of replacements has {} bytes, of which {} should be links", table.size(), size));
  }
  const std::string_view links = table.substr(0, size);
  const std::string_view texts = table.substr(size);
  if (texts.empty() || texts.back() != '\0') message.fail("its replacements do not end with NUL");
  const std::uint32_t n_units = size / 4;
  for (std::uint32_t i = 0; i < n_units; ++i) {
    std::uint32_t unit = 0;
    std::memcpy(&unit, links.data() + std::size_t{i} * 4, 4);
    if ((unit >> 31) != 0) {  // a leaf: place of a text
      if ((unit & 0x7FFFFFFF) >= texts.size()) message.fail("a replacement lies outside its table");
      continue;
    }
    // A step goes to i ^ offset ^ byte: all 256 of them must exist.
    const std::uint32_t offset = (unit >> 10) << ((unit & (1U << 9)) >> 6);
    if (((i ^ offset) | 0xFF) >= n_units) message.fail("a link of its replacements leads outside");
  }
}

}  // namespace

void check_sentencepiece(std::string_view bytes, std::string_view where) {
  Message message(bytes, where);
  if (bytes.size() > kMaxSentencePieceBytes) {
    message.fail(fmt::format("{} bytes, expected at most {}", bytes.size(), kMaxSentencePieceBytes));
  }
  std::set<std::string_view> seen;
  std::size_t n_pieces = 0;
  std::size_t n_unknown = 0;
  Field field;
  while (message.next(field)) {
    if (field.number_in_message == 1) {
      if (++n_pieces > kMaxPieces) message.fail("too many pieces");
      check_piece(field.bytes, where, n_pieces - 1, seen, n_unknown);
    }
    if (field.number_in_message == 3) {  // NormalizerSpec: precompiled_charsmap = 2
      Message normalizer(field.bytes, where);
      Field inner;
      while (normalizer.next(inner)) {
        if (inner.number_in_message == 2) check_replacements(inner.bytes, message);
      }
    }
  }
  if (n_pieces == 0) message.fail("it has no pieces");
  if (n_unknown != 1) message.fail(fmt::format("it has {} unknown pieces, expected one", n_unknown));
}

}  // namespace rankfall
