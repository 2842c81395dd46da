#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/errors.h"
#include "base/parallel.h"
#include "linalg/gemm.h"
#include "linalg/norms_impl.h"
#include "linalg/spectra.h"
#include "studies/measure/metrics.h"
#include <rankfall/array_metrics.h>

namespace rankfall {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

bool is_of_a_state(const Metric& metric) { return !is_per_head(metric) && metric.kind != MetricKind::kInfluence; }
bool is_of_a_matrix(const Metric& metric) { return is_per_head(metric) && metric.kind != MetricKind::kLogits; }

// The chosen metrics; a group gives those of its members that fit, a single name must fit.
std::vector<std::size_t> fitting_metrics(const std::vector<std::string>& asked, bool (*fits)(const Metric&),
                                         std::string_view what) {
  for (const std::string& name : asked) {
    for (const Metric& metric : all_metrics()) {
      if (name == metric.name && !fits(metric)) throw usage_error("metric '{}' is not one of {}", name, what);
    }
  }
  std::vector<std::size_t> chosen = named_metrics(asked);
  std::erase_if(chosen, [&](std::size_t i) { return !fits(all_metrics()[i]); });
  if (chosen.empty()) throw usage_error("no metric of {} among those asked for", what);
  return chosen;
}

std::vector<std::string> names_of(std::span<const std::size_t> chosen) {
  std::vector<std::string> names;
  for (const std::size_t i : chosen) names.emplace_back(all_metrics()[i].name);
  return names;
}

std::vector<std::string> fitting_names(bool (*fits)(const Metric&)) {
  std::vector<std::string> names;
  for (const Metric& metric : all_metrics()) {
    if (fits(metric)) names.emplace_back(metric.name);
  }
  return names;
}

template <class T>
std::span<const std::uint8_t> valid_of(const ArrayBatch<T>& batch, std::size_t i) {
  return batch.valid.empty() ? std::span<const std::uint8_t>() : std::span<const std::uint8_t>(batch.valid[i]);
}

template <class T>
void check_finite(const MatrixRef<T>& x, std::size_t sample) {
  if (x.allFinite()) return;
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) {
      if (std::isfinite(x(i, j))) continue;
      throw numerical_error("sample {}: {} in row {}, column {}, expected finite numbers", sample,
                            static_cast<double>(x(i, j)), i, j);
    }
  }
}

template <class T>
void check_batch(const ArrayBatch<T>& batch, bool square) {
  if (!batch.valid.empty() && batch.valid.size() != batch.samples.size()) {
    throw usage_error("{} masks for {} samples", batch.valid.size(), batch.samples.size());
  }
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    const MatrixRef<T>& x = batch.samples[i];
    if (x.rows() == 0 || x.cols() == 0) {
      throw usage_error("sample {}: an array of {} x {}, expected at least one token and one channel", i, x.rows(),
                        x.cols());
    }
    if (square && x.rows() != x.cols()) {
      throw usage_error("sample {}: an attention matrix of {} x {}, expected n x n", i, x.rows(), x.cols());
    }
    const auto valid = valid_of(batch, i);
    if (!valid.empty() && std::ssize(valid) != x.rows()) {
      throw usage_error("sample {}: a mask of {} entries for {} tokens", i, valid.size(), x.rows());
    }
    if (!valid.empty() && std::ranges::all_of(valid, [](std::uint8_t v) { return v == 0; })) {
      throw usage_error("sample {}: its mask leaves no token", i);
    }
    check_finite<T>(x, i);
  }
}

// Values of the chosen metrics of every sample; values_of fills a table of all metrics for one.
template <class T, class ValuesOf>
ArrayMetrics metrics_of_batch(const ArrayBatch<T>& batch, std::span<const std::size_t> chosen,
                              const ValuesOf& values_of) {
  const auto n = static_cast<Index>(batch.samples.size());
  ArrayMetrics out{names_of(chosen), Matrix<double>::Constant(n, std::ssize(chosen), kNoValue)};
  parallel_for(n, [&](Index i) {
    std::vector<double> values(all_metrics().size(), kNoValue);
    const auto sample = static_cast<std::size_t>(i);
    values_of(batch.samples[sample], valid_of(batch, sample), values);
    for (std::size_t c = 0; c < chosen.size(); ++c) out.values(i, static_cast<Index>(c)) = values[chosen[c]];
  });
  return out;
}

// The effective rank of all tokens together.
template <class T>
double pooled_rank(const ArrayBatch<T>& batch) {
  Index n = 0;
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    if (batch.samples[i].cols() != batch.samples[0].cols()) {
      throw usage_error("rank.pooled: sample {} has {} channels, sample 0 has {}", i, batch.samples[i].cols(),
                        batch.samples[0].cols());
    }
    n += std::ssize(valid_rows(batch.samples[i].rows(), valid_of(batch, i)));
  }
  Matrix<T> rows(n, batch.samples[0].cols());
  Index row = 0;
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    for (const Index r : valid_rows(batch.samples[i].rows(), valid_of(batch, i))) {
      rows.row(row++) = batch.samples[i].row(r);
    }
  }
  return rank_measures<T>(rows, {}).effective;
}

}  // namespace

std::vector<std::string> state_metric_names() { return fitting_names(is_of_a_state); }
std::vector<std::string> attention_metric_names() { return fitting_names(is_of_a_matrix); }

