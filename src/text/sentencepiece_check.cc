#include "text/sentencepiece_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "io/utf8.h"
#include <rankfall/error.h>

namespace rankfall {
namespace {

constexpr std::size_t kMaxPieces = 1 << 20;
constexpr std::size_t kMaxPieceBytes = 1024;

// One field of a protobuf message. Varints and fixed32 are in `number`, lengths of bytes in `bytes`.
struct Field {
  std::uint32_t number_in_message = 0;
  std::uint64_t number = 0;
  std::string_view bytes;
  std::string_view whole;  // with its tag
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
    const std::string_view before = bytes_;
    const std::uint64_t tag = varint();
    if (tag >> 3 == 0 || tag >> 32 != 0) fail("a field without a number");
    field = {static_cast<std::uint32_t>(tag >> 3), 0, {}, {}};
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
    field.whole = before.substr(0, before.size() - bytes_.size());
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
struct Seen {
  std::set<std::string_view> pieces, user_defined;
  std::size_t n_unknown = 0;
};

void check_piece(std::string_view bytes, std::string_view where, std::size_t index, Seen& seen) {
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
  if (piece.find('\0') != piece.npos) message.fail(fmt::format("piece {} holds a NUL", index));
  if (utf8_first_error(piece) != piece.size()) message.fail(fmt::format("piece {} is not UTF-8", index));
  if (!seen.pieces.insert(piece).second)
    message.fail(fmt::format("piece {} {} is there twice", index, in_quotes(piece)));
  if (type < 1 || type > 6) message.fail(fmt::format("piece {} has the unknown type {}", index, type));
  if (type == 2) ++seen.n_unknown;
  if (type == 4) seen.user_defined.insert(piece);
}

// The replacements: a 32-bit size, a double array of that many bytes (Darts-clone), and texts each ended by NUL. The
// library follows its links without looking, into arrays of 32 results: all ways are walked here first.
class Replacements {
 public:
  Replacements(std::string_view table, const Message& message) : message_(message) {
    std::uint32_t size = 0;
    if (table.size() < sizeof size || table.size() > kMaxTableBytes) fail("is of an impossible size");
    std::memcpy(&size, table.data(), sizeof size);
    table.remove_prefix(sizeof size);
    if (size > table.size() || size == 0 || size % 1024 != 0) {
      fail(fmt::format("has {} bytes, of which {} should be links", table.size(), size));
    }
    units_.resize(size / 4);
    std::memcpy(units_.data(), table.data(), size);
    texts_ = table.substr(size);
    if (texts_.empty() || texts_.back() != '\0') fail("does not end with NUL");
    if ((units_[0] >> 31) != 0) fail("begins with a leaf");
    leaves_below_.assign(units_.size(), kUnknown);
    visit(offset(units_[0]), 0);
  }

 private:
  static constexpr std::size_t kMaxTableBytes = 4 << 20;
  static constexpr std::size_t kMaxText = 256;
  static constexpr int kMaxDepth = 64;   // real ones: 10
  static constexpr int kMaxLeaves = 30;  // on one way; the library has room for 32
  static constexpr std::int8_t kUnknown = -1;
  static constexpr std::int8_t kOpen = -2;

  [[noreturn]] void fail(const std::string& problem) const { message_.fail("its table of replacements " + problem); }
  static std::uint32_t offset(std::uint32_t unit) { return (unit >> 10) << ((unit & (1U << 9)) >> 6); }

  // The most leaves on a way from here on. `base` is where steps start: a step by c goes to base ^ c.
  int visit(std::uint32_t base, int depth) {
    if ((base | 0xFFU) >= units_.size()) fail("has a link that leads outside");
    if (depth > kMaxDepth) fail("is too deep");
    std::int8_t& known = leaves_below_[base];
    if (known == kOpen) fail("leads in a circle");
    if (known != kUnknown) return known;
    known = kOpen;
    int most = 0;
    for (std::uint32_t c = 0; c < 256; ++c) {
      const std::uint32_t at = base ^ c;
      const std::uint32_t unit = units_[at];
      if ((unit & 0x800000FFU) != c) continue;  // another way's
      const std::uint32_t next = at ^ offset(unit);
      const bool has_leaf = (unit & (1U << 8)) != 0;
      if (has_leaf) check_leaf(next);
      most = std::max(most, visit(next, depth + 1) + (has_leaf ? 1 : 0));
    }
    if (most > kMaxLeaves) fail("has too many replacements on one way");
    leaves_below_[base] = static_cast<std::int8_t>(most);
    return most;
  }

  void check_leaf(std::uint32_t at) const {
    if (at >= units_.size() || (units_[at] >> 31) == 0) fail("has a leaf that is none");
    const std::size_t place = units_[at] & 0x7FFFFFFFU;
    if (place >= texts_.size()) fail("has a replacement that lies outside");
    if (texts_.substr(place).find('\0') > kMaxText) fail("has a replacement that is too long");
  }

  const Message& message_;
  std::vector<std::uint32_t> units_;
  std::string_view texts_;
  std::vector<std::int8_t> leaves_below_;
};

// The library keeps at most 64 matches of user-defined pieces at one place.
void check_nesting(const std::set<std::string_view>& defined, const Message& message) {
  constexpr int kMaxNested = 32;
  for (const std::string_view piece : defined) {
    int nested = 0;
    for (std::size_t n = 1; n <= piece.size(); ++n) nested += defined.contains(piece.substr(0, n)) ? 1 : 0;
    if (nested > kMaxNested) message.fail("too many user-defined pieces begin with each other");
  }
}

}  // namespace

std::string checked_sentencepiece(std::string_view bytes, std::string_view where) {
  Message message(bytes, where);
  if (bytes.size() > kMaxSentencePieceBytes) {
    message.fail(fmt::format("{} bytes, expected at most {}", bytes.size(), kMaxSentencePieceBytes));
  }
  Seen seen;
  std::size_t n_pieces = 0;
  Field field;
  std::string kept;
  while (message.next(field)) {
    if (field.number_in_message != 4) kept += field.whole;  // not self_test_data: the library prints it
    if (field.number_in_message == 1) {
      if (++n_pieces > kMaxPieces) message.fail("too many pieces");
      check_piece(field.bytes, where, n_pieces - 1, seen);
    }
    // NormalizerSpec, for text (3) and back (5): precompiled_charsmap = 2
    if (field.number_in_message == 3 || field.number_in_message == 5) {
      Message normalizer(field.bytes, where);
      Field inner;
      while (normalizer.next(inner)) {
        if (inner.number_in_message == 2 && !inner.bytes.empty()) Replacements(inner.bytes, message);
      }
    }
  }
  if (n_pieces == 0) message.fail("it has no pieces");
  if (seen.n_unknown != 1) message.fail(fmt::format("it has {} unknown pieces, expected one", seen.n_unknown));
  check_nesting(seen.user_defined, message);
  return kept;
}

}  // namespace rankfall
