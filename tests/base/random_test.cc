#include "base/random.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include <Random123/philox.h>
#include <boost/math/special_functions/erf.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/dcheck.h"

namespace rankfall {
namespace {

using ::testing::ElementsAre;

constexpr Index kFar = 12345678901;  // beyond 32 bits; not a multiple of 4

RandomKey golden_key() { return random_key(7, "encoder.layer.0.attention.self.query.weight"); }

std::vector<float> normal(RandomKey key, Index n, double stddev = 1) {
  std::vector<float> out(static_cast<std::size_t>(n));
  fill_normal(key, 0, out, stddev);
  return out;
}

std::vector<float> truncated_normal(RandomKey key, Index n, double stddev = 1) {
  std::vector<float> out(static_cast<std::size_t>(n));
  fill_truncated_normal(key, 0, out, stddev);
  return out;
}

std::vector<std::uint32_t> bits(RandomKey key, Index first, Index n) {
  std::vector<std::uint32_t> out(static_cast<std::size_t>(n));
  fill_bits(key, first, out);
  return out;
}

double mean(const std::vector<float>& x, const std::function<double(double)>& f) {
  double sum = 0;
  for (const float v : x) sum += f(v);
  return sum / static_cast<double>(x.size());
}

// Kolmogorov's distance to a continuous law, times sqrt n: beyond 1.95 with probability 0.001.
double kolmogorov(std::vector<float> x, const std::function<double(double)>& cdf) {
  std::sort(x.begin(), x.end());
  const auto n = static_cast<double>(x.size());
  double distance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double p = cdf(x[i]);
    distance = std::max({distance, p - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - p});
  }
  return distance * std::sqrt(n);
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// FNV-1a over 32-bit words.
template <class T>
std::uint64_t checksum(const std::vector<T>& values) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const T v : values) hash = (hash ^ std::bit_cast<std::uint32_t>(v)) * 0x100000001b3u;
  return hash;
}

TEST(RandomKey, IsTheDocumentedHash) {  // numbers of random_golden.py
  EXPECT_EQ(random_key(0, "").value, 0x69dd497cadf91c08u);
  EXPECT_EQ(golden_key().value, 0xf3a271e56cd72dc6u);
}

TEST(RandomKey, DiffersBySeedAndByName) {
  std::set<std::uint64_t> keys;
  const std::array<std::string, 6> names = {"", "a", "b", "ab", std::string("a\0", 2), "layer.1.weight"};
  std::vector<std::uint64_t> seeds = {std::numeric_limits<std::uint64_t>::max(), std::uint64_t{1} << 63};
  for (std::uint64_t seed = 0; seed < 1000; ++seed) seeds.push_back(seed);
  for (const std::uint64_t seed : seeds) {
    for (const std::string& name : names) keys.insert(random_key(seed, name).value);
  }
  EXPECT_EQ(keys.size(), seeds.size() * names.size());
}

