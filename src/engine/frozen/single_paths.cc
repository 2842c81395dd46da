#include <algorithm>

#include "base/errors.h"
#include "base/mapped.h"
#include "engine/frozen/freezing.h"
#include "engine/frozen/frozen_path.h"
#include "network/attention/kind.h"

namespace rankfall {
namespace {

std::optional<Index> head_at(const Path& path, const FrozenLayer& f) {
  if (!f.layer || !f.layer->attention()) return std::nullopt;
  for (const Head& head : path.heads) {
    if (head.block == f.block) return head.head;
  }
  return std::nullopt;
}

// Takes one sample's single paths along with the forward pass.
class FollowRun final : public FrozenObserver {
 public:
  FollowRun(const Sample& sample, const MatrixRef<double>& input, const std::vector<Path>& paths,
            const FollowOptions& options)
      : sample_(sample), paths_(paths), options_(options), terms_(paths.size()) {
    const CentredMatrix start = centred(input, sample.valid);
    const CentredMatrix identity = centred(Matrix<double>::Identity(input.rows(), input.rows()), sample.valid);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (paths[i].origin.kind == Origin::Kind::kEmbedding) terms_[i].term = start;
      if (options.attention) terms_[i].attention = identity;
    }
  }

  void layer(const FrozenLayer& f) override {
    parallel_for(std::ssize(paths_), [&](Index n) {
      const auto i = static_cast<std::size_t>(n);
      const auto head = head_at(paths_[i], f);
      PathTerm& path = terms_[i];
      path.term = path_step(paths_[i].origin, sample_.valid, f, head, std::move(path.term));
      if (!head || !options_.attention) return;
      const Matrix<double>& p = f.attention[static_cast<std::size_t>(*head)];
      const bool distributions = has_distributions(f.layer->attention()->weights);
      path.attention = options_.published_order ? product_attention(path.attention, p, distributions)
                                                : attention_product(p, distributions, sample_.valid, path.attention);
    });
  }
  std::vector<PathTerm> take() { return std::move(terms_); }

 private:
  const Sample& sample_;
  const std::vector<Path>& paths_;
  FollowOptions options_;
  std::vector<PathTerm> terms_;
};

// The heaviest partial paths of one sample.
class BeamRun final : public FrozenObserver {
 public:
  BeamRun(const Sample& sample, const MatrixRef<double>& input, Index beam)
      : sample_(sample), beam_(static_cast<std::size_t>(beam)) {
    paths_.push_back({{}, centred(input, sample.valid)});
  }

  void layer(const FrozenLayer& f) override {
    for (const Origin& origin : new_origins(f)) {
      if (std::ranges::none_of(paths_, [&](const Partial& p) { return p.path.origin == origin; })) {
        paths_.push_back({{origin, {}}, {}});
      }
    }
    std::vector<Move> moves;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      const bool choice = is_choice(paths_[i].path.origin, f);
      moves.push_back({i, std::nullopt, !choice});
      const auto n_heads = choice ? std::ssize(f.attention) : 0;
      for (Index h = 0; h < n_heads; ++h) moves.push_back({i, h});
    }
    // What is heavy is computed twice, so that not all are in memory at once.
    parallel_for(std::ssize(moves), [&](Index m) {
      Move& move = moves[static_cast<std::size_t>(m)];
      const CentredMatrix term = moved(f, move);
      move.norm = is_zero(term) ? -1 : frobenius(term, sample_.valid);
    });
    std::erase_if(moves, [](const Move& move) { return move.norm < 0; });
    std::ranges::stable_sort(
        moves, [](const Move& a, const Move& b) { return a.is_kept != b.is_kept ? a.is_kept : a.norm > b.norm; });
    const auto n_kept = static_cast<std::size_t>(std::ranges::count_if(moves, &Move::is_kept));
    moves.resize(std::min(moves.size(), n_kept + beam_));
    std::vector<Partial> next(moves.size());
    parallel_for(std::ssize(moves), [&](Index m) {
      const Move& move = moves[static_cast<std::size_t>(m)];
      Partial& partial = next[static_cast<std::size_t>(m)];
      partial = {paths_[move.from].path, moved(f, move)};
      if (move.head) partial.path.heads.push_back({f.block, *move.head});
    });
    paths_ = std::move(next);
  }

  std::vector<WeightedPath> take() {
    std::vector<WeightedPath> out;
    out.reserve(paths_.size());
    for (Partial& partial : paths_) out.push_back({std::move(partial.path), frobenius(partial.term, sample_.valid)});
    std::ranges::stable_sort(out, std::ranges::greater{}, &WeightedPath::norm);
    if (out.size() > beam_) out.resize(beam_);
    return out;
  }

 private:
  struct Partial {
    Path path;
    CentredMatrix term;
  };
  // A partial path with what it may do at this sub-layer.
  struct Move {
    std::size_t from;
    std::optional<Index> head;
    bool is_kept = false;  // not to be pruned: its origin is still growing
    double norm = 0;
  };

  CentredMatrix moved(const FrozenLayer& f, const Move& move) const {
    const Partial& from = paths_[move.from];
    return path_step(from.path.origin, sample_.valid, f, move.head, from.term);
  }

  const Sample& sample_;
  std::size_t beam_;
  std::vector<Partial> paths_;
};

void check_paths(const Network& network, const std::vector<Path>& paths) {
  for (const Path& path : paths) {
    Index last = path.origin.block.value_or(-1);
    for (const Head& head : path.heads) {
      if (head.block <= last || head.block >= network.sizes.n_blocks || head.head < 0 ||
          head.head >= network.sizes.n_heads) {
        throw usage_error(
            "path '{}' from {}: expected blocks that ascend from the origin on, below {}, and "
            "heads below {}",
            to_string(path), to_string(path.origin), network.sizes.n_blocks, network.sizes.n_heads);
      }
      last = head.block;
    }
  }
}

}  // namespace

std::vector<std::vector<PathTerm>> follow(const Network& network, const WeightSource& weights,
                                          std::span<const Sample> samples, std::span<const std::vector<Path>> paths,
                                          const FollowOptions& follow_options, const ForwardOptions& options) {
  if (paths.size() != samples.size()) {
    throw usage_error("{} lists of paths for {} samples", paths.size(), samples.size());
  }
  for (const auto& list : paths) check_paths(network, list);
  auto runs =
      freeze_with<FollowRun>(network, weights, samples, options, [&](std::size_t s, const Matrix<double>& input) {
        return FollowRun(samples[s], input, paths[s], follow_options);
      });
  return mapped<std::vector<PathTerm>>(runs, &FollowRun::take);
}

std::vector<std::vector<WeightedPath>> heaviest(const Network& network, const WeightSource& weights,
                                                std::span<const Sample> samples, Index beam,
                                                const ForwardOptions& options) {
  if (beam < 1) throw usage_error("a beam of {} paths, expected 1 at least", beam);
  auto runs = freeze_with<BeamRun>(network, weights, samples, options, [&](std::size_t s, const Matrix<double>& input) {
    return BeamRun(samples[s], input, beam);
  });
  return mapped<std::vector<WeightedPath>>(runs, &BeamRun::take);
}

}  // namespace rankfall
