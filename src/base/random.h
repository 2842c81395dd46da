#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <rankfall/index.h>

// Counter-based random numbers. A tensor's element depends on its seed, its name and its index, and on nothing else:
// not on the order of calls, the number of threads, how a range is cut into calls, the compiler, its flags or the CPU.
//
// The bits are Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011). Block b is Philox of the counter (b mod 2^32, b /
// 2^32, 0, 0) and gives four 32-bit words; word i of a stream is word i mod 4 of block i / 4. A word k stands for the
// uniform number u = (k + 1/2) 2^-32, which is never 0 or 1. Values are computed in double by correctly rounded
// operations only
// (+ - * / sqrt) and rounded to float once, at the end.
//
// Everywhere `first` >= 0 is the index in the tensor of the span's first element. Thread-safe: no state.

namespace rankfall {

struct RandomKey {
  std::uint64_t value = 0;

  bool operator==(const RandomKey&) const = default;
};

// mix(h(name) + mix(seed + c)) mod 2^64: h is FNV-1a with 64 bits, mix the bijective finaliser of splitmix64, c its
// constant 0x9e3779b97f4a7c15. For one name two seeds never give the same key; nor do two names of different h for one
// seed.
RandomKey random_key(std::uint64_t seed, std::string_view name);

// The words themselves.
void fill_bits(RandomKey key, Index first, std::span<std::uint32_t> out);

// N(0, stddev^2) by Box-Muller: of words 2i and 2i + 1, with u and v, come
//   element 2i = stddev sqrt(-2 log u) cos(2 pi v),  element 2i + 1 = stddev sqrt(-2 log u) sin(2 pi v).
// |element| <= 6.7637 stddev, since u >= 2^-33; the normal law has 1.3e-11 of its mass beyond.
void fill_normal(RandomKey key, Index first, std::span<float> out, double stddev);

// N(0, stddev^2) given that |element| <= 2 stddev, as torch's trunc_normal_(a = -2 std, b = 2 std): the quantile
// stddev sqrt(2) erfinv((2 u - 1) erf(sqrt 2)), one word an element. Its variance is 0.77374 stddev^2.
void fill_truncated_normal(RandomKey key, Index first, std::span<float> out, double stddev);

// half_width (2 u - 1), one word an element.
void fill_uniform(RandomKey key, Index first, std::span<float> out, double half_width);

// Uniform on 0 .. bound - 1: floor(bound w / 2^64), w of words 2i (high) and 2i + 1 (low). Requires bound >= 1. No
// value's probability is off by more than 2^-64.
void fill_integers(RandomKey key, Index first, std::span<std::int32_t> out, std::int32_t bound);

}  // namespace rankfall
