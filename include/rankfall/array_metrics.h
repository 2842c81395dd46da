#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/matrix.h>

// The metrics of `measure`, of states and attention matrices that any program computed: no model is needed.

namespace rankfall {

// Values of metrics, one row per sample (or per sample and head); NaN where a sample has no such value: the cosine
// between tokens of a sample with one token.
struct ArrayMetrics {
  std::vector<std::string> names;
  Matrix<double> values;
};

// A matrix of each sample, and which of its tokens count: empty, or a byte per token, zero for padding.
template <class T>
struct ArrayBatch {
  std::vector<MatrixRef<T>> samples;
  std::vector<std::vector<std::uint8_t>> valid = {};  // empty: all tokens count
};

// Metrics of states, n x d each: `metrics` are names or groups as metric_names() lists them, and nothing else is
// computed; empty: the default ones. rank.pooled is of the tokens of all samples together, the same in every row.
// Samples run in parallel; values do not depend on the number of threads. Throws Error: kUsage on an unknown metric,
// one that needs more than a state (block.influence, attention.*), or masks that do not fit; kNumerical on NaN or
// infinity, with its place; kUsage on a sample without tokens or channels.
template <class T>
RANKFALL_API ArrayMetrics state_metrics(const ArrayBatch<T>& x, const std::vector<std::string>& metrics = {});

// Metrics of attention matrices P, n x n each: entropy and sink, and the slower ones of `metrics`; empty: all of them.
// The same errors. Padding has neither rows nor columns.
template <class T>
RANKFALL_API ArrayMetrics attention_metrics(const ArrayBatch<T>& p, const std::vector<std::string>& metrics = {});

// block.influence of each pair: 1 - the mean over tokens of cos(before, after).
template <class T>
RANKFALL_API std::vector<double> block_influence(const ArrayBatch<T>& before, const ArrayBatch<T>& after);

// attention.max_logit and attention.logit_range of scale * q k^T, queries n x d_h, keys m x d_h: the largest logit that
// a query sees, and the largest range of a row. `valid` is of the keys, and, where n = m, of the queries too; with
// `causal` query i sees keys up to i + m - n.
struct LogitMeasures {
  double max_logit = 0, logit_range = 0;  // NaN where no query sees a key
};
template <class T>
RANKFALL_API LogitMeasures logit_measures(const MatrixRef<T>& q, const MatrixRef<T>& k, double scale, bool causal,
                                          std::span<const std::uint8_t> valid = {});

// Names that state_metrics and attention_metrics take, without groups.
RANKFALL_API std::vector<std::string> state_metric_names();
RANKFALL_API std::vector<std::string> attention_metric_names();

}  // namespace rankfall
