// forward.h: run a network and watch it. An observer says what it needs; what nobody needs is not computed.
#include <cstdio>
#include <vector>

#include <rankfall/forward.h>

namespace {

class Watcher : public rankfall::Observer<float> {
 public:
  rankfall::Needs needs() const override {
    rankfall::Needs needs;
    needs.hidden = true;
    needs.attention = rankfall::Needs::Attention::kWhole;
    needs.logits = true;
    return needs;
  }
  void hidden(rankfall::Index state, const rankfall::MatrixRef<float>& x) override {
    const double differences = (x.rowwise() - x.colwise().mean()).norm();
    std::printf("state %ld: tokens differ by %.3f of their size\n", static_cast<long>(state), differences / x.norm());
  }
  void attention(rankfall::Index block, rankfall::Index head, const rankfall::MatrixRef<float>& p) override {
    // Heads may come from several threads at once: write to separate places.
    std::printf("block %ld, head %ld: largest weight %.3f\n", static_cast<long>(block), static_cast<long>(head),
                static_cast<double>(p.maxCoeff()));
  }
  // One number per query: the smallest and the largest logit among the keys that it sees.
  void logits(rankfall::Index block, rankfall::Index head, rankfall::Index first_row,
              const rankfall::RowVectorRef<double>& smallest, const rankfall::RowVectorRef<double>& largest) override {
    std::printf("block %ld, head %ld, queries %ld to %ld: logits differ by %.3f at most\n", static_cast<long>(block),
                static_cast<long>(head), static_cast<long>(first_row),
                static_cast<long>(first_row + largest.size() - 1), (largest - smallest).maxCoeff());
  }
};

}  // namespace

int main() {
  const rankfall::Model model = rankfall::open_model("bert-tiny@init", 0);
  const std::vector<rankfall::Sample> samples = rankfall::random_samples(model.network, 0, 1, 16);
  Watcher watcher;
  const std::vector<rankfall::Observer<float>*> observers = {&watcher};
  const auto last = rankfall::forward<float>(model.network, *model.weights, samples, observers);
  std::printf("the last state is %ld x %ld\n", static_cast<long>(last[0].rows()), static_cast<long>(last[0].cols()));
}
