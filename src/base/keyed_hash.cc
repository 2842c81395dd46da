#include "base/keyed_hash.h"

#include <bit>
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

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void take(std::uint64_t word) {
    v3 ^= word;
    round();
    v0 ^= word;
  }
};

}  // namespace

std::uint64_t keyed_hash(std::string_view bytes) {
  const HashKey& key = hash_key();
  SipState state{key.first ^ 0x736F6D6570736575U, key.second ^ 0x646F72616E646F6DU, key.first ^ 0x6C7967656E657261U,
                 key.second ^ 0x7465646279746573U};
  const std::size_t size = bytes.size();
  std::uint64_t word = 0;
  while (bytes.size() >= sizeof word) {
    std::memcpy(&word, bytes.data(), sizeof word);
    state.take(word);
    bytes.remove_prefix(sizeof word);
  }
  word = 0;
  if (!bytes.empty()) std::memcpy(&word, bytes.data(), bytes.size());
  state.take(word | static_cast<std::uint64_t>(size) << 56);
  state.v2 ^= 0xFF;
  for (int i = 0; i < 3; ++i) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

// The two halves of a product with an unknown odd factor: one multiplication, since rules are looked up once per
// character of text.
std::uint64_t keyed_hash(std::uint64_t value) {
  const HashKey& key = hash_key();
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(value ^ key.first) * (key.second | 1);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace rankfall