TEST(RandomBits, ArePhiloxKnownAnswer) {
  // Random123's kat_vectors: philox4x32, 10 rounds, counter and key zero.
  EXPECT_THAT(bits({0}, 0, 4), ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
}

TEST(RandomBits, EqualRandom123) {
  const RandomKey key = golden_key();
  const r123::Philox4x32::key_type k = {
      {static_cast<std::uint32_t>(key.value), static_cast<std::uint32_t>(key.value >> 32)}};
  // The second range passes the carry from the counter's first word to its second.
  for (const std::uint64_t first_block : {std::uint64_t{0}, (std::uint64_t{1} << 32) - 300, std::uint64_t{1} << 60}) {
    constexpr std::uint64_t kBlocks = 1000;
    const auto words = bits(key, static_cast<Index>(4 * first_block), 4 * kBlocks);
    for (std::uint64_t b = 0; b < kBlocks; ++b) {
      const std::uint64_t block = first_block + b;
      const auto expected =
          r123::Philox4x32()({{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0}}, k);
      for (std::size_t w = 0; w < 4; ++w) ASSERT_EQ(words[4 * b + w], expected[w]) << "block " << block;
    }
  }
}

TEST(Random, EqualsAnIndependentImplementation) {  // numbers of random_golden.py
  const RandomKey key = golden_key();
  EXPECT_THAT(bits(key, kFar, 8), ElementsAre(0x77e3c4bdu, 0x82d53c94u, 0x7130ffdcu, 0xc3bf9bd4u, 0xb19fc74cu,
                                              0xaa80812fu, 0xbff392a4u, 0x22042564u));
  std::vector<float> x(8);
  fill_normal(key, kFar, x, 0.02);
  EXPECT_THAT(x, ElementsAre(0x1.5a5316p-7f, -0x1.62deap-6f, 0x1.0df408p-7f, -0x1.4bd114p-8f, -0x1.c28936p-7f,
                             -0x1.687018p-16f, -0x1.276ea4p-6f, -0x1.237578p-5f));
  fill_truncated_normal(key, kFar, x, 0.02);
  EXPECT_THAT(x, ElementsAre(-0x1.8dc8dep-10f, 0x1.15a97p-11f, -0x1.6bf9f4p-9f, 0x1.bf69bap-7f, 0x1.3bbfd6p-7f,
                             0x1.0b9384p-7f, 0x1.a27bd6p-7f, -0x1.543594p-6f));
  fill_uniform(key, kFar, x, 0.05);
  EXPECT_THAT(x, ElementsAre(-0x1.9f3f0ep-9f, 0x1.22183cp-10f, -0x1.7b199ep-8f, 0x1.b19718p-6f, 0x1.3d982ep-6f,
                             0x1.10033ap-6f, 0x1.994a1p-6f, -0x1.2cbf88p-5f));
  std::vector<std::int32_t> n(8);
  fill_integers(key, kFar, n, 30522);
  EXPECT_THAT(n, ElementsAre(16001, 11065, 29864, 18299, 18695, 22657, 5112, 142));
}

// Every value of a long stream, bit for bit: changes with any fused multiply-add, other polynomial or other rounding.
// Recorded with g++ 12 and clang 14, each with and without -march=native; all four agreed.
TEST(Random, HasTheRecordedChecksums) {
  constexpr std::size_t kSize = 1 << 20;
  const RandomKey key = random_key(1, "checksum");
  std::vector<float> x(kSize);
  fill_normal(key, 0, x, 0.02);
  EXPECT_EQ(checksum(x), 0xcd30bdd2e921d35fu);
  fill_truncated_normal(key, 0, x, 0.02);
  EXPECT_EQ(checksum(x), 0x2850e1580cb1df07u);
  fill_uniform(key, 0, x, 0.02);
  EXPECT_EQ(checksum(x), 0x1a4076fce99a0cf1u);
  std::vector<std::int32_t> n(kSize);
  fill_integers(key, 0, n, 50257);
  EXPECT_EQ(checksum(n), 0xb309c43124676a03u);
}

template <class T, class Fill>
void expect_pieces_equal_whole(const Fill& fill) {
  constexpr std::size_t kSize = 4000;
  std::vector<T> whole(kSize);
  fill(kFar, std::span<T>(whole));
  for (const std::size_t size : {1u, 2u, 3u, 4u, 5u, 7u, 511u, 512u, 513u, 1021u}) {
    std::vector<T> pieces(kSize);
    for (std::size_t at = 0; at < kSize; at += size) {
      fill(kFar + static_cast<Index>(at), std::span<T>(pieces).subspan(at, std::min(size, kSize - at)));
    }
    EXPECT_EQ(pieces, whole) << "pieces of " << size;
  }
}

TEST(Random, DoesNotDependOnHowARangeIsCut) {
  const RandomKey key = golden_key();
  expect_pieces_equal_whole<std::uint32_t>([&](Index first, auto out) { fill_bits(key, first, out); });
  expect_pieces_equal_whole<float>([&](Index first, auto out) { fill_normal(key, first, out, 0.02); });
  expect_pieces_equal_whole<float>([&](Index first, auto out) { fill_truncated_normal(key, first, out, 0.02); });
  expect_pieces_equal_whole<float>([&](Index first, auto out) { fill_uniform(key, first, out, 0.02); });
  expect_pieces_equal_whole<std::int32_t>([&](Index first, auto out) { fill_integers(key, first, out, 30522); });
}

TEST(Random, WritesOnlyItsSpan) {
  for (const std::size_t size : {0u, 1u, 3u, 511u, 512u, 513u}) {
    std::vector<float> x(size + 2, -7.0f);
    fill_normal(golden_key(), 2, std::span<float>(x).subspan(1, size), 1);
    EXPECT_EQ(x.front(), -7.0f);
    EXPECT_EQ(x.back(), -7.0f);
    EXPECT_EQ(std::count(x.begin(), x.end(), -7.0f), 2);
  }
}

TEST(RandomNormal, IsTheFormulaCorrectlyRounded) {
  constexpr Index kSize = 200'000;
  const RandomKey key = random_key(3, "formula");
  const auto z = normal(key, kSize);
  const auto words = bits(key, 0, kSize);
  for (std::size_t i = 0; i < z.size(); i += 2) {
    const long double u = (words[i] + 0.5L) * 0x1p-32L;
    const long double angle = 2 * std::numbers::pi_v<long double> * (words[i + 1] + 0.5L) * 0x1p-32L;
    const long double radius = std::sqrt(-2 * std::log(u));
    ASSERT_EQ(z[i], static_cast<float>(radius * std::cos(angle))) << i;
    ASSERT_EQ(z[i + 1], static_cast<float>(radius * std::sin(angle))) << i;
  }
}

TEST(RandomNormal, HasNormalMoments) {
  constexpr double kSize = 1e6;
  const auto z = normal(random_key(0, "moments"), static_cast<Index>(kSize));
  // Five standard deviations of each estimate.
  EXPECT_NEAR(mean(z, [](double x) { return x; }), 0, 5 / std::sqrt(kSize));
  EXPECT_NEAR(mean(z, [](double x) { return x * x; }), 1, 5 * std::sqrt(2 / kSize));
  EXPECT_NEAR(mean(z, [](double x) { return x * x * x; }), 0, 5 * std::sqrt(15 / kSize));
  EXPECT_NEAR(mean(z, [](double x) { return x * x * x * x; }), 3, 5 * std::sqrt(96 / kSize));
}

TEST(RandomNormal, FollowsTheNormalLaw) {
  EXPECT_LT(kolmogorov(normal(random_key(0, "law"), 1'000'000), normal_cdf), 1.95);
}

TEST(RandomNormal, HasNormalTails) {
  constexpr double kSize = 1e7;
  const auto z = normal(random_key(0, "tails"), static_cast<Index>(kSize));
  for (const double cut : {3.0, 4.0, 4.5}) {
    const double expected = kSize * std::erfc(cut / std::numbers::sqrt2);
    const auto beyond = std::count_if(z.begin(), z.end(), [=](float x) { return std::abs(x) > cut; });
    EXPECT_NEAR(static_cast<double>(beyond), expected, 5 * std::sqrt(expected)) << cut;
  }
  const auto largest = [](float a, float b) { return std::abs(a) < std::abs(b); };
  const double farthest = std::abs(*std::max_element(z.begin(), z.end(), largest));
  EXPECT_GT(farthest, 4.8);  // missed with probability 1e-7
  EXPECT_LT(farthest, 6.4);  // passed with probability 2e-3
}

TEST(RandomNormal, NeighboursAndStreamsAreUncorrelated) {
  constexpr Index kSize = 1'000'000;
  const auto z = normal(random_key(0, "a"), kSize);
  const double bound = 5 / std::sqrt(static_cast<double>(kSize));
  const auto correlation = [&](const std::vector<float>& other, std::size_t lag) {
    double product = 0, of_squares = 0;
    for (std::size_t i = 0; i + lag < z.size(); ++i) {
      const double a = z[i], b = other[i + lag];
      product += a * b;
      of_squares += (a * a - 1) * (b * b - 1) / 2;
    }
    return std::max(std::abs(product), std::abs(of_squares)) / static_cast<double>(kSize);
  };
  for (const std::size_t lag : {1u, 2u, 3u, 4u, 768u}) EXPECT_LT(correlation(z, lag), bound) << "lag " << lag;
  EXPECT_LT(correlation(normal(random_key(1, "a"), kSize), 0), bound) << "next seed";
  EXPECT_LT(correlation(normal(random_key(0, "b"), kSize), 0), bound) << "other name";
}

TEST(RandomNormal, OfZeroDeviationIsZero) {
  for (const float x : normal(golden_key(), 1000, 0.0)) EXPECT_EQ(x, 0.0f);
}

TEST(RandomTruncatedNormal, IsTheQuantileCorrectlyRounded) {
  constexpr Index kSize = 50'000;
  const RandomKey key = random_key(3, "quantile");
  const auto z = truncated_normal(key, kSize);
  const auto words = bits(key, 0, kSize);
  const long double inside = std::erf(std::numbers::sqrt2_v<long double>);
  for (std::size_t i = 0; i < z.size(); ++i) {
    const long double v = inside * ((words[i] + 0.5L) * 0x1p-31L - 1);
    ASSERT_EQ(z[i], static_cast<float>(std::numbers::sqrt2_v<long double> * boost::math::erf_inv(v))) << i;
  }
}

TEST(RandomTruncatedNormal, StaysWithinTwoDeviationsWithTheRightLaw) {
  constexpr double kSize = 1e6;
  for (const double stddev : {1.0, 0.02, 0.7}) {
    const auto z = truncated_normal(random_key(0, "cut"), static_cast<Index>(kSize), stddev);
    const auto cut = static_cast<float>(2 * stddev);
    EXPECT_LE(*std::max_element(z.begin(), z.end()), cut);
    EXPECT_GE(*std::min_element(z.begin(), z.end()), -cut);
    EXPECT_GT(*std::max_element(z.begin(), z.end()), 0.999f * cut);
    // Variance 1 - 4 phi(2) / erf(sqrt 2); the fourth moment is below 1.5, hence the tolerance.
    const double variance = mean(z, [=](double x) { return x * x / (stddev * stddev); });
    EXPECT_NEAR(variance, 0.7737413, 5 * std::sqrt(1.0 / kSize));
    EXPECT_NEAR(mean(z, [=](double x) { return x / stddev; }), 0, 5 * std::sqrt(0.78 / kSize));
    const double below = normal_cdf(-2);
    EXPECT_LT(kolmogorov(z, [=](double x) { return (normal_cdf(x / stddev) - below) / (1 - 2 * below); }), 1.95);
  }
}

TEST(RandomUniform, FillsItsInterval) {
  constexpr double kSize = 1e6;
  std::vector<float> x(static_cast<std::size_t>(kSize));
  fill_uniform(random_key(0, "uniform"), 0, x, 0.25);
  EXPECT_LE(*std::max_element(x.begin(), x.end()), 0.25f);
  EXPECT_GE(*std::min_element(x.begin(), x.end()), -0.25f);
  EXPECT_LT(kolmogorov(x, [](double v) { return (v + 0.25) / 0.5; }), 1.95);
}

TEST(RandomIntegers, AreTheHighPartOfAProduct) {
  __extension__ using Wide = unsigned __int128;
  constexpr Index kSize = 10'000;
  const RandomKey key = random_key(3, "integers");
  const auto words = bits(key, 0, 2 * kSize);
  for (const std::int32_t bound : {1, 2, 3, 30522, 1 << 30, std::numeric_limits<std::int32_t>::max()}) {
    std::vector<std::int32_t> n(kSize);
    fill_integers(key, 0, n, bound);
    for (std::size_t i = 0; i < n.size(); ++i) {
      const Wide word = (Wide{words[2 * i]} << 32) | words[2 * i + 1];
      ASSERT_EQ(n[i], static_cast<std::int32_t>((word * static_cast<Wide>(bound)) >> 64)) << bound << ", " << i;
      ASSERT_GE(n[i], 0);
      ASSERT_LT(n[i], bound);
    }
  }
}

TEST(RandomIntegers, AreEvenlySpread) {
  constexpr std::int32_t kBound = 11;
  std::vector<std::int32_t> n(1'100'000);
  fill_integers(random_key(0, "spread"), 0, n, kBound);
  std::vector<double> count(kBound, 0);
  for (const std::int32_t v : n) count[static_cast<std::size_t>(v)] += 1;
  const double expected = static_cast<double>(n.size()) / kBound;
  double chi_squared = 0;
  for (const double c : count) chi_squared += (c - expected) * (c - expected) / expected;
  EXPECT_LT(chi_squared, 29.6);  // 10 degrees of freedom: passed with probability 0.001
}

#ifdef RANKFALL_DCHECKS
TEST(Random, RefusesNonsense) {
  std::vector<float> x(3);
  std::vector<std::int32_t> n(3);
  EXPECT_THROW(fill_normal(golden_key(), -1, x, 1), Bug);
  EXPECT_THROW(fill_integers(golden_key(), 0, n, 0), Bug);
}
#endif

}  // namespace
}  // namespace rankfall
