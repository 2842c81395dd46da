#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/mapped.h"
#include "engine/split/split.h"
#include "linalg/gemm.h"
#include "studies/bounds/bounds_rows.h"
#include "studies/bounds/bounds_tally.h"
#include "studies/bounds/skip_conditions.h"
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
    const double log_residual = log_frobenius(centred_state(x, sample_.valid).r);
    if (found.floors.empty()) log_floor_ = log_residual;
    found.floors.push_back({log_residual, log_floor_, floor_fails_});
  }
  void attention(const LoadedLayer<double>& layer, const SplitState& in) override {
    AttentionBounds bounds = attention_bounds(layer, norms_[static_cast<std::size_t>(layer.index)], sample_, in);
    frozen_ = std::exchange(bounds.frozen, {});
    residual_ = std::exchange(bounds.residual, {});
    input_ = centred_state(in, sample_.valid);
    found.blocks.push_back(std::move(bounds));
  }
  void combined(const LoadedLayer<double>& layer, const SplitState& x, const SplitState& sum) override {
    const SubLayer& sub = *layer.layer;
    const CentredState after = centred_state(sum, sample_.valid);
    const CentredState before = centred_state(x, sample_.valid);
    const double log_before = log_frobenius(before.r);
    const double log_after = log_frobenius(after.r);
    const Reason fails = sub.attention() ? attention_floor(layer, before, log_after) : mlp_floor(layer, log_before);
    if (floor_fails_ == Reason::kNone) floor_fails_ = fails;
    if (!sub.post || floor_fails_ != Reason::kNone) return;
    const double behind = log_behind_norm(after, *sub.post, layer.weights.vector(sub.post->gain));
    if (behind == kLogZero && log_after != kLogZero) {
      floor_fails_ = Reason::kNorm;
    } else {
      log_floor_ += log_after == kLogZero ? 0 : behind - log_after;
    }
  }

  BoundsSample found;

 private:
  // Bounds of the residual behind attention and its skip; all in the Frobenius norm, where the mean is the minimiser.
  // Lower ones multiply the floor. Returns why there is none.
  Reason attention_floor(const LoadedLayer<double>& layer, const CentredState& before, double log_after) {
    const double log_before = log_frobenius(before.r);
    const SubLayer& sub = *layer.layer;
    const Branch& branch = *sub.with<Attention>();
    AttentionBounds& block = found.blocks.back();
    const double kept = log_before + log_or_zero(std::abs(sub.skip));
    const double log_branch = log_or_zero(std::abs(branch.scale));
    const double mixed = log_branch + log_mixed_values(frozen_);
    const double added = log_branch + block.log_output;
    const Reason form = branch.out ? Reason::kNorm : sub.branches.size() > 1 ? Reason::kParallelMlp : Reason::kNone;
    // Formed of what the bounds are made of: bounds can be equalities, and the state's residual has the rounding of the
    // whole forward pass.
    ScaledMatrix sum = residual_;
    add(sum, branch.scale, before.r, sub.skip);
    const double measured = form == Reason::kNone ? log_frobenius(sum) : log_after;
    const double upper = form == Reason::kNone ? log_sum(kept, std::min(added, mixed)) : INFINITY;
    block.inequalities.push_back({.name = "upper",
                                  .log_measured = measured,
                                  .log_bound = upper,
                                  .log_input = log_before,
                                  .log_allowed = upper,
                                  .fails = form,
                                  .is_proved = true});
    if (sub.skip == 0) return Reason::kNoSkip;
    if (form == Reason::kNone) skip_conditions(layer, before, block);
    double best = kLogZero;
    const auto lower = [&](const char* name, double bound, Reason why) {
      const bool is_positive = bound > kLogZero || kept == kLogZero;
      block.inequalities.push_back({.name = name,
                                    .log_measured = measured,
                                    .log_bound = why == Reason::kNone ? bound : kLogZero,
                                    .log_input = kept,
                                    .fails = why != Reason::kNone ? why
                                             : is_positive        ? Reason::kNone
                                                                  : Reason::kSkipMayCancel,
                                    .is_proved = true,
                                    .is_lower = true});
      if (why == Reason::kNone) best = std::max(best, bound);
    };
    lower("lower", log_difference(kept, added), form);
    lower("lower_data", log_difference(kept, mixed), form);
    const Reason plain = form != Reason::kNone ? form : branch.in ? Reason::kNorm : Reason::kNone;
    const WeightNorms& norms = norms_[static_cast<std::size_t>(layer.index)];
    lower("lower_spectral",
          log_difference(
              kept, log_before == kLogZero ? kLogZero : log_before + log_branch + log_mixed_weights(frozen_, norms)),
          plain);
    if (plain == Reason::kNone) {
      const LeastGain gain = least_gain(layer, frozen_, input_.r);
      if (gain.is_bound) lower("lower_exact", log_before + gain.log_bound, plain);
      if (gain.is_estimate) {
        block.inequalities.push_back({.name = "lower_estimate",
                                      .log_measured = measured,
                                      .log_bound = log_before + gain.log_estimate,
                                      .log_input = kept,
                                      .is_lower = true,
                                      .is_estimate = true});
      }
    } else {
      lower("lower_exact", kLogZero, plain);
    }
    if (form != Reason::kNone) return form;
    if (log_before == kLogZero) return Reason::kNone;
    if (best == kLogZero) return Reason::kSkipMayCancel;
    log_floor_ += best - log_before;
    return Reason::kNone;
  }

  void skip_conditions(const LoadedLayer<double>& layer, const CentredState& before, AttentionBounds& block) {
    const SubLayer& sub = *layer.layer;
    const Branch& branch = *sub.with<Attention>();
    const WeightNorms& norms = norms_[static_cast<std::size_t>(layer.index)];
    ScaledMatrix added = residual_;
    added.value *= branch.scale;
    rescale(added);
    block.lambda_measured = lambda_measured(before.r, added);
    if (branch.in) return;  // what follows is about attention that takes the state itself
    double whole = 0;       // sum_h |P_h|_2 |W_h|_2
    bool is_known = true;
    for (std::size_t h = 0; h < frozen_.size(); ++h) {
      const HeadWeightNorms& head = norms.heads[h];
      block.sharpening.push_back(
          sharpening(frozen_[h], head.values, std::ssize(head.values) < before.r.value.cols(), sub.skip, branch.scale));
      is_known = is_known && frozen_[h].norm.has_value();
      whole += frozen_[h].norm.value_or(0) * head.w_spectral;
    }
    block.lambda_proved = 1 + std::abs(branch.scale) * std::exp(log_mixed_weights(frozen_, norms));
    if (is_known) block.lambda_claimed = std::abs(branch.scale) * whole;
  }

  // |skip| - sup|f'| |W_1| |W_2|, where nothing norms the MLP's input or output.
  Reason mlp_floor(const LoadedLayer<double>& layer, double log_before) {
    const SubLayer& sub = *layer.layer;
    if (sub.skip == 0) return Reason::kNoSkip;
    const WeightNorms& norms = norms_[static_cast<std::size_t>(layer.index)];
    const Branch& branch = sub.branches[0];
    if (branch.in || branch.out || sub.branches.size() > 1 || !norms.branch_spectral) return Reason::kMlp;
    const double gain = std::abs(sub.skip) - *norms.branch_spectral;
    if (!(gain > 0)) return Reason::kMlp;
    if (log_before != kLogZero) log_floor_ += std::log(gain);
    return Reason::kNone;
  }

  const Sample& sample_;
  const std::vector<WeightNorms>& norms_;
  std::vector<FrozenHead> frozen_;  // of the attention that was last
  ScaledMatrix residual_;           // of its output
  CentredState input_;              // what entered it
  double log_floor_ = 0;            // what is left for certain
  Reason floor_fails_ = Reason::kNone;
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
