#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <rankfall/matrix.h>
#include <rankfall/measure.h>
#include <rankfall/network.h>

namespace rankfall {

// What it takes to compute a metric; metrics of one kind come from one computation.
enum class MetricKind {
  kNorms,
  kCosine,
  kTokens,
  kInfluence,  // of a state and the one before it
  kGradient,   // of the weights of a block's attention; of the state behind the block
  kSpectrum,
  kPooled,  // of the tokens of all samples together
  kMinimiser,
  kRowMeasures,
  kLogits,
  kAttention
};

struct Metric {
  const char* name;
  MetricKind kind;
  bool by_default;
  // The metric that says whether this one is made of rounding alone: it is where that one's mean is at the rounding
  // floor or below, in the same state; per head, in the state that enters the block, if nothing but the states makes
  // the rows of P differ. Null: its value is right however alike the tokens are.
  const char* floor_by;
};

// All metrics of `measure`, in the order rows are written.
std::span<const Metric> all_metrics();

// Index in all_metrics() of the default metrics and of those asked for by name or group, ascending. Throws
// Error(kUsage).
std::vector<std::size_t> select_metrics(const std::vector<std::string>& asked);

// The same without the default ones.
std::vector<std::size_t> named_metrics(const std::vector<std::string>& asked);

bool is_per_head(const Metric& metric);

// Whether the rows of this attention differ only because their tokens do: no mask that differs between rows, no
// positions in the logits.
bool rows_differ_by_tokens_only(const Attention& attention);

// The values of the chosen metrics of a state, or of an attention matrix; others are left alone. `values` is indexed as
// all_metrics().
template <class T>
void state_values(std::span<const std::size_t> chosen, const MatrixRef<T>& x, std::span<const std::uint8_t> valid,
                  std::span<double> values);
// 1 - the mean over tokens of cos(token before, token after); NaN where no token has a direction in both.
template <class T>
double block_influence(const MatrixRef<T>& before, const MatrixRef<T>& after, std::span<const std::uint8_t> valid);

template <class T>
void attention_values(std::span<const std::size_t> chosen, const MatrixRef<T>& p, std::span<const std::uint8_t> valid,
                      std::span<double> values);

}  // namespace rankfall