template <class T>
ArrayMetrics state_metrics(const ArrayBatch<T>& x, const std::vector<std::string>& metrics) {
  const auto chosen = metrics.empty() ? select_metrics({}) : fitting_metrics(metrics, is_of_a_state, "a state");
  check_batch(x, false);
  const BlasThreads one_thread(1);
  ArrayMetrics out =
      metrics_of_batch(x, chosen, [&](const MatrixRef<T>& state, auto valid, std::vector<double>& values) {
        state_values<T>(chosen, state, valid, values);
      });
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    if (all_metrics()[chosen[c]].kind != MetricKind::kPooled || x.samples.empty()) continue;
    out.values.col(static_cast<Index>(c)).setConstant(pooled_rank(x));
  }
  return out;
}

template <class T>
ArrayMetrics attention_metrics(const ArrayBatch<T>& p, const std::vector<std::string>& metrics) {
  const auto chosen =
      fitting_metrics(metrics.empty() ? attention_metric_names() : metrics, is_of_a_matrix, "an attention matrix");
  check_batch(p, true);
  for (std::size_t i = 0; i < p.samples.size(); ++i) {
    if (p.samples[i].minCoeff() < 0) throw usage_error("sample {}: a negative weight, expected attention matrices", i);
  }
  const BlasThreads one_thread(1);
  return metrics_of_batch(p, chosen, [&](const MatrixRef<T>& matrix, auto valid, std::vector<double>& values) {
    attention_values<T>(chosen, matrix, valid, values);
  });
}

template <class T>
std::vector<double> block_influence(const ArrayBatch<T>& before, const ArrayBatch<T>& after) {
  check_batch(before, false);
  check_batch(after, false);
  if (before.samples.size() != after.samples.size()) {
    throw usage_error("{} states before the block, {} behind it", before.samples.size(), after.samples.size());
  }
  std::vector<double> out;
  for (std::size_t i = 0; i < before.samples.size(); ++i) {
    const MatrixRef<T>& a = before.samples[i];
    const MatrixRef<T>& b = after.samples[i];
    if (a.rows() != b.rows() || a.cols() != b.cols()) {
      throw usage_error("sample {}: a state of {} x {} before the block, {} x {} behind it", i, a.rows(), a.cols(),
                        b.rows(), b.cols());
    }
    out.push_back(block_influence<T>(a, b, valid_of(before, i)));
  }
  return out;
}

template <class T>
LogitMeasures logit_measures(const MatrixRef<T>& q, const MatrixRef<T>& k, double scale, bool causal,
                             std::span<const std::uint8_t> valid) {
  if (q.cols() != k.cols() || q.size() == 0 || k.size() == 0) {
    throw usage_error("queries of {} x {} and keys of {} x {}, expected tokens of the same width", q.rows(), q.cols(),
                      k.rows(), k.cols());
  }
  if (!valid.empty() && std::ssize(valid) != k.rows()) {
    throw usage_error("a mask of {} entries for {} keys", valid.size(), k.rows());
  }
  if (!std::isfinite(scale)) throw usage_error("a scale of {}, expected a finite number", scale);
  check_finite<T>(q, 0);
  check_finite<T>(k, 0);
  const BlasThreads one_thread(1);
  LogitMeasures out{-std::numeric_limits<double>::infinity(), -1};
  constexpr Index kRows = 128;
  Matrix<T> logits;
  for (Index first = 0; first < q.rows(); first += kRows) {
    const Index rows = std::min(kRows, q.rows() - first);
    logits.resize(rows, k.rows());
    gemm<T>(false, true, T(1), q.middleRows(first, rows), k, T(0), logits);
    for (Index i = 0; i < rows; ++i) {
      if (!valid.empty() && q.rows() == k.rows() && valid[static_cast<std::size_t>(first + i)] == 0) continue;
      const Index n_keys = causal ? std::clamp<Index>(first + i + 1 + k.rows() - q.rows(), 0, k.rows()) : k.rows();
      double smallest = std::numeric_limits<double>::infinity();
      double largest = -smallest;
      for (Index j = 0; j < n_keys; ++j) {
        if (!valid.empty() && valid[static_cast<std::size_t>(j)] == 0) continue;
        const double z = scale * static_cast<double>(logits(i, j));
        smallest = std::min(smallest, z);
        largest = std::max(largest, z);
      }
      if (largest < smallest) continue;
      out.max_logit = std::max(out.max_logit, largest);
      out.logit_range = std::max(out.logit_range, largest - smallest);
    }
  }
  if (out.logit_range < 0) return {kNoValue, kNoValue};
  return out;
}

#define RANKFALL_ARRAY_METRICS(T)                                                                    \
  template ArrayMetrics state_metrics<T>(const ArrayBatch<T>&, const std::vector<std::string>&);     \
  template ArrayMetrics attention_metrics<T>(const ArrayBatch<T>&, const std::vector<std::string>&); \
  template std::vector<double> block_influence<T>(const ArrayBatch<T>&, const ArrayBatch<T>&);       \
  template LogitMeasures logit_measures<T>(const MatrixRef<T>&, const MatrixRef<T>&, double, bool,   \
                                           std::span<const std::uint8_t>);
RANKFALL_ARRAY_METRICS(float)
RANKFALL_ARRAY_METRICS(double)
#undef RANKFALL_ARRAY_METRICS

}  // namespace rankfall
