// split.h: pure attention layer by layer, its residual far below what a double can hold beside the mean.
#include <cstdio>
#include <vector>

#include <rankfall/model.h>
#include <rankfall/sample.h>
#include <rankfall/split.h>
#include <rankfall/variants.h>

namespace {

class Printer : public rankfall::SplitObserver {
 public:
  explicit Printer(const rankfall::Sample& sample) : sample_(sample) {}

  void hidden(rankfall::Index state, const rankfall::SplitState& x) override {
    const rankfall::SplitNorms norms = rankfall::split_norms(x, sample_.valid, false);
    const double now = norms.residual.composite;
    std::printf("layer %2ld  log10 residual %12.3f", static_cast<long>(state), now);
    if (state > 0) std::printf("   %.2f times the last one's", now / before_);
    std::printf("\n");
    before_ = now;
  }

 private:
  const rankfall::Sample& sample_;
  double before_ = 0;
};

}  // namespace

int main() {
  // Eight layers of a network that any config.json could describe; its weights are drawn from seed 0.
  const rankfall::Model model = rankfall::open_model("bert-tiny@init", 0, {.n_blocks = 8});
  const rankfall::Network attention_alone = rankfall::apply(rankfall::variant_named("san"), model.network);
  const std::vector<rankfall::Sample> samples = rankfall::random_samples(attention_alone, 0, 1, 32);
  Printer printer(samples[0]);
  const std::vector<rankfall::SplitObserver*> observers = {&printer};
  rankfall::track(attention_alone, *model.weights, samples, observers);
}
