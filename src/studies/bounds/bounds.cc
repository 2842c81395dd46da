#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/mapped.h"
#include "engine/split/split.h"
#include "linalg/gemm.h"
#include "studies/bounds/bounds_rows.h"
#include "studies/bounds/bounds_tally.h"
#include "studies/driver.h"
#include <rankfall/bounds.h>
#include <rankfall/error.h>

namespace rankfall {
namespace {

class BoundsObserver final : public SplitLayerObserver {
 public:
  BoundsObserver(const Sample& sample, const std::vector<WeightNorms>& norms) : sample_(sample), norms_(norms) {}

  void hidden(Index /*state*/, const SplitState& x) override {
    found.log10_residual.push_back(split_norms(x, sample_.valid, false).residual.composite);
  }
  void attention(const LoadedLayer<double>& layer, const SplitState& in) override {
    found.blocks.push_back(attention_bounds(layer, norms_[static_cast<std::size_t>(layer.index)], sample_, in));
  }
  // |res X'| >= |skip| |res X| - |branch| |res f|, Frobenius, where the mean is the minimiser.
  void combined(const LoadedLayer<double>& layer, const SplitState& x, const SplitState& sum) override {
    const SubLayer& sub = *layer.layer;
    const Branch* branch = sub.with<Attention>();
    if (!branch || sub.skip == 0) return;
    const double kept = kLn10 * split_norms(x, sample_.valid, false).residual.frobenius + std::log(std::abs(sub.skip));
    const double added = found.blocks.back().log_output + std::log(std::abs(branch->scale));
    const Reason other = branch->out               ? Reason::kNorm
                         : sub.branches.size() > 1 ? Reason::kParallelMlp
                                                   : Reason::kSkipMayCancel;
    const bool holds_back = added < kept && other == Reason::kSkipMayCancel;
    found.blocks.back().inequalities.push_back(
        {.name = "lower",
         .log_measured = kLn10 * split_norms(sum, sample_.valid, false).residual.frobenius,
         .log_bound = holds_back ? kept + std::log1p(-std::exp(added - kept)) : -INFINITY,
         .log_input = kept,
         .fails = holds_back || kept == -INFINITY ? Reason::kNone : other,
         .is_proved = true,
         .is_lower = true});
  }

  BoundsSample found;

 private:
  const Sample& sample_;
  const std::vector<WeightNorms>& norms_;
};

std::vector<WeightNorms> all_weight_norms(const Network& network, const WeightSource& weights) {
  const BlasThreads one_blas_thread(1);
  LayerLoader<double> loader(network, weights, 1);
  std::vector<WeightNorms> norms;
  norms.reserve(network.layers.size());
  for (Index l = 0; l < std::ssize(network.layers); ++l) norms.push_back(weight_norms(loader.load(l)));
  weights.check();
  return norms;
}

std::vector<Row> rows_of_bounds(const StudyRun& run) {
  const std::vector<WeightNorms> norms = all_weight_norms(run.network, *run.model.weights);
  std::vector<BoundsObserver> observers;
  std::vector<SplitObserver*> watch;
  observers.reserve(run.samples.size());
  watch.reserve(run.samples.size());
  for (const Sample& sample : run.samples) watch.push_back(&observers.emplace_back(sample, norms));
  track(run.network, *run.model.weights, run.samples, watch, {.progress = run.progress});
  return bounds_rows(run.network, norms, mapped<BoundsSample>(observers, &BoundsObserver::found));
}

Study bounds_study(const BoundsOptions& options) {
  Study study;
  study.name = "bounds";
  study.precision = "f64, mean and residual apart";
  study.variants = variants_or_paper(options.variants);
  study.tracked = true;
  study.progress = options.progress;
  study.check = [](const Model& /*model*/, const Network& network, MemoryPlan plan) {
    plan.whole_attention = true;
    // Several matrices of tokens by tokens and by width for each head at work.
    plan.kept_attention = plan.kept_states = 4 * static_cast<double>(network.sizes.n_heads);
    check_memory(network, plan);
  };
  study.rows = rows_of_bounds;
  return study;
}

}  // namespace

Result bounds(const Model& model, std::span<const Sample> samples, const BoundsOptions& options) {
  return run_study(bounds_study(options), model, samples);
}

Result bounds(std::span<const std::string> models, const BoundsOptions& options) {
  return run_study(bounds_study(options), models, {options.input, options.seed});
}

std::vector<Row> violated_bounds(const Result& result) {
  std::vector<Row> rows;
  std::ranges::copy_if(result.rows, std::back_inserter(rows), [](const Row& row) {
    return row.kind == "proved" && row.status == Status::kViolated && row.metric.starts_with("log10_tightness.");
  });
  return rows;
}

}  // namespace rankfall
