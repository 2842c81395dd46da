#include "text/sentencepiece_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/errors.h"
#include "io/utf8.h"

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

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    const std::string problem = fmt::format(format, std::forward<Args>(args)...);
    throw input_error("{}: not a sound SentencePiece model: {}", where_, problem);
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
        if (size > bytes_.size()) fail("a field of {} bytes where {} are left", size, bytes_.size());
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
  bool byte_fallback = false;
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
      if (!std::isfinite(score)) message.fail("piece {} has the score {}", index, score);
    }
    if (field.number_in_message == 3) type = field.number;
  }
  if (piece.empty() || piece.size() > kMaxPieceBytes) {
    message.fail("piece {} has {} bytes", index, piece.size());
  }
  if (piece.find('\0') != piece.npos) message.fail("piece {} holds a NUL", index);
  if (utf8_first_error(piece) != piece.size()) message.fail("piece {} is not UTF-8", index);
  if (!seen.pieces.insert(piece).second) message.fail("piece {} {} is there twice", index, in_quotes(piece));
  if (type < 1 || type > 6) message.fail("piece {} has the unknown type {}", index, type);
  if (type == 2) ++seen.n_unknown;
  if (type == 4) seen.user_defined.insert(piece);
}

// The library finds pieces by std::hash, whose values anybody can compute: a file in which very many share a bucket
// would keep it busy for minutes. The buckets it will have are those of any table that grew to the same size.
void check_spread(const std::set<std::string_view>& pieces, const Message& message) {
  constexpr std::uint32_t kMaxInBucket = 1'000;  // by chance: about ten
  std::vector<std::size_t> hashes;
  std::unordered_set<std::size_t> table;
  const auto check = [&](std::size_t n_buckets) {
    std::vector<std::uint32_t> counts(n_buckets, 0);
    for (const std::size_t hash : hashes) {
      if (++counts[hash % n_buckets] > kMaxInBucket) message.fail("its pieces are made to collide");
    }
  };
  for (const std::string_view piece : pieces) {
    const std::size_t n_buckets = table.bucket_count();
    table.insert(hashes.size());
    if (table.bucket_count() != n_buckets) check(n_buckets);
    hashes.push_back(std::hash<std::string_view>{}(piece));
  }
  check(table.bucket_count());
}

// The library keeps at most 64 matches of user-defined pieces at one place.
void check_nesting(const std::set<std::string_view>& defined, const Message& message) {
  constexpr int kMaxNested = 32;
  for (const std::string_view piece : defined) {
    int nested = 0;
    for (std::size_t n = 1; n <= piece.size(); ++n) nested += defined.contains(piece.substr(0, n)) ? 1 : 0;
    if (nested > kMaxNested) message.fail("too many user-defined pieces begin with each other");
  }
}

// The last field of that number in a message, as protobuf reads it.
std::optional<Field> field_of(std::string_view bytes, std::uint32_t number, std::string_view where) {
  Message message(bytes, where);
  Field field;
  std::optional<Field> found;
  while (message.next(field)) {
    if (field.number_in_message == number) found = field;
  }
  return found;
}

bool names_a_byte(const std::set<std::string_view>& pieces) {
  return std::ranges::any_of(pieces,
                             [](std::string_view piece) { return piece.size() == 6 && piece.starts_with("<0x"); });
}

// Behind the model's own pieces, those that stand for bytes, and the setting that makes the library use them. Fields of
// a protobuf message that come twice are merged.
void append_byte_pieces(std::string& model) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::string name = fmt::format("<0x{:02X}>", byte);
    model += "\x0A\x0A\x0A\x06" + name + "\x18\x06";  // pieces: { piece: name, type: BYTE }
  }
  model += "\x12\x03\x98\x02\x01";  // trainer_spec: { byte_fallback: true }
}

}  // namespace

CheckedSentencePiece checked_sentencepiece(std::string_view bytes, std::string_view where) {
  Message message(bytes, where);
  if (bytes.size() > kMaxSentencePieceBytes) {
    message.fail("{} bytes, expected at most {}", bytes.size(), kMaxSentencePieceBytes);
  }
  CheckedSentencePiece checked;
  Seen seen;
  Field field;
  while (message.next(field)) {
    if (field.number_in_message != 4) checked.bytes += field.whole;  // not self_test_data: the library prints it
    if (field.number_in_message == 1) {
      if (++checked.n_pieces > kMaxPieces) message.fail("too many pieces");
      check_piece(field.bytes, where, checked.n_pieces - 1, seen);
    }
    if (field.number_in_message == 2) {  // TrainerSpec: byte_fallback = 35
      if (const auto value = field_of(field.bytes, 35, where)) seen.byte_fallback = value->number != 0;
    }
    // NormalizerSpec, for text (3) and back (5): precompiled_charsmap = 2
    if (field.number_in_message == 3 || field.number_in_message == 5) {
      const auto table = field_of(field.bytes, 2, where);
      if (!table || table->bytes.empty()) continue;
      ReplacementTable replacements(table->bytes, [&](const std::string& problem) { message.fail("{}", problem); });
      if (field.number_in_message == 3) checked.replacements = std::move(replacements);
    }
  }
  if (checked.n_pieces == 0) message.fail("it has no pieces");
  if (seen.n_unknown != 1) message.fail("it has {} unknown pieces, expected one", seen.n_unknown);
  check_nesting(seen.user_defined, message);
  check_spread(seen.pieces, message);
  for (const std::string_view piece : seen.pieces)
    checked.longest_piece = std::max(checked.longest_piece, piece.size());
  if (!seen.byte_fallback && !names_a_byte(seen.pieces)) {
    append_byte_pieces(checked.bytes);
    checked.unknown_as_bytes = true;
  }
  return checked;
}

}  // namespace rankfall
