#include <cstring>

#include <gtest/gtest.h>

#include <rankfall/model.h>

namespace rankfall {
namespace {

std::vector<float> values(const TensorData& data) {
  std::vector<float> out(data.bytes.size() / sizeof(float));
  std::memcpy(out.data(), data.bytes.data(), data.bytes.size());
  return out;
}

std::vector<TensorSpec> specs() {
  return {{"a", {100, 70}, {Init::Kind::kNormal, 0.02}},
          {"b", {33}, {Init::Kind::kConstant, 1}},
          {"c", {7, 5, 3}, {Init::Kind::kUniform, 0.5}},
          {"d", {64, 64}, {Init::Kind::kTruncatedNormal, 0.1}}};
}

TEST(DrawnWeights, RowsAreTheSameAloneAndTogether) {
  const auto whole = draw_weights(specs(), 7);
  const auto parts = draw_weights(specs(), 7);
  for (int t : {0, 2, 3}) {
    const TensorSpec spec = specs()[static_cast<std::size_t>(t)];
    const auto cols = static_cast<std::size_t>(spec.matrix_cols());
    const auto all = values(whole->rows(t, 0, spec.matrix_rows()));
    for (Index r = 0; r < spec.matrix_rows(); ++r) {
      const auto row = values(parts->rows(t, r, 1));
      const auto kept = values(whole->rows(t, r, 1));
      const auto expected =
          std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(r) * cols),
                             all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(r + 1) * cols));
      EXPECT_EQ(row, expected);
      EXPECT_EQ(kept, expected);
    }
  }
}

TEST(DrawnWeights, WhatIsNotKeptIsDrawnAgainTheSame) {
  const auto kept = draw_weights(specs(), 7);
  const auto not_kept = draw_weights(specs(), 7, 0);
  const TensorData first = kept->rows(0, 0, 100);
  EXPECT_EQ(first.bytes.data(), kept->rows(0, 0, 100).bytes.data());
  EXPECT_EQ(values(first), values(not_kept->rows(0, 0, 100)));
  EXPECT_EQ(values(first), values(not_kept->rows(0, 0, 100)));
}

TEST(DrawnWeights, SeedsAndNamesMatter) {
  const auto a = values(draw_weights(specs(), 1)->rows(0, 0, 1));
  const auto b = values(draw_weights(specs(), 2)->rows(0, 0, 1));
  auto renamed = specs();
  renamed[0].name = "z";
  const auto c = values(draw_weights(renamed, 1)->rows(0, 0, 1));
  EXPECT_NE(a, b);
  EXPECT_NE(a, c);
}

TEST(DrawnWeights, ConstantsAndVectors) {
  const auto bias = values(draw_weights(specs(), 1)->rows(1, 0, 1));
  EXPECT_EQ(bias, std::vector<float>(33, 1.0F));
}

}  // namespace
}  // namespace rankfall
