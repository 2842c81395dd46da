#include "io/ggml_types.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/dcheck.h"
#include "io/dtype.h"

// Compiled with -ffp-contract=off: a fused multiply-add would change last bits.

namespace rankfall {
namespace {

constexpr GgmlType kTypes[] = {
    {0, "F32", 1, 4},
    {1, "F16", 1, 2},
    {2, "Q4_0", 32, 18},
    {3, "Q4_1", 32, 20},
    {6, "Q5_0", 32, 22},
    {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},
    {9, "Q8_1"},
    {10, "Q2_K"},
    {11, "Q3_K"},
    {12, "Q4_K", 256, 144},
    {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},
    {15, "Q8_K"},
    {16, "IQ2_XXS"},
    {17, "IQ2_XS"},
    {18, "IQ3_XXS"},
    {19, "IQ1_S"},
    {20, "IQ4_NL"},
    {21, "IQ3_S"},
    {22, "IQ2_S"},
    {23, "IQ4_XS"},
    {24, "I8"},
    {25, "I16"},
    {26, "I32"},
    {27, "I64"},
    {28, "F64", 1, 8},
    {29, "IQ1_M"},
    {30, "BF16", 1, 2},
    {34, "TQ1_0"},
    {35, "TQ2_0"},
    {39, "MXFP4"},
};

// Reads a block from front to back.
class BlockReader {
 public:
  explicit BlockReader(const std::byte* at) : at_(at) {}
  float half() {
    const float value = element_value(load_element<Half>(at_, 0));
    at_ += sizeof(Half);
    return value;
  }
  const std::uint8_t* bytes(std::size_t n) {
    const auto* first = reinterpret_cast<const std::uint8_t*>(at_);
    at_ += n;
    return first;
  }

