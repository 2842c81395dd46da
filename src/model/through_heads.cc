#include "model/forward_impl.h"
#include "model/freezing.h"

namespace rankfall {
namespace {

// The domain of a term that goes all ways at once: through one head only where it begins, through every head and the
// skip afterwards.
class FrozenRest {
 public:
  using State = Matrix<double>;
  using Layer = FrozenLayer;

  void enter(const FrozenLayer& layer, std::optional<Index> head) {
    layer_ = &layer;
    head_ = head;
  }
  void enter(const FrozenLayer& layer) { enter(layer, std::nullopt); }
  State norm(const Norm& norm, NormPlace place, State x) const {
    return norm_linear(*layer_, norm, place, std::move(x));
  }
  State apply(const Attention& attention, const State& x) const {
    return head_ ? head_linear(*layer_, attention, *head_, x) : attention_linear(*layer_, attention, x);
  }
  State apply(const Mlp& /*mlp*/, const State& x) const { return State::Zero(x.rows(), x.cols()); }
  State apply(const Elementwise& /*f*/, const State& x) const { return State::Zero(x.rows(), x.cols()); }
  State combine(double skip, const State& x, double branch, const State& y) const {
    return head_ ? State(branch * y) : State(skip * x + branch * y);
  }
  void hidden(Index /*state*/, const State& /*x*/) const {}

 private:
  const FrozenLayer* layer_ = nullptr;
  std::optional<Index> head_;
};

class ThroughRun final : public FrozenObserver {
 public:
  explicit ThroughRun(std::span<const Head> heads) : heads_(heads), terms_(heads.size()) {}

  void layer(const FrozenLayer& f) override {
    const bool is_attention = std::holds_alternative<Attention>(f.layer->f);
    parallel_for(static_cast<Index>(heads_.size()), [&](Index n) {
      const auto i = static_cast<std::size_t>(n);
      const bool begins = is_attention && heads_[i].block == f.block;
      if (!begins && terms_[i].rows() == 0) return;
      FrozenRest domain;
      domain.enter(f, begins ? std::optional(heads_[i].head) : std::nullopt);
      if (begins) terms_[i] = f.input;
      terms_[i] = step(domain, *f.layer, std::move(terms_[i]));
    });
  }
  void final_norm(const FrozenLayer& f, const Norm& norm) override {
    for (Matrix<double>& term : terms_) term = norm_linear(f, norm, NormPlace::kFinal, std::move(term));
  }
  std::vector<Matrix<double>> take() { return std::move(terms_); }

 private:
  std::span<const Head> heads_;
  std::vector<Matrix<double>> terms_;
};

}  // namespace

std::vector<std::vector<Matrix<double>>> through_heads(const Network& network, const WeightSource& weights,
                                                       std::span<const Sample> samples, std::span<const Head> heads,
                                                       const ForwardOptions& options) {
  for (const Head& head : heads) {
    if (head.block < 0 || head.block >= network.sizes.n_blocks || head.head < 0 || head.head >= network.sizes.n_heads) {
      throw Error(ErrorKind::kUsage, fmt::format("head L{}H{}: the network has {} blocks of {} heads", head.block,
                                                 head.head, network.sizes.n_blocks, network.sizes.n_heads));
    }
  }
  const BlasThreads one_blas_thread(1);
  std::vector<ThroughRun> runs(samples.size(), ThroughRun(heads));
  std::vector<FrozenObserver*> watch;
  watch.reserve(samples.size());
  for (ThroughRun& run : runs) watch.push_back(&run);
  freeze(network, weights, samples, watch, input_states<double>(network, weights, samples), options);
  std::vector<std::vector<Matrix<double>>> terms;
  terms.reserve(samples.size());
  for (ThroughRun& run : runs) terms.push_back(run.take());
  return terms;
}

}  // namespace rankfall
