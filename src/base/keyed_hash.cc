#include "base/keyed_hash.h"

#include <chrono>
#include <cstring>

#include <sys/random.h>

namespace rankfall {
namespace {

struct HashKey {
  std::uint64_t first = 0, second = 0;
};

HashKey draw_key() {
  HashKey key;
  if (::getrandom(&key, sizeof key, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof key)) {
    // Early at boot, or in a sandbox without the call: the clock is harder to guess than nothing.
    key.first = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    key.second = ~key.first * 0x9E3779B97F4A7C15U;
  }
  return key;
}

const HashKey& hash_key() {
  static const HashKey key = draw_key();
  return key;
}

// The two halves of a product with an unknown odd factor. One multiplication for eight bytes: looking up pieces decides
// how fast tokenising is.
std::uint64_t folded(std::uint64_t value, std::uint64_t factor) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(value) * (factor | 1);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <class T>
T load(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

}  // namespace

std::uint64_t keyed_hash(std::string_view bytes) {
  const HashKey& key = hash_key();
  std::uint64_t hash = key.first;
  const char* p = bytes.data();
  std::size_t n = bytes.size();
  for (; n > 8; p += 8, n -= 8) hash = folded(hash ^ load<std::uint64_t>(p), key.second);
  // The last one to eight bytes by loads that overlap; the length tells apart what they make alike.
  std::uint64_t word = 0;
  if (n >= 4) {
    word = std::uint64_t{load<std::uint32_t>(p)} << 32 | load<std::uint32_t>(p + n - 4);
  } else if (n > 0) {
    word = std::uint64_t{load<std::uint8_t>(p)} << 16 | std::uint64_t{load<std::uint8_t>(p + n / 2)} << 8 |
           load<std::uint8_t>(p + n - 1);
  }
  return folded(folded(hash ^ word, key.second) + bytes.size(), key.first);
}

std::uint64_t keyed_hash(std::uint64_t value) {
  const HashKey& key = hash_key();
  return folded(value ^ key.first, key.second);
}

}  // namespace rankfall