 private:
  const std::byte* at_;
};

constexpr std::size_t kSmall = 32, kLarge = 256;

int low(std::uint8_t byte) { return byte & 0xf; }
int high(std::uint8_t byte) { return byte >> 4; }

void q8_0(BlockReader in, float* out) {
  const float d = in.half();
  const auto* q = reinterpret_cast<const std::int8_t*>(in.bytes(kSmall));
  for (std::size_t j = 0; j < kSmall; ++j) out[j] = static_cast<float>(q[j]) * d;
}

void q4_0(BlockReader in, float* out) {
  const float d = in.half();
  const std::uint8_t* q = in.bytes(kSmall / 2);
  for (std::size_t j = 0; j < kSmall / 2; ++j) {
    out[j] = static_cast<float>(low(q[j]) - 8) * d;
    out[j + kSmall / 2] = static_cast<float>(high(q[j]) - 8) * d;
  }
}

void q4_1(BlockReader in, float* out) {
  const float d = in.half();
  const float m = in.half();
  const std::uint8_t* q = in.bytes(kSmall / 2);
  for (std::size_t j = 0; j < kSmall / 2; ++j) {
    out[j] = static_cast<float>(low(q[j])) * d + m;
    out[j + kSmall / 2] = static_cast<float>(high(q[j])) * d + m;
  }
}

// The fifth bits of 32 weights.
std::uint32_t fifth_bits(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16 |
         std::uint32_t{bytes[3]} << 24;
}
int fifth(std::uint32_t bits, std::size_t j) { return static_cast<int>((bits >> j) & 1U) << 4; }

void q5_0(BlockReader in, float* out) {
  const float d = in.half();
  const std::uint32_t bits = fifth_bits(in.bytes(4));
  const std::uint8_t* q = in.bytes(kSmall / 2);
  for (std::size_t j = 0; j < kSmall / 2; ++j) {
    out[j] = static_cast<float>((low(q[j]) | fifth(bits, j)) - 16) * d;
    out[j + kSmall / 2] = static_cast<float>((high(q[j]) | fifth(bits, j + kSmall / 2)) - 16) * d;
  }
}

void q5_1(BlockReader in, float* out) {
  const float d = in.half();
  const float m = in.half();
  const std::uint32_t bits = fifth_bits(in.bytes(4));
  const std::uint8_t* q = in.bytes(kSmall / 2);
  for (std::size_t j = 0; j < kSmall / 2; ++j) {
    out[j] = static_cast<float>(low(q[j]) | fifth(bits, j)) * d + m;
    out[j + kSmall / 2] = static_cast<float>(high(q[j]) | fifth(bits, j + kSmall / 2)) * d + m;
  }
}

// Scale and offset, six bits each, of run j of 32 weights among the eight of a block.
struct RunScale {
  int scale = 0, offset = 0;
};
RunScale run_scale(std::size_t j, const std::uint8_t* s) {
  if (j < 4) return {s[j] & 63, s[j + 4] & 63};
  return {low(s[j + 4]) | (s[j - 4] >> 6) << 4, high(s[j + 4]) | (s[j] >> 6) << 4};
}

// Q4_K, and Q5_K with a fifth bit of each weight.
void q45_k(BlockReader in, bool five, float* out) {
  const float d = in.half();
  const float minimum = in.half();
  const std::uint8_t* scales = in.bytes(12);
  const std::uint8_t* bits = five ? in.bytes(kLarge / 8) : nullptr;
  const std::uint8_t* q = in.bytes(kLarge / 2);
  for (std::size_t run = 0; run < 8; ++run) {
    const RunScale of = run_scale(run, scales);
    const float scale = d * static_cast<float>(of.scale);
    const float offset = minimum * static_cast<float>(of.offset);
    for (std::size_t l = 0; l < kSmall; ++l) {
      const std::uint8_t byte = q[run / 2 * kSmall + l];
      int value = run % 2 == 0 ? low(byte) : high(byte);
      if (five && ((bits[l] >> run) & 1) != 0) value += 16;
      out[run * kSmall + l] = scale * static_cast<float>(value) - offset;
    }
  }
}

void q6_k(BlockReader in, float* out) {
  const std::uint8_t* lows = in.bytes(kLarge / 2);
  const std::uint8_t* highs = in.bytes(kLarge / 4);
  const auto* scales = reinterpret_cast<const std::int8_t*>(in.bytes(kLarge / 16));
  const float d = in.half();
  for (std::size_t i = 0; i < kLarge; ++i) {
    // Halves of 128 weights in four parts of 32; a scale for 16.
    const std::size_t half = i / 128, part = i % 128 / 32, l = i % 32, run = i / 16;
    const std::uint8_t byte = lows[half * 64 + part % 2 * 32 + l];
    const int bits = (highs[half * 32 + l] >> (2 * part)) & 3;
    const int value = ((part < 2 ? low(byte) : high(byte)) | bits << 4) - 32;
    out[i] = d * static_cast<float>(scales[run]) * static_cast<float>(value);
  }
}

void dequantise_block(std::uint32_t number, const std::byte* bytes, float* out) {
  switch (number) {
    case 2:
      return q4_0(BlockReader(bytes), out);
    case 3:
      return q4_1(BlockReader(bytes), out);
    case 6:
      return q5_0(BlockReader(bytes), out);
    case 7:
      return q5_1(BlockReader(bytes), out);
    case 8:
      return q8_0(BlockReader(bytes), out);
    case 12:
      return q45_k(BlockReader(bytes), false, out);
    case 13:
      return q45_k(BlockReader(bytes), true, out);
    case 14:
      return q6_k(BlockReader(bytes), out);
    default:
      throw Bug("dequantise: a type that is not read");
  }
}

}  // namespace

const GgmlType* ggml_type(std::uint32_t number) {
  const auto* found = std::ranges::find(kTypes, number, &GgmlType::number);
  return found == std::end(kTypes) ? nullptr : found;
}

bool is_readable(const GgmlType& type) { return type.bytes > 0; }

std::string_view readable_ggml_types() {
  return "F64, F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K or Q6_K";
}

void dequantise(const GgmlType& type, std::span<const std::byte> bytes, std::span<float> out) {
  RANKFALL_DCHECK(is_readable(type) && out.size() % type.block == 0 &&
                  bytes.size() == out.size() / type.block * type.bytes);
  switch (type.number) {
    case 0:
      return widen<float>(DType::kF32, bytes, out);
    case 1:
      return widen<float>(DType::kF16, bytes, out);
    case 28:
      return widen<float>(DType::kF64, bytes, out);
    case 30:
      return widen<float>(DType::kBF16, bytes, out);
    default:
      break;
  }
  for (std::size_t block = 0; block < out.size() / type.block; ++block) {
    dequantise_block(type.number, bytes.data() + block * type.bytes, out.data() + block * type.block);
  }
}

}  // namespace rankfall
