#include <algorithm>
#include <array>
#include <cmath>

#include "base/mapped.h"
#include "result/statistics.h"
#include "studies/part_of.h"
#include "studies/paths/path_sums.h"
#include "studies/paths/path_views.h"
#include <rankfall/decompose.h>

namespace rankfall {
namespace {

constexpr std::array kShares = {"projection", "residual"};

// Shares by block and head over all samples.
struct Shares {
  std::vector<std::vector<Statistics>> heads;
  std::vector<Statistics> mlp;
};

class HeadRows {
 public:
  HeadRows(const PathsJob& job, const Progress& progress)
      : job_(job),
        progress_(progress),
        n_blocks_(static_cast<std::size_t>(job.network.sizes.n_blocks)),
        n_samples_(static_cast<double>(job.samples.size())),
        output_norms_(job.samples.size()) {
    const auto n_tokens = static_cast<double>(size_of(job.samples).n_tokens);
    term_bytes_ = n_tokens * static_cast<double>(job.network.sizes.d_model) * sizeof(double);
    attention_bytes_ = n_tokens * n_tokens * static_cast<double>(job.network.sizes.n_heads) * sizeof(double);
    for (Shares& shares : shares_) {
      shares.heads.resize(n_blocks_);
      shares.mlp.resize(n_blocks_);
    }
  }

  std::vector<Row> make() {
    find_shares();
    for (std::size_t d = 0; d < kShares.size(); ++d) share_rows(d);
    norm_rows(heaviest());
    return std::move(rows_);
  }

 private:
  ForwardOptions forward_options(double first, std::size_t count) const {
    return {part_of(progress_, first, 2 * n_samples_, "heads", static_cast<double>(count))};
  }

  void find_shares() {
    const double bytes = term_bytes_ * (static_cast<double>(n_blocks_) + 8) + attention_bytes_;
    for_groups(job_.samples.size(), bytes, [&](std::size_t first, std::size_t count) {
      std::vector<std::array<bool, 2>> has(count);
      const auto found = adjoint_shares(
          job_.network, *job_.model.weights, job_.samples.subspan(first, count),
          [&](std::size_t s, const MatrixRef<double>& y) {
            const Whole whole(y, job_.samples[first + s].valid);
            output_norms_[first + s] = std::sqrt(whole.square);
            has[s] = {whole.has_shares, whole.has_residual_shares};
            return std::vector<Matrix<double>>{whole.projection(), whole.residual_projection()};
          },
          {.by_length = false}, forward_options(static_cast<double>(first), count));
      for (std::size_t s = 0; s < count; ++s) {
        for (std::size_t d = 0; d < kShares.size(); ++d) add(found[s][d], has[s].at(d), shares_.at(d));
      }
    });
  }

  // What is no number of this sample still has its place.
  void add(const auto& found, bool has, Shares& shares) const {
    for (std::size_t b = 0; b < n_blocks_; ++b) {
      const Matrix<double>& heads = found.heads[b];
      shares.heads[b].resize(static_cast<std::size_t>(heads.rows()));
      if (!has) continue;
      for (Index h = 0; h < heads.rows(); ++h) shares.heads[b][static_cast<std::size_t>(h)].add(heads(h, 0));
      shares.mlp[b].add(found.mlp(static_cast<Index>(b), 0));
    }
  }

  void put(Row row, const Statistics& statistics) {
    set(row, statistics);
    if (!row.mean && row.metric.ends_with("share.residual")) set_rounding_floor(row);
    rows_.push_back(std::move(row));
  }

  void share_rows(std::size_t d) {
    std::vector<bool> has_mlp(n_blocks_, false);
    for (const SubLayer& layer : job_.network.layers) {
      if (layer.with<Mlp>() || layer.with<Elementwise>()) has_mlp[static_cast<std::size_t>(layer.block)] = true;
    }
    for (std::size_t b = 0; b < n_blocks_; ++b) {
      const auto& heads = shares_.at(d).heads[b];
      for (std::size_t h = 0; h < heads.size(); ++h) {
        put({.layer = b, .head = h, .metric = std::string("head.share.") + kShares.at(d)}, heads[h]);
      }
      if (has_mlp[b]) put({.layer = b, .metric = std::string("mlp.share.") + kShares.at(d)}, shares_.at(d).mlp[b]);
    }
  }

  // The heads with the largest shares of the residual.
  std::vector<Head> heaviest() const {
    struct Ranked {
      Head head;
      double share;
    };
    std::vector<Ranked> ranking;
    for (const Row& row : rows_) {
      if (row.metric == "head.share.residual") {
        ranking.push_back({{*row.layer, *row.head}, std::abs(row.mean.value_or(0))});
      }
    }
    std::ranges::stable_sort(ranking, std::ranges::greater{}, &Ranked::share);
    ranking.resize(std::min(ranking.size(), static_cast<std::size_t>(std::max<Index>(0, job_.options.n_through))));
    return mapped<Head>(ranking, &Ranked::head);
  }

  // The norm of all that passes each of these heads.
  void norm_rows(const std::vector<Head>& heads) {
    std::vector<std::vector<double>> through(job_.samples.size());
    const double bytes = 3 * term_bytes_ * static_cast<double>(heads.size() + 1) + attention_bytes_;
    for_groups(job_.samples.size(), bytes, [&](std::size_t first, std::size_t count) {
      const auto samples = job_.samples.subspan(first, count);
      const auto terms = through_heads(job_.network, *job_.model.weights, samples, heads,
                                       forward_options(n_samples_ + static_cast<double>(first), count));
      for (std::size_t s = 0; s < count; ++s) {
        for (const Matrix<double>& y : terms[s]) {
          through[first + s].push_back(std::sqrt(valid_product(y, y, samples[s].valid)));
        }
      }
    });
    for (std::size_t i = 0; i < heads.size(); ++i) {
      Statistics norm;
      Statistics relative;
      for (std::size_t s = 0; s < job_.samples.size(); ++s) {
        norm.add(through[s][i]);
        if (output_norms_[s] > 0) relative.add(through[s][i] / output_norms_[s]);
      }
      put({.layer = heads[i].block, .head = heads[i].head, .metric = "head.norm.frobenius"}, norm);
      put({.layer = heads[i].block, .head = heads[i].head, .metric = "head.relative_norm.frobenius"}, relative);
    }
  }

  const PathsJob& job_;
  const Progress& progress_;
  std::size_t n_blocks_;
  double n_samples_;
  double term_bytes_ = 0, attention_bytes_ = 0;
  std::vector<double> output_norms_;
  std::array<Shares, 2> shares_;  // of kShares
  std::vector<Row> rows_;
};

}  // namespace

std::vector<Row> head_rows(const PathsJob& job, const Progress& progress) { return HeadRows(job, progress).make(); }

}  // namespace rankfall
