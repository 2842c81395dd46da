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

// Of the pairs c of `m` turned channels in a sample of n tokens.
class RotaryFrequencies {
 public:
  RotaryFrequencies(const RotaryPositions& rotary, Index m, Index n)
      : base_(rotary.base), m_(static_cast<double>(m)), n_(static_cast<double>(n)) {}

  double operator()(const std::monostate&, Index c) const { return plain(base_, c); }
  double operator()(const LinearScaling& s, Index c) const { return plain(base_, c) / s.factor; }

  double operator()(const DynamicScaling& s, Index c) const {
    if (n_ <= s.original || m_ <= 2) return plain(base_, c);
    return plain(base_ * std::pow(s.factor * n_ / s.original - (s.factor - 1), m_ / (m_ - 2)), c);
  }

  double operator()(const Llama3Scaling& s, Index c) const {
    const double frequency = plain(base_, c);
    const double turns = s.original * frequency / (2 * std::numbers::pi);
    if (turns > s.high) return frequency;
    if (turns < s.low) return frequency / s.factor;
    const double share = (turns - s.low) / (s.high - s.low);
    return (1 - share) * frequency / s.factor + share * frequency;
  }

  double operator()(const YarnScaling& s, Index c) const {
    // The pair that turns so many times in `original` tokens.
    const auto pair = [&](double turns) {
      return m_ * std::log(s.original / (turns * 2 * std::numbers::pi)) / (2 * std::log(base_));
    };
    const double low = std::max(s.truncate ? std::floor(pair(s.fast)) : pair(s.fast), 0.0);
    double high = std::min(s.truncate ? std::ceil(pair(s.slow)) : pair(s.slow), m_ - 1);
    if (low == high) high += 0.001;
    const double slow = std::clamp((static_cast<double>(c) - low) / (high - low), 0.0, 1.0);
    const double frequency = plain(base_, c);
    return frequency / s.factor * slow + frequency * (1 - slow);
  }

  double operator()(const LongScaling& s, Index c) const {
    return plain(base_, c) / (n_ > s.original ? s.long_factors : s.short_factors)[static_cast<std::size_t>(c)];
  }

 private:
  double plain(double base, Index c) const { return std::pow(base, -2.0 * static_cast<double>(c) / m_); }

  double base_, m_, n_;
};

}  // namespace

bool depends_on_length(const RotaryPositions& rotary) {
  return std::holds_alternative<DynamicScaling>(rotary.scaling) || std::holds_alternative<LongScaling>(rotary.scaling);
}

RotaryTable<double> rotary_table(Index n, Index d_head, const RotaryPositions& rotary) {
  const Index m = rotary.channels > 0 ? rotary.channels : d_head;
  RotaryTable<double> table{Matrix<double>(n, m / 2), Matrix<double>(n, m / 2)};
  const RotaryFrequencies frequencies(rotary, m, n);
  for (Index c = 0; c < m / 2; ++c) {
    const double frequency = std::visit([&](const auto& scaling) { return frequencies(scaling, c); }, rotary.scaling);
    for (Index p = 0; p < n; ++p) {
      table.cos(p, c) = std::cos(static_cast<double>(p) * frequency);
      table.sin(p, c) = std::sin(static_cast<double>(p) * frequency);
    }
  }
  if (rotary.magnitude != 1) {
    table.cos *= rotary.magnitude;
    table.sin *= rotary.magnitude;
  }
  return table;
}

}  // namespace rankfall
