#include "base/random.h"

#include <algorithm>
#include <bit>
#include <cmath>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <Random123/philox.h>

#include "base/dcheck.h"

// This file is compiled with -O3 -ffp-contract=off -fno-math-errno (CMakeLists.txt): the loops below are written for
// the compiler's vectoriser, and a fused multiply-add would change values from one CPU to another.
//
// Work goes by batches of kBlocks Philox blocks, small enough that all arrays stay in the first-level cache. In a
// batch, words[w][b] is word w of block b, so that every loop runs over b with unit stride.

namespace rankfall {
namespace {

constexpr Index kBlocks = 128;

struct Batch {
  alignas(64) std::uint64_t words[4][kBlocks];  // below 2^32 each: 64-bit lanes, because doubles are made of them
};

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

#ifdef __AVX2__
// Four blocks at once, a 32-bit word in each 64-bit lane; what is left in the lanes' upper halves is ignored by the
// product. A round takes (x0, x1, x2, x3) to (hi(m1 x2) ^ x1 ^ k0, lo(m1 x2), hi(m0 x0) ^ x3 ^ k1, lo(m0 x0)); then the
// keys k step. g++ 12 finds no such code for plain loops (measured: three times slower).
void philox(std::uint64_t key, std::uint64_t first_block, Batch& batch) {
  const auto lanes = [](std::uint64_t x) { return _mm256_set1_epi64x(static_cast<long long>(x)); };
  const __m256i m0 = lanes(0xd2511f53u), m1 = lanes(0xcd9e8d57u);
  for (Index b = 0; b < kBlocks; b += 4) {
    __m256i x0 = _mm256_add_epi64(lanes(first_block + static_cast<std::uint64_t>(b)), _mm256_set_epi64x(3, 2, 1, 0));
    __m256i x1 = _mm256_srli_epi64(x0, 32), x2 = lanes(0), x3 = lanes(0);
    auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      const __m256i p0 = _mm256_mul_epu32(m0, x0), p1 = _mm256_mul_epu32(m1, x2);
      x0 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), x1), lanes(k0));
      x2 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), x3), lanes(k1));
      x1 = p1;
      x3 = p0;
      k0 += 0x9e3779b9u;
      k1 += 0xbb67ae85u;
    }
    const __m256i words[4] = {x0, x1, x2, x3};
    for (int w = 0; w < 4; ++w) {
      const __m256i low = _mm256_and_si256(words[w], lanes(0xffffffffu));
      _mm256_store_si256(reinterpret_cast<__m256i*>(&batch.words[w][b]), low);
    }
  }
}
#else
void philox(std::uint64_t key, std::uint64_t first_block, Batch& batch) {
  for (Index b = 0; b < kBlocks; ++b) {
    const std::uint64_t block = first_block + static_cast<std::uint64_t>(b);
    const r123::Philox4x32::ctr_type words =
        r123::Philox4x32()({{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0}},
                           {{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}});
    for (std::size_t w = 0; w < 4; ++w) batch.words[w][b] = words[w];
  }
}
#endif

// Writes elements [first, first + out.size()), `per_block` of them to a Philox block. make(batch, values) turns a batch
// into its kBlocks * per_block values; values that the span does not want are dropped.
template <class T, int per_block, class Make>
void fill(RandomKey key, Index first, std::span<T> out, const Make& make) {
  RANKFALL_DCHECK(first >= 0);
  constexpr Index kSize = kBlocks * per_block;
  Batch batch;
  alignas(64) T values[static_cast<std::size_t>(kSize)];
  Index block = first / per_block;
  Index skip = first % per_block;
  while (!out.empty()) {
    philox(key.value, static_cast<std::uint64_t>(block), batch);
    const Index n = std::min(kSize - skip, std::ssize(out));
    if (n == kSize) {
      make(batch, out.data());
    } else {
      make(batch, values);
      std::copy_n(values + skip, n, out.data());
    }
    out = out.subspan(static_cast<std::size_t>(n));
    block += kBlocks;
    skip = 0;
  }
}

constexpr std::uint64_t kTwo52 = 0x4330000000000000u;  // bits of 2^52: or-ing an integer below 2^52 into it adds it

double to_double(std::uint64_t bits) { return std::bit_cast<double>(bits); }
std::uint64_t to_bits(double x) { return std::bit_cast<std::uint64_t>(x); }

