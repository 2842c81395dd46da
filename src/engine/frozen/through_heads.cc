#include "base/errors.h"
#include "base/mapped.h"
#include "engine/frozen/freezing.h"
#include "engine/frozen/frozen_domain.h"

namespace rankfall {
namespace {

// The domain of a term that goes all ways at once: through one head only where it begins, through every head and the
// skip afterwards.
class FrozenRest : public FrozenDomain<FrozenRest, Matrix<double>> {
 public:
  explicit FrozenRest(std::optional<Index> head) : head_(head) {}

  State norm(const Norm& norm, NormPlace place, State x) const {
    return norm_linear(frozen(norm, place), std::move(x));
  }
  State attend(const Attention& attention, const State& x) const {
    return head_ ? head_linear(layer(), attention, *head_, x) : attention_linear(layer(), attention, x);
  }
  State branch(const State& x) const { return State::Zero(x.rows(), x.cols()); }
  State sum(double fx, const State& x, double fy, const State& y) const { return fx * x + fy * y; }
  State combine(double skip, const State& x, double branch, const State& y) const {
    return head_ ? State(branch * y) : State(skip * x + branch * y);
  }

 private:
  std::optional<Index> head_;
};

class ThroughRun final : public FrozenObserver {
 public:
  explicit ThroughRun(std::span<const Head> heads) : heads_(heads), terms_(heads.size()) {}

  void layer(const FrozenLayer& f) override {
    const bool is_attention = f.layer && f.layer->attention();
    parallel_for(std::ssize(heads_), [&](Index n) {
      const auto i = static_cast<std::size_t>(n);
      const bool begins = is_attention && heads_[i].block == f.block;
      if (!begins && is_zero(terms_[i])) return;
      FrozenRest domain(begins ? std::optional(heads_[i].head) : std::nullopt);
      if (begins) terms_[i] = f.input;
      terms_[i] = domain.advance(f, std::move(terms_[i]));
    });
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
      throw usage_error("head L{}H{}: the network has {} blocks of {} heads", head.block, head.head,
                        network.sizes.n_blocks, network.sizes.n_heads);
    }
  }
  auto runs = freeze_with<ThroughRun>(network, weights, samples, options,
                                      [&](std::size_t, const Matrix<double>&) { return ThroughRun(heads); });
  return mapped<std::vector<Matrix<double>>>(runs, &ThroughRun::take);
}

}  // namespace rankfall
