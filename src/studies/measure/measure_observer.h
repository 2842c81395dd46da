#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "linalg/norms_impl.h"
#include "linalg/spectra.h"
#include "studies/measure/metrics.h"
#include <rankfall/forward.h>
#include <rankfall/matrix.h>

namespace rankfall {

// The tokens of all samples of one state after the other. Every sample of a state arrives before any of the next; the
// last one to come computes the state's value, from rows in the order of the samples.
template <class T>
class PooledTokens {
 public:
  PooledTokens(std::span<const Sample> samples, const Sizes& sizes)
      : values_(static_cast<std::size_t>(sizes.n_blocks) + 1, std::numeric_limits<double>::quiet_NaN()) {
    Index n = 0;
    for (const Sample& sample : samples) {
      first_.push_back(n);
      n += std::ssize(valid_rows(sample.n_tokens(), sample.valid));
    }
    rows_.resize(n, sizes.d_model);
  }

  void add(std::size_t sample, Index state, const MatrixRef<T>& x, std::span<const std::uint8_t> valid) {
    Index row = first_[sample];
    for (const Index i : valid_rows(x.rows(), valid)) rows_.row(row++) = x.row(i);
    if (++arrived_ < first_.size()) return;
    arrived_ = 0;
    values_[static_cast<std::size_t>(state)] = rank_measures<T>(rows_, {}).effective;
  }

  double value(Index state) const { return values_[static_cast<std::size_t>(state)]; }

 private:
  std::vector<Index> first_;
  Matrix<T> rows_;
  std::atomic<std::size_t> arrived_ = 0;
  std::vector<double> values_;
};

// Values of the chosen metrics of one sample, by state, and by block and head; NaN where there is none. A table has
// all_metrics().size() columns.
template <class T>
class MeasureObserver final : public Observer<T> {
 public:
  // `pooled` is null unless a metric of all samples together is chosen; `sample` is this one's number.
  MeasureObserver(std::span<const std::size_t> chosen, Index n_blocks, Index n_heads,
                  std::span<const std::uint8_t> valid, PooledTokens<T>* pooled = nullptr, std::size_t sample = 0)
      : chosen_(chosen),
        n_heads_(n_heads),
        valid_(valid),
        pooled_(pooled),
        sample_(sample),
        states_(empty_table(n_blocks + 1)) {
    for (const std::size_t i : chosen) {
      const MetricKind kind = all_metrics()[i].kind;
      if (kind == MetricKind::kAttention) needs_.attention = Needs::Attention::kWhole;
      if (kind == MetricKind::kLogits) needs_.logits = true;
      if (kind == MetricKind::kInfluence) keeps_state_ = true;
      if (kind == MetricKind::kRowMeasures && needs_.attention == Needs::Attention::kNone) {
        needs_.attention = Needs::Attention::kMeasures;
      }
      if (!is_per_head(all_metrics()[i])) needs_.hidden = true;
    }
    if (needs_.attention != Needs::Attention::kNone || needs_.logits) heads_ = empty_table(n_blocks * n_heads);
    if (needs_.attention == Needs::Attention::kMeasures || needs_.logits) {
      of_rows_ = std::vector<OfRows>(static_cast<std::size_t>(n_blocks * n_heads));
    }
  }

  Needs needs() const override { return needs_; }

  void hidden(Index state, const MatrixRef<T>& x) override {
    state_values<T>(chosen_, x, valid_, row(states_, state));
    if (pooled_) pooled_->add(sample_, state, x, valid_);
    if (!keeps_state_) return;
    if (state > 0) influence_.push_back(block_influence<T>(before_, x, valid_));
    before_ = x;
  }

  void logits(Index block, Index head, Index first_row, const RowVectorRef<double>& smallest,
              const RowVectorRef<double>& largest) override {
    OfRows& of_rows = of_rows_[static_cast<std::size_t>(block * n_heads_ + head)];
    const std::lock_guard lock(of_rows.mutex);
    for (Index i = 0; i < largest.size(); ++i) {
      const bool counts = valid_.empty() || valid_[static_cast<std::size_t>(first_row + i)] != 0;
      if (!counts || !(largest(i) >= smallest(i))) continue;
      of_rows.max_logit = std::max(of_rows.max_logit, largest(i));
      of_rows.logit_range = std::max(of_rows.logit_range, largest(i) - smallest(i));
    }
  }

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
  double state_value(Index state, std::size_t metric) const {
    const MetricKind kind = all_metrics()[metric].kind;
    if (kind == MetricKind::kPooled) return pooled_->value(state);
    if (kind == MetricKind::kInfluence) {
      return state == 0 ? std::numeric_limits<double>::quiet_NaN() : influence_[static_cast<std::size_t>(state) - 1];
    }
    return states_(state, static_cast<Index>(metric));
  }
  double head_value(Index block, Index head, std::size_t metric) const {
    if (all_metrics()[metric].kind == MetricKind::kLogits) {
      const OfRows& of_rows = of_rows_[static_cast<std::size_t>(block * n_heads_ + head)];
      if (of_rows.logit_range < 0) return std::numeric_limits<double>::quiet_NaN();
      return all_metrics()[metric].name == std::string_view("attention.max_logit") ? of_rows.max_logit
                                                                                   : of_rows.logit_range;
    }
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
    double max_logit = -std::numeric_limits<double>::infinity();
    double logit_range = -1;  // none yet
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
  PooledTokens<T>* pooled_;
  std::size_t sample_;
  bool keeps_state_ = false;
  Matrix<T> before_;
  std::vector<double> influence_;  // by block
  Needs needs_;
  Matrix<double> states_, heads_;
  std::vector<OfRows> of_rows_;
};

}  // namespace rankfall
