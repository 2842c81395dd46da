#include "io/dtype.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <gmock/gmock.h>

#include "io_test_util.h"

namespace rankfall {
namespace {

using test::bytes_of;
using test::input_error;
using test::raw;

// By definition (IEEE 754 binary16, bfloat16): sign, exponent, fraction.
double decode(unsigned bits, int n_exponent, int n_fraction) {
  const int bias = (1 << (n_exponent - 1)) - 1;
  const int exponent = static_cast<int>(bits >> n_fraction) & ((1 << n_exponent) - 1);
  const double fraction = static_cast<double>(bits & ((1U << n_fraction) - 1)) * std::ldexp(1.0, -n_fraction);
  const double sign = (bits >> (n_exponent + n_fraction)) != 0 ? -1 : 1;
  if (exponent == (1 << n_exponent) - 1) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1 + fraction, exponent - bias);
}

template <class Out>
std::vector<Out> widened(DType dtype, const std::string& bytes) {
  std::vector<Out> out(bytes.size() / dtype_size(dtype));
  widen<Out>(dtype, bytes_of(bytes), out);
  return out;
}

template <class Out>
void check_all_16_bit(DType dtype, int n_exponent, int n_fraction) {
  std::string bytes;
  for (unsigned bits = 0; bits <= 0xffff; ++bits) bytes += raw(static_cast<std::uint16_t>(bits));
  const auto values = widened<Out>(dtype, bytes);
  ASSERT_EQ(values.size(), 65536U);
  for (unsigned bits = 0; bits <= 0xffff; ++bits) {
    const double expected = decode(bits, n_exponent, n_fraction);
    const auto value = static_cast<double>(values[bits]);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(value, expected) << bits;
      ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
    }
  }
}

TEST(DType, EveryHalfIsExact) {
  check_all_16_bit<float>(DType::kF16, 5, 10);
  check_all_16_bit<double>(DType::kF16, 5, 10);
}

TEST(DType, EveryBFloat16IsExact) {
  check_all_16_bit<float>(DType::kBF16, 8, 7);
  check_all_16_bit<double>(DType::kBF16, 8, 7);
}

TEST(DType, AnyAlignmentAndLengthGivesTheSameValues) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI64, DType::kI32, DType::kI16,
                            DType::kI8, DType::kU8, DType::kBool}) {
    const std::size_t size = dtype_size(dtype);
    for (const std::size_t n : {0U, 1U, 2U, 7U, 8U, 9U, 31U, 33U}) {
      std::string bytes;
      for (std::size_t i = 0; i < n * size; ++i) bytes += static_cast<char>(i * 37 % 61);
      std::vector<double> reference(n);
      for (std::size_t i = 0; i < n; ++i) reference[i] = widen_element<double>(dtype, bytes_of(bytes).data(), i);
      for (std::size_t shift = 0; shift < 9; ++shift) {
        const std::string shifted = std::string(shift, '\x55') + bytes;
        std::vector<double> out(n);
        widen<double>(dtype, bytes_of(shifted).subspan(shift), out);
        EXPECT_EQ(out, reference) << dtype_name(dtype) << " n=" << n << " shift=" << shift;
        std::vector<float> narrow(n);
        widen<float>(dtype, bytes_of(shifted).subspan(shift), narrow);
        for (std::size_t i = 0; i < n; ++i) {
          EXPECT_EQ(narrow[i], widen_element<float>(dtype, bytes_of(bytes).data(), i)) << dtype_name(dtype);
        }
      }
    }
  }
}

TEST(DType, Integers) {
  constexpr auto kMin64 = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(read_integers(DType::kI64, bytes_of(raw(kMin64) + raw(std::int64_t{7}))),
            (std::vector<std::int64_t>{kMin64, 7}));
  EXPECT_EQ(read_integers(DType::kI32, bytes_of(raw(std::int32_t{-5}))), (std::vector<std::int64_t>{-5}));
  EXPECT_EQ(read_integers(DType::kI16, bytes_of(raw(std::int16_t{-6}))), (std::vector<std::int64_t>{-6}));
  EXPECT_EQ(read_integers(DType::kI8, bytes_of("\xff\x7f")), (std::vector<std::int64_t>{-1, 127}));
  EXPECT_EQ(read_integers(DType::kU8, bytes_of("\xff\x7f")), (std::vector<std::int64_t>{255, 127}));
  EXPECT_EQ(read_integers(DType::kBool, bytes_of(std::string_view("\0\1\2", 3))), (std::vector<std::int64_t>{0, 1, 1}));
  EXPECT_TRUE(read_integers(DType::kI64, {}).empty());
  EXPECT_THAT(input_error([] { read_integers(DType::kF16, {}); }), ::testing::HasSubstr("F16, expected integers"));
}

TEST(DType, WideTypesAreExact) {
  using Wide = boost::multiprecision::cpp_bin_float_50;
  const std::string f64 = raw(0.1);
  EXPECT_EQ(widen_element<Wide>(DType::kF64, bytes_of(f64).data(), 0), Wide(0.1));
  const std::string i64 = raw(std::int64_t{0}) + raw((std::int64_t{1} << 53) + 1);  // not a double
  EXPECT_EQ(widen_element<Wide>(DType::kI64, bytes_of(i64).data(), 1), ldexp(Wide(1), 53) + 1);
  const std::string f16 = raw(std::uint16_t{1});
  EXPECT_EQ(widen_element<Wide>(DType::kF16, bytes_of(f16).data(), 0), ldexp(Wide(1), -24));
}

TEST(DType, NamesAndSizes) {
  EXPECT_EQ(dtype_name(DType::kBF16), "BF16");
  EXPECT_EQ(dtype_size(DType::kBF16), 2U);
  EXPECT_EQ(dtype_size(DType::kF64), 8U);
  EXPECT_EQ(dtype_size(DType::kBool), 1U);
  EXPECT_FALSE(is_integer(DType::kF16));
  EXPECT_TRUE(is_integer(DType::kBool));
}

TEST(DTypeHostile, SizesThatDoNotFitAreRefused) {
  std::vector<float> out(2);
  EXPECT_THROW(widen<float>(DType::kF32, bytes_of("1234567"), out), Bug);
  EXPECT_THROW(widen<float>(DType::kF32, bytes_of("1234"), out), Bug);
  EXPECT_THROW(read_integers(DType::kI32, bytes_of("12345")), Bug);
}

}  // namespace
}  // namespace rankfall
