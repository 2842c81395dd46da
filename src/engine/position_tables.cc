#include "engine/position_tables.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <sleef.h>

#include "base/parallel.h"

namespace rankfall {

Matrix<float> xlnet_sinusoid(Index n, Index d) {
  const Index half = d / 2;
  std::vector<float> frequencies(static_cast<std::size_t>(half));
  for (Index i = 0; i < half; ++i) {
    frequencies[static_cast<std::size_t>(i)] =
        1.0F / std::pow(10000.0F, static_cast<float>(2 * i) / static_cast<float>(d));
  }
  Matrix<float> table(2 * n - 1, d);
  parallel_for(table.rows(), [&](Index t) {
    const auto m = static_cast<float>(n - 1 - t);
    for (Index i = 0; i < half; ++i) {
      const float angle = m * frequencies[static_cast<std::size_t>(i)];
      table(t, i) = Sleef_sinf_u10(angle);
      table(t, half + i) = Sleef_cosf_u10(angle);
    }
  });
  return table;
}

Index t5_bucket(Index distance, Index n_buckets, Index max_distance) {
  const Index half = n_buckets / 2;
  const Index ahead = distance > 0 ? half : 0;
  const Index steps = distance < 0 ? -distance : distance;
  const Index exact = half / 2;
  if (steps < exact) return ahead + steps;
  const auto range = static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(exact)));
  const float position = std::log(static_cast<float>(steps) / static_cast<float>(exact)) / range;
  const Index bucket = exact + static_cast<Index>(position * static_cast<float>(half - exact));
  return ahead + std::min(bucket, half - 1);
}

namespace {

double rotary_frequency(double frequency, const RotaryPositions& rotary) {
  if (rotary.original <= 0) return frequency / rotary.factor;
  const double turns = rotary.original * frequency / (2 * std::numbers::pi);
  if (turns > rotary.high) return frequency;
  if (turns < rotary.low) return frequency / rotary.factor;
  const double share = (turns - rotary.low) / (rotary.high - rotary.low);
  return (1 - share) * frequency / rotary.factor + share * frequency;
}

}  // namespace

RotaryTable rotary_table(Index n, Index d_head, const RotaryPositions& rotary) {
  RotaryTable table{Matrix<double>(n, d_head / 2), Matrix<double>(n, d_head / 2)};
  for (Index c = 0; c < d_head / 2; ++c) {
    const double frequency =
        rotary_frequency(std::pow(rotary.base, -2.0 * static_cast<double>(c) / static_cast<double>(d_head)), rotary);
    for (Index p = 0; p < n; ++p) {
      table.cos(p, c) = std::cos(static_cast<double>(p) * frequency);
      table.sin(p, c) = std::sin(static_cast<double>(p) * frequency);
    }
  }
  return table;
}

}  // namespace rankfall