// k + 1/2 for k < 2^32, exactly: 2^52 - 1/2 is a double.
double plus_half(std::uint64_t k) { return to_double(kTwo52 | k) - 4503599627370495.5; }

// log x for normal x in (0, 1], error a few ulp. As fdlibm's e_log.c: x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt
// 2), s = f / (2 + f), log(1 + f) = 2 atanh s = s (2 + r(z)), z = s^2; its polynomial r has error 2^-58.45. Near
// x = 1, where log x is small, e is 0 and f exact, so the relative error is small there too.
double log_kernel(double x) {
  constexpr std::uint64_t kSqrtHalf = 0x3fe6a09e00000000u, kOne = 0x3ff0000000000000u;
  const std::uint64_t shifted = to_bits(x) + (kOne - kSqrtHalf);
  const double e = to_double(kTwo52 | (shifted >> 52)) - (4503599627370496.0 + 1023.0);
  const double f = to_double((shifted & 0x000fffffffffffffu) + kSqrtHalf) - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double w = z * z;  // odd and even terms apart: two short chains of operations instead of a long one
  const double even = 3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01);
  const double odd = 6.666666666666735130e-01 +
                     w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01));
  return e * 0.6931471805599453 + s * (2.0 + (z * odd + w * even));
}

struct CosSin {
  double cos, sin;
};

// cos and sin of 2 pi (k + 1/2) 2^-32. The angle is q pi/2 + t with q = round(k / 2^30) and |t| <= pi/4, found in
// integers; cos t and sin t are fdlibm's polynomials, error 2^-57.
CosSin cos_sin_kernel(std::uint64_t k) {
  const std::uint64_t turned = k + (std::uint64_t{1} << 29);
  const std::uint64_t q = turned >> 30;  // 0..4
  const double t = (plus_half(turned & 0x3fffffffu) - 0x1p29) * (6.283185307179586 * 0x1p-32);
  const double z = t * t;
  double s = 1.58969099521155010221e-10;
  s = s * z - 2.50507602534068634195e-08;
  s = s * z + 2.75573137070700676789e-06;
  s = s * z - 1.98412698298579493134e-04;
  s = s * z + 8.33333333332248946124e-03;
  s = s * z - 1.66666666666666324348e-01;
  s = t + t * z * s;
  double c = -1.13596475577881948265e-11;
  c = c * z + 2.08757232129817482790e-09;
  c = c * z - 2.75573143513906633035e-07;
  c = c * z + 2.48015872894767294178e-05;
  c = c * z - 1.38888888888741095749e-03;
  c = c * z + 4.16666666666666019037e-02;
  c = 1.0 - (0.5 * z - z * z * c);
  // q mod 4 = 0, 1, 2, 3 gives (c, s), (-s, c), (-c, -s), (s, -c): exchange by q's lowest bit, then set the signs.
  const std::uint64_t swap = std::uint64_t{0} - (q & 1);
  const std::uint64_t bc = to_bits(c), bs = to_bits(s), difference = (bc ^ bs) & swap;
  return {to_double(bc ^ difference ^ ((((q + 1) >> 1) & 1) << 63)),
          to_double(bs ^ difference ^ (((q >> 1) & 1) << 63))};
}

// 2 u - 1 for the word k, exactly: (2 k + 1 - 2^32) / 2^32.
double symmetric(std::uint64_t k) { return (plus_half(k) - 0x1p31) * 0x1p-31; }

// z with the sign of v and P(|N(0,1)| <= |z|) = |v|, for |v| <= erf(sqrt 2). z = v g(w), w = -log(1 - v^2) in
// [0, 2.41990...] (the variable of Giles, GPU Computing Gems 2011, ch. 10). g is the Chebyshev fit of degree 13 in
// t = w - kMiddle on that range, made with 50 digits (mpmath's chebyfit), error 2.4e-15.
constexpr double kMiddle = 1.2109375;
double normal_quantile_kernel(double v, double t) {
  const double w = t * t;
  double odd = -8.429872499893613e-12;
  odd = odd * w + 2.38407844931e-10;
  odd = odd * w - 2.3085939763272733e-10;
  odd = odd * w - 4.985306811892096e-07;
  odd = odd * w + 4.571858923577841e-05;
  odd = odd * w - 0.003218372854988759;
  odd = odd * w + 0.3525819065832648;
  double even = 6.880617372617696e-11;
  even = even * w - 3.94833039078593e-09;
  even = even * w + 1.8075144835732163e-07;
  even = even * w - 7.006395973477053e-06;
  even = even * w + 0.0001942998521284882;
  even = even * w + 0.003927406498576655;
  even = even * w + 1.6685155835683885;
  return v * (even + t * odd);
}

