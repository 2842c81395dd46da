#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/part_of.h"
#include "analysis/path_views.h"
#include "linalg/norms.h"
#include "linalg/norms_impl.h"
#include "result/statistics.h"
#include <rankfall/decompose.h>

namespace rankfall {

double valid_product(const MatrixRef<double>& a, const MatrixRef<double>& b, std::span<const std::uint8_t> valid) {
  double sum = 0;
  for (const Index i : valid_rows(a.rows(), valid)) sum += a.row(i).dot(b.row(i));
  return sum;
}

Matrix<double> projection_direction(const MatrixRef<double>& y, std::span<const std::uint8_t> valid) {
  Matrix<double> g = Matrix<double>::Zero(y.rows(), y.cols());
  for (const Index i : valid_rows(y.rows(), valid)) g.row(i) = y.row(i);
  const double square = g.squaredNorm();
  return square == 0 ? g : Matrix<double>(g / square);
}

Matrix<double> residual_direction(const MatrixRef<double>& y, std::span<const std::uint8_t> valid) {
  Matrix<double> g = Matrix<double>::Zero(y.rows(), y.cols());
  const Matrix<double> rows = centred_rows<double>(y, valid);
  const std::vector<Index> indices = valid_rows(y.rows(), valid);
  for (std::size_t i = 0; i < indices.size(); ++i) g.row(indices[i]) = rows.row(static_cast<Index>(i));
  const double square = g.squaredNorm();
  return square == 0 ? g : Matrix<double>(g / square);
}

namespace {

void put(Row& row, const Statistics& statistics) {
  row.mean = statistics.mean();
  row.std = statistics.std();
  row.n = statistics.n();
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
  std::vector<Matrix<double>> outputs(job.samples.size());
  ForwardOptions forward;
  forward.progress = part_of(progress, 0, 2, "heads");
  const auto found = adjoint_shares(
      job.network, *job.model->weights, job.samples,
      [&](std::size_t s, const MatrixRef<double>& y) {
        outputs[s] = y;
        const auto& valid = job.samples[s].valid;
        return std::vector<Matrix<double>>{projection_direction(y, valid), residual_direction(y, valid)};
      },
      {.by_length = false}, forward);
  for (const auto& sample : found) {
    for (std::size_t d = 0; d < kShares.size(); ++d) {
      for (std::size_t b = 0; b < n_blocks; ++b) {
        const Matrix<double>& heads = sample[d].heads[b];
        shares[d].heads[b].resize(static_cast<std::size_t>(heads.rows()));
        for (Index h = 0; h < heads.rows(); ++h) shares[d].heads[b][static_cast<std::size_t>(h)].add(heads(h, 0));
        shares[d].mlp[b].add(sample[d].mlp(static_cast<Index>(b), 0));
      }
    }
  }

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
  forward.progress = part_of(progress, 1, 2, "heads");
  const auto through = through_heads(job.network, *job.model->weights, job.samples, top, forward);
  for (std::size_t i = 0; i < top.size(); ++i) {
    Statistics norm;
    Statistics relative;
    for (std::size_t s = 0; s < job.samples.size(); ++s) {
      const auto& valid = job.samples[s].valid;
      const double size = std::sqrt(valid_product(through[s][i], through[s][i], valid));
      norm.add(size);
      relative.add(size / std::sqrt(valid_product(outputs[s], outputs[s], valid)));
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
