#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/part_of.h"
#include "analysis/path_sums.h"
#include "analysis/path_views.h"
#include "result/statistics.h"
#include <rankfall/decompose.h>

namespace rankfall {

namespace {

void put(Row& row, const Statistics& statistics) {
  set(row, statistics);
  if (!row.mean && row.metric.ends_with("share.residual")) row.verdict = "rounding floor";
}

constexpr std::array kShares = {"projection", "residual"};

// Shares by block and head over all samples, for each of kShares.
struct Shares {
  std::vector<std::vector<Statistics>> heads;
  std::vector<Statistics> mlp;
};

}  // namespace

std::vector<Row> head_rows(const PathsJob& job, const Progress& progress) {
  const auto n_blocks = static_cast<std::size_t>(job.network.sizes.n_blocks);
  std::array<Shares, 2> shares;
  for (Shares& s : shares) {
    s.heads.resize(n_blocks);
    s.mlp.resize(n_blocks);
  }
  std::vector<bool> has_mlp(n_blocks, false);
  for (const SubLayer& layer : job.network.layers) {
    if (!std::holds_alternative<Attention>(layer.f)) has_mlp[static_cast<std::size_t>(layer.block)] = true;
  }
  const auto n_samples = static_cast<double>(job.samples.size());
  const auto n_tokens = static_cast<double>(size_of(job.samples).n_tokens);
  const double term = n_tokens * static_cast<double>(job.network.sizes.d_model) * sizeof(double);
  const double attention = n_tokens * n_tokens * static_cast<double>(job.network.sizes.n_heads) * sizeof(double);
  std::vector<double> norms(job.samples.size());  // of the outputs
  for_groups(job.samples.size(), term * (static_cast<double>(n_blocks) + 8) + attention,
             [&](std::size_t first, std::size_t count) {
               std::vector<std::array<bool, 2>> has(count);
               ForwardOptions forward;
               forward.progress =
                   part_of(progress, static_cast<double>(first), 2 * n_samples, "heads", static_cast<double>(count));
               const auto found = adjoint_shares(
                   job.network, *job.model->weights, job.samples.subspan(first, count),
                   [&](std::size_t s, const MatrixRef<double>& y) {
                     const Whole whole(y, job.samples[first + s].valid);
                     norms[first + s] = std::sqrt(whole.square);
                     has[s] = {whole.has_shares, whole.has_residual_shares};
                     return std::vector<Matrix<double>>{whole.projection(), whole.residual_projection()};
                   },
                   {.by_length = false}, forward);
               for (std::size_t s = 0; s < count; ++s) {
                 for (std::size_t d = 0; d < kShares.size(); ++d) {
                   for (std::size_t b = 0; b < n_blocks; ++b) {
                     const Matrix<double>& heads = found[s][d].heads[b];
                     shares.at(d).heads[b].resize(static_cast<std::size_t>(heads.rows()));
                     if (!has[s].at(d)) continue;
                     for (Index h = 0; h < heads.rows(); ++h) {
                       shares.at(d).heads[b][static_cast<std::size_t>(h)].add(heads(h, 0));
                     }
                     shares.at(d).mlp[b].add(found[s][d].mlp(static_cast<Index>(b), 0));
                   }
                 }
               }
             });

  std::vector<Row> rows;
  struct Ranked {
    Head head;
    double share;
  };
  std::vector<Ranked> ranking;
  for (std::size_t d = 0; d < kShares.size(); ++d) {
    for (std::size_t b = 0; b < n_blocks; ++b) {
      for (std::size_t h = 0; h < shares[d].heads[b].size(); ++h) {
        Row& row = rows.emplace_back(job.row(std::string("head.share.") + kShares.at(d)));
        row.layer = static_cast<Index>(b);
        row.head = static_cast<Index>(h);
        put(row, shares[d].heads[b][h]);
        if (d == 1) ranking.push_back({{*row.layer, *row.head}, std::abs(row.mean.value_or(0))});
      }
      if (!has_mlp[b]) continue;
      Row& row = rows.emplace_back(job.row(std::string("mlp.share.") + kShares.at(d)));
      row.layer = static_cast<Index>(b);
      put(row, shares[d].mlp[b]);
    }
  }

  // The norm of all that passes the heads that matter most.
  std::ranges::stable_sort(ranking, std::ranges::greater{}, &Ranked::share);
  ranking.resize(std::min(ranking.size(), static_cast<std::size_t>(std::max<Index>(0, job.options->n_through))));
  std::vector<Head> top;
  top.reserve(ranking.size());
  for (const Ranked& ranked : ranking) top.push_back(ranked.head);
  std::vector<std::vector<double>> through(job.samples.size());  // norms
  for_groups(job.samples.size(), 3 * term * static_cast<double>(top.size() + 1) + attention,
             [&](std::size_t first, std::size_t count) {
               ForwardOptions forward;
               forward.progress = part_of(progress, n_samples + static_cast<double>(first), 2 * n_samples, "heads",
                                          static_cast<double>(count));
               const auto samples = job.samples.subspan(first, count);
               const auto terms = through_heads(job.network, *job.model->weights, samples, top, forward);
               for (std::size_t s = 0; s < count; ++s) {
                 for (const Matrix<double>& y : terms[s]) {
                   through[first + s].push_back(std::sqrt(valid_product(y, y, samples[s].valid)));
                 }
               }
             });
  for (std::size_t i = 0; i < top.size(); ++i) {
    Statistics norm;
    Statistics relative;
    for (std::size_t s = 0; s < job.samples.size(); ++s) {
      norm.add(through[s][i]);
      if (norms[s] > 0) relative.add(through[s][i] / norms[s]);
    }
    const auto add = [&](const char* metric, const Statistics& statistics) {
      Row& row = rows.emplace_back(job.row(metric));
      row.layer = top[i].block;
      row.head = top[i].head;
      put(row, statistics);
    };
    add("head.norm.frobenius", norm);
    add("head.relative_norm.frobenius", relative);
  }
  return rows;
}

}  // namespace rankfall
