#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "studies/measure/metrics.h"
#include <rankfall/forward.h>
#include <rankfall/matrix.h>

namespace rankfall {

// Values of the chosen metrics of one sample, by state, and by block and head; NaN where there is none. A table has
// all_metrics().size() columns.
template <class T>
class MeasureObserver final : public Observer<T> {
 public:
  MeasureObserver(std::span<const std::size_t> chosen, Index n_blocks, Index n_heads,
                  std::span<const std::uint8_t> valid)
      : chosen_(chosen), n_heads_(n_heads), valid_(valid), states_(empty_table(n_blocks + 1)) {
    for (const std::size_t i : chosen) {
      const MetricKind kind = all_metrics()[i].kind;
      if (kind == MetricKind::kAttention) needs_.attention = Needs::Attention::kWhole;
      if (kind == MetricKind::kRowMeasures && needs_.attention == Needs::Attention::kNone) {
        needs_.attention = Needs::Attention::kMeasures;
      }
      if (!is_per_head(all_metrics()[i])) needs_.hidden = true;
    }
    if (needs_.attention != Needs::Attention::kNone) heads_ = empty_table(n_blocks * n_heads);
    if (needs_.attention == Needs::Attention::kMeasures) {
      of_rows_ = std::vector<OfRows>(static_cast<std::size_t>(n_blocks * n_heads));
    }
  }

  Needs needs() const override { return needs_; }

  void hidden(Index state, const MatrixRef<T>& x) override { state_values<T>(chosen_, x, valid_, row(states_, state)); }

  void attention(Index block, Index head, const MatrixRef<T>& p) override {
    attention_values<T>(chosen_, p, valid_, row(heads_, block * n_heads_ + head));
  }

  // Means over rows, which arrive in any order: they are kept until all are there, and added in the order of the rows.
  void attention_measures(Index block, Index head, Index first_row, const RowVectorRef<double>& entropy,
                          const RowVectorRef<double>& sink) override {
    OfRows& of_rows = of_rows_[static_cast<std::size_t>(block * n_heads_ + head)];
    const std::lock_guard lock(of_rows.mutex);
    of_rows.parts[first_row] = {entropy, sink};
  }

  // Value of metric `metric` of a state, or of a head of a block.
  double state_value(Index state, std::size_t metric) const { return states_(state, static_cast<Index>(metric)); }
  double head_value(Index block, Index head, std::size_t metric) const {
    if (needs_.attention == Needs::Attention::kMeasures) return mean_of_rows(block, head, metric);
    return heads_(block * n_heads_ + head, static_cast<Index>(metric));
  }

 private:
  static Matrix<double> empty_table(Index rows) {
    return Matrix<double>::Constant(rows, static_cast<Index>(all_metrics().size()),
                                    std::numeric_limits<double>::quiet_NaN());
  }
  static std::span<double> row(Matrix<double>& table, Index r) {
    return {table.row(r).data(), static_cast<std::size_t>(table.cols())};
  }

  struct Part {
    RowVector<double> entropy, sink;
  };
  struct OfRows {
    std::mutex mutex;
    std::map<Index, Part> parts;  // by their first row
  };

  double mean_of_rows(Index block, Index head, std::size_t metric) const {
    const bool entropy = all_metrics()[metric].name == std::string_view("attention.entropy");
    double sum = 0;
    Index n = 0;
    for (const auto& [first_row, part] : of_rows_[static_cast<std::size_t>(block * n_heads_ + head)].parts) {
      const RowVector<double>& values = entropy ? part.entropy : part.sink;
      for (Index i = 0; i < values.size(); ++i) {
        if (!valid_.empty() && valid_[static_cast<std::size_t>(first_row + i)] == 0) continue;
        sum += values(i);
        ++n;
      }
    }
    return n == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(n);
  }

  std::span<const std::size_t> chosen_;
  Index n_heads_;
  std::span<const std::uint8_t> valid_;
  Needs needs_;
  Matrix<double> states_, heads_;
  std::vector<OfRows> of_rows_;
};

}  // namespace rankfall
