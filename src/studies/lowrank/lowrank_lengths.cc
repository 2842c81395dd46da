#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "result/statistics.h"
#include "studies/lowrank/lowrank_parts.h"
#include "studies/part_of.h"
#include <rankfall/forward.h>

namespace rankfall {
namespace {

// Deviation of log p along rows, over the keys that a row sees.
double logit_std(const MatrixRef<double>& p) {
  double squares = 0;
  Index n = 0;
  for (Index i = 0; i < p.rows(); ++i) {
    Statistics row;
    for (Index j = 0; j < p.cols(); ++j) {
      if (p(i, j) > 0) row.add(std::log(p(i, j)));
    }
    if (!row.std()) continue;
    squares += *row.std() * *row.std();
    ++n;
  }
  return n == 0 ? 0 : std::sqrt(squares / static_cast<double>(n));
}

// Watches one block's heads at one length.
class LengthObserver final : public Observer<double> {
 public:
  LengthObserver(const LowrankJob& job, Index n_tokens, AtLength& out) : job_(job), n_tokens_(n_tokens), out_(out) {
    out.n_tokens = n_tokens;
    out.heads.resize(static_cast<std::size_t>(job.network.sizes.n_heads));
  }

  Needs needs() const override { return {.attention = Needs::Attention::kWhole, .values = true}; }
  void values(Index block, const MatrixRef<double>& v) override {
    if (block == job_.options.block) values_ = v;
  }
  void attention(Index block, Index head, const MatrixRef<double>& p) override {
    if (block != job_.options.block) return;
    HeadAtLength& found = out_.heads[static_cast<std::size_t>(head)];
    if (job_.options.scaling) {
      found.sigma2 = second_value(p, job_.options.seed);
      found.logit_std = logit_std(p);
    }
    if (!job_.options.sketches) return;
    const Index n_heads = std::ssize(out_.heads);
    const Index n_draws = (job_.options.n_trials + n_heads - 1) / n_heads;
    const Index d_head = values_.cols() / n_kv_heads();
    const Index first = head * n_kv_heads() / n_heads * d_head;
    const Index n = p.rows();
    found.draws = {draw_sketches(p, combined_columns(values_.middleCols(first, d_head), key("direction", head)),
                                 n_draws, key("values", head)),
                   draw_sketches(p, gaussian_vectors(n, key("w", head)), n_draws, key("gaussian", head)),
                   draw_sketches(p, mean_free_vectors(n, key("w", head)), n_draws, key("mean_free", head))};
  }

 private:
  Index n_kv_heads() const {
    for (const SubLayer& layer : job_.network.layers) {
      const Attention* a = layer.attention();
      if (a && layer.block == job_.options.block) return a->n_kv_heads;
    }
    return job_.network.sizes.n_heads;
  }
  RandomKey key(std::string_view what, Index head) const {
    return random_key(job_.options.seed, fmt::format("lowrank.{}.{}.{}", what, n_tokens_, head));
  }

  const LowrankJob& job_;
  Index n_tokens_;
  AtLength& out_;
  Matrix<double> values_;
};

}  // namespace

Matrix<double> states_of(const LowrankJob& job, Index n_tokens) {
  Network entry = job.network;  // what the first block is given
  entry.layers.clear();
  entry.final_norm.reset();
  const std::vector<Matrix<double>> entering = forward<double>(entry, *job.model.weights, job.samples, {});
  Matrix<double> states(n_tokens, job.network.sizes.d_model);
  Index n = 0;
  for (std::size_t s = 0; s < entering.size(); ++s) {
    const auto& valid = job.samples[s].valid;
    for (Index i = 0; i < entering[s].rows() && n < n_tokens; ++i) {
      if (valid.empty() || valid[static_cast<std::size_t>(i)] != 0) states.row(n++) = entering[s].row(i);
    }
  }
  states.conservativeResize(n, Eigen::NoChange);
  return states;
}

std::vector<AtLength> look_at_lengths(const LowrankJob& job, const Matrix<double>& states, const Progress& progress) {
  Network network = with_depth(job.network, job.options.block + 1);
  network.sizes.max_positions = 0;  // of the input map, which is not run
  std::vector<AtLength> found;
  double total = 0;
  double done = 0;
  for (const Index n : job.options.lengths) total += static_cast<double>(n) * static_cast<double>(n);
  for (const Index n : job.options.lengths) {
    if (n > states.rows()) break;
    const Sample sample{HiddenState{states.topRows(n)}};
    LengthObserver observer(job, n, found.emplace_back());
    Observer<double>* watch = &observer;
    const double work = static_cast<double>(n) * static_cast<double>(n);
    forward<double>(network, *job.model.weights, std::span(&sample, 1), std::span(&watch, 1),
                    {.progress = part_of(progress, done, total, fmt::format("{} tokens", n), work)});
    done += work;
  }
  return found;
}

}  // namespace rankfall
