#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "analysis/metrics.h"
#include "linalg/attention_measures.h"
#include <rankfall/observer.h>

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
      if (kind == MetricKind::kEntropy && needs_.attention == Needs::Attention::kNone) {
        needs_.attention = Needs::Attention::kRows;
      }
      if (!is_per_head(all_metrics()[i])) needs_.hidden = true;
    }
    if (needs_.attention == Needs::Attention::kWhole) heads_ = empty_table(n_blocks * n_heads);
    if (needs_.attention == Needs::Attention::kRows) {
      entropies_ = std::vector<Entropies>(static_cast<std::size_t>(n_blocks * n_heads));
    }
  }

  Needs needs() const override { return needs_; }

  void hidden(Index state, const MatrixRef<T>& x) override { state_values<T>(chosen_, x, valid_, row(states_, state)); }

  void attention(Index block, Index head, const MatrixRef<T>& p) override {
    attention_values<T>(chosen_, p, valid_, row(heads_, block * n_heads_ + head));
  }

  // Entropy is a mean over rows, so P need not exist whole. Space for the rows is made by the first block of a head
  // that arrives, which is why each head has its own vector of fixed slots.
  void attention_rows(Index block, Index head, Index first_row, const MatrixRef<T>& rows) override {
    RowVector<double>& out = entropies_[static_cast<std::size_t>(block * n_heads_ + head)].slots(rows.cols());
    for (Index i = 0; i < rows.rows(); ++i) out(first_row + i) = row_entropy<T>(rows.row(i));
  }

  // Value of metric `metric` of a state, or of a head of a block.
  double state_value(Index state, std::size_t metric) const { return states_(state, static_cast<Index>(metric)); }
  double head_value(Index block, Index head, std::size_t metric) const {
    if (needs_.attention == Needs::Attention::kRows) return mean_entropy(block, head);
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

  double mean_entropy(Index block, Index head) const {
    const RowVector<double>& rows = entropies_[static_cast<std::size_t>(block * n_heads_ + head)].values;
    double sum = 0;
    Index n = 0;
    for (Index i = 0; i < rows.size(); ++i) {
      if (!valid_.empty() && valid_[static_cast<std::size_t>(i)] == 0) continue;
      sum += rows(i);
      ++n;
    }
    return n == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(n);
  }

  struct Entropies {
    std::once_flag made;
    RowVector<double> values;
    RowVector<double>& slots(Index n) {
      std::call_once(made, [&] { values.setZero(n); });
      return values;
    }
  };

  std::span<const std::size_t> chosen_;
  Index n_heads_;
  std::span<const std::uint8_t> valid_;
  Needs needs_;
  Matrix<double> states_, heads_;
  std::vector<Entropies> entropies_;
};

}  // namespace rankfall
