#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/kernel/kernel.h"
#include "studies/measure/metrics.h"

namespace rankfall {

// What theory predicts of a state, in the order of rows.
struct TheoryMetric {
  std::string name;
  // In all_metrics(); those of log10 norms have none.
  std::optional<std::size_t> measured = {};
  bool is_log10() const { return !measured; }
};

// Those of `measure` that are chosen, then log10 of the norms; gradients are not of states and not among them. Throws
// Error(kUsage) on a metric that theory does not predict.
std::vector<TheoryMetric> theory_metrics(const std::vector<std::string>& asked);

// Reads the metrics of every state of one sample in one chain. Frobenius norms and the cosine are those of the Gram
// matrix; everything else is the mean over states that are drawn from it at the network's width, with the random
// numbers of these draws.
class TheoryObserver final : public KernelObserver {
 public:
  TheoryObserver(const std::vector<TheoryMetric>& metrics, const Network& network, const Sample& sample,
                 std::uint64_t seed, Index first_draw, Index n_draws);

  void hidden(Index state, const Gram& k, const Tokens& tokens) override;

  // NaN: there is no such value; -infinity: the logarithm of zero.
  double value(Index state, std::size_t metric) const { return values_[static_cast<std::size_t>(state)][metric]; }

 private:
  const std::vector<TheoryMetric>& metrics_;
  Index width_;
  const Sample& sample_;
  std::uint64_t seed_;
  Index first_draw_, n_draws_;
  std::vector<std::vector<double>> values_;  // by state and metric
};

}  // namespace rankfall
