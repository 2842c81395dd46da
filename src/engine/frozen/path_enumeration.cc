#include <algorithm>

#include "base/errors.h"
#include "base/mapped.h"
#include "engine/forward_impl.h"
#include "engine/frozen/freezing.h"
#include "engine/frozen/frozen_path.h"

namespace rankfall {
namespace {

// Subtrees of about this many paths are the unit of parallel work, and as many of them are in memory as fit this.
constexpr double kSubtreePaths = 4096;
constexpr Index kWave = 64;

// What a path has become in each sample, up to some sub-layer.
struct PathNode {
  Path path;
  std::vector<CentredMatrix> terms;
};

class Enumerator {
 public:
  Enumerator(std::span<const Sample> samples, const std::vector<FrozenRecorder>& recorders)
      : samples_(samples), recorders_(recorders) {}

  Index n_layers() const { return std::ssize(recorders_[0].layers); }
  const FrozenLayer& layer(Index l) const { return recorders_[0].layers[static_cast<std::size_t>(l)]; }

  // All ways from sub-layer l up to sub-layer `end`, in order.
  void walk(PathNode node, Index l, Index end, const std::function<void(PathNode)>& arrive) const {
    if (l == end) {
      arrive(std::move(node));
      return;
    }
    const bool choice = is_choice(node.path.origin, layer(l));
    if (PathNode next = stepped(node, l, std::nullopt); is_alive(next, l)) walk(std::move(next), l + 1, end, arrive);
    const Index n_heads = choice ? static_cast<Index>(layer(l).attention.size()) : 0;
    for (Index h = 0; h < n_heads; ++h) {
      PathNode next = stepped(node, l, h);
      next.path.heads.push_back({layer(l).block, h});
      walk(std::move(next), l + 1, end, arrive);
    }
  }

  // The sub-layer from which on a subtree has at most kSubtreePaths paths.
  Index cut(Index first) const {
    double n = 1;
    Index l = n_layers();
    while (l > first) {
      n *= 1 + static_cast<double>(layer(l - 1).attention.size());
      if (n > kSubtreePaths) break;
      --l;
    }
    return l;
  }

 private:
  PathNode stepped(const PathNode& node, Index l, std::optional<Index> head) const {
    PathNode next{node.path, {}};
    next.terms.reserve(node.terms.size());
    for (std::size_t s = 0; s < samples_.size(); ++s) {
      next.terms.push_back(path_step(node.path.origin, samples_[s].valid,
                                     recorders_[s].layers[static_cast<std::size_t>(l)], head, node.terms[s]));
    }
    return next;
  }

  // A path that is zero after its origin's block does not exist.
  bool is_alive(const PathNode& node, Index l) const {
    const bool all_zero = std::ranges::all_of(node.terms, [](const auto& term) { return is_zero(term); });
    const bool may_begin = l + 1 < n_layers() && node.path.origin.block == layer(l + 1).block;
    return !all_zero || may_begin;
  }

  std::span<const Sample> samples_;
  const std::vector<FrozenRecorder>& recorders_;
};

struct Summary {
  Path path;
  std::vector<double> numbers;
};

}  // namespace

void enumerate(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
               const SummarisePath& summarise, const EmitPath& emit) {
  if (samples.empty()) throw usage_error("no samples");
  const BlasThreads one_blas_thread(1);
  const std::vector<Matrix<double>> inputs = input_states<double>(network, weights, samples);
  std::vector<FrozenRecorder> recorders(samples.size());
  const auto watch = mapped<FrozenObserver*>(recorders, [](FrozenRecorder& recorder) { return &recorder; });
  freeze(network, weights, samples, watch, inputs, {});
  const Enumerator enumerator(samples, recorders);

  const auto from = [&](const PathNode& root, Index first) {
    const Index cut = enumerator.cut(first);
    std::vector<PathNode> wave;
    const auto flush = [&] {
      std::vector<std::vector<Summary>> found(wave.size());
      parallel_for(std::ssize(wave), [&](Index i) {
        auto& mine = found[static_cast<std::size_t>(i)];
        enumerator.walk(std::move(wave[static_cast<std::size_t>(i)]), cut, enumerator.n_layers(), [&](PathNode node) {
          std::vector<double> numbers = summarise(node.path, node.terms);
          mine.push_back({std::move(node.path), std::move(numbers)});
        });
      });
      for (const auto& summaries : found) {
        for (const Summary& summary : summaries) emit(summary.path, summary.numbers);
      }
      wave.clear();
    };
    enumerator.walk(root, first, cut, [&](PathNode node) {
      wave.push_back(std::move(node));
      if (std::ssize(wave) == kWave) flush();
    });
    flush();
  };

  PathNode embedding{{}, {}};
  for (std::size_t s = 0; s < samples.size(); ++s) embedding.terms.push_back(centred(inputs[s], samples[s].valid));
  from(embedding, 0);
  const std::vector<CentredMatrix> nothing(samples.size());
  std::vector<Origin> known;
  for (Index l = 0; l < enumerator.n_layers(); ++l) {
    for (const Origin& origin : new_origins(enumerator.layer(l))) {
      if (std::ranges::find(known, origin) != known.end()) continue;
      known.push_back(origin);
      from({{origin, {}}, nothing}, l);
    }
  }
}

}  // namespace rankfall