void interleave(const float (&z)[4][kBlocks], float* values) {
  for (Index b = 0; b < kBlocks; ++b) {
    for (Index w = 0; w < 4; ++w) values[4 * b + w] = z[w][b];
  }
}

}  // namespace

RandomKey random_key(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return {mix(hash + mix(seed + 0x9e3779b97f4a7c15u))};
}

void fill_bits(RandomKey key, Index first, std::span<std::uint32_t> out) {
  fill<std::uint32_t, 4>(key, first, out, [](const Batch& batch, std::uint32_t* values) {
    for (Index b = 0; b < kBlocks; ++b) {
      for (Index w = 0; w < 4; ++w) values[4 * b + w] = static_cast<std::uint32_t>(batch.words[w][b]);
    }
  });
}

void fill_normal(RandomKey key, Index first, std::span<float> out, double stddev) {
  fill<float, 4>(key, first, out, [stddev](const Batch& batch, float* values) {
    alignas(64) double radius[kBlocks];
    alignas(64) float z[4][kBlocks];
    for (Index pair = 0; pair < 4; pair += 2) {
      const std::uint64_t* u = batch.words[pair];
      const std::uint64_t* v = batch.words[pair + 1];
      for (Index b = 0; b < kBlocks; ++b) {
        radius[b] = stddev * std::sqrt(-2.0 * log_kernel(plus_half(u[b]) * 0x1p-32));
      }
      for (Index b = 0; b < kBlocks; ++b) {
        const CosSin angle = cos_sin_kernel(v[b]);
        z[pair][b] = static_cast<float>(radius[b] * angle.cos);
        z[pair + 1][b] = static_cast<float>(radius[b] * angle.sin);
      }
    }
    interleave(z, values);
  });
}

void fill_truncated_normal(RandomKey key, Index first, std::span<float> out, double stddev) {
  fill<float, 4>(key, first, out, [stddev](const Batch& batch, float* values) {
    alignas(64) double v[kBlocks], t[kBlocks];
    alignas(64) float z[4][kBlocks];
    for (Index w = 0; w < 4; ++w) {
      for (Index b = 0; b < kBlocks; ++b) {
        v[b] = 0.9544997361036416 * symmetric(batch.words[w][b]);  // erf(sqrt 2)
        t[b] = -log_kernel(1.0 - v[b] * v[b]) - kMiddle;
      }
      for (Index b = 0; b < kBlocks; ++b) z[w][b] = static_cast<float>(stddev * normal_quantile_kernel(v[b], t[b]));
    }
    interleave(z, values);
  });
}

void fill_uniform(RandomKey key, Index first, std::span<float> out, double half_width) {
  fill<float, 4>(key, first, out, [half_width](const Batch& batch, float* values) {
    alignas(64) float x[4][kBlocks];
    for (Index w = 0; w < 4; ++w) {
      for (Index b = 0; b < kBlocks; ++b) x[w][b] = static_cast<float>(half_width * symmetric(batch.words[w][b]));
    }
    interleave(x, values);
  });
}

void fill_integers(RandomKey key, Index first, std::span<std::int32_t> out, std::int32_t bound) {
  RANKFALL_DCHECK(bound >= 1);
  const auto n = static_cast<std::uint64_t>(bound);
  fill<std::int32_t, 2>(key, first, out, [n](const Batch& batch, std::int32_t* values) {
    for (Index b = 0; b < kBlocks; ++b) {
      for (Index i = 0; i < 2; ++i) {
        // floor(n (high 2^32 + low) / 2^64) without 128 bits: n high < 2^63, the carry from below < 2^31.
        const std::uint64_t high = batch.words[2 * i][b], low = batch.words[2 * i + 1][b];
        values[2 * b + i] = static_cast<std::int32_t>((n * high + ((n * low) >> 32)) >> 32);
      }
    }
  });
}

}  // namespace rankfall
