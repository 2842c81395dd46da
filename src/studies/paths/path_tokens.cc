#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/errors.h"
#include "linalg/norms_impl.h"
#include "studies/part_of.h"
#include "studies/paths/path_views.h"
#include <rankfall/decompose.h>

namespace rankfall {
namespace {

// The output token that is meant, of a sample.
Index target_of(const Sample& sample, Index to) {
  const Index n = sample.n_tokens();
  const Index target = to < 0 ? n + to : to;
  const bool exists = target >= 0 && target < n;
  if (!exists || (!sample.valid.empty() && sample.valid[static_cast<std::size_t>(target)] == 0)) {
    throw usage_error("output token {}: {}", to,
                      exists ? "that token is padding in one of the samples"
                             : fmt::format("a sample has {} tokens, expected {} to {}", n, -n, n - 1));
  }
  return target;
}

// Row t alone, and row t's distance from the mean of all.
Matrix<double> token_direction(const MatrixRef<double>& y, Index token) {
  Matrix<double> g = Matrix<double>::Zero(y.rows(), y.cols());
  const double square = y.row(token).squaredNorm();
  if (square > 0) g.row(token) = y.row(token) / square;
  return g;
}
Matrix<double> deviation_direction(const MatrixRef<double>& y, Index token, std::span<const std::uint8_t> valid) {
  const std::vector<Index> rows = valid_rows(y.rows(), valid);
  const double share = 1 / static_cast<double>(rows.size());
  RowVector<double> deviation = RowVector<double>::Zero(y.cols());
  for (const Index i : rows) deviation += (y.row(token) - y.row(i)) * share;
  const double square = deviation.squaredNorm();
  Matrix<double> g = Matrix<double>::Zero(y.rows(), y.cols());
  if (square == 0) return g;
  for (const Index i : rows) g.row(i) = -share * deviation / square;
  g.row(token) += deviation / square;
  return g;
}

}  // namespace

std::vector<Row> token_rows(const PathsJob& job, const Progress& progress) {
  const auto samples =
      job.samples.first(std::min(job.samples.size(), static_cast<std::size_t>(job.options.n_to_samples)));
  for (const Sample& sample : samples) target_of(sample, *job.options.to);
  std::vector<Row> rows;
  // One sample at a time: each has its own target.
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const Sample& sample = samples[s];
    const Index target = target_of(sample, *job.options.to);
    bool has_residual = true;
    const auto shares = adjoint_shares(
        job.network, *job.model.weights, samples.subspan(s, 1),
        [&](std::size_t, const MatrixRef<double>& y) {
          const Whole whole(y, sample.valid);
          has_residual = whole.has_residual_shares;
          return std::vector<Matrix<double>>{token_direction(y, target), deviation_direction(y, target, sample.valid)};
        },
        {.by_length = true, .reach = target},
        {part_of(progress, static_cast<double>(s), static_cast<double>(samples.size()), "tokens")})[0];
    const std::string kind = fmt::format("to token {}", target);
    const auto add = [&](const char* metric, const Matrix<double>& values, bool sums) {
      for (Index k = 0; k < values.cols() + (sums ? 1 : 0); ++k) {
        for (const Index token : valid_rows(values.rows(), sample.valid)) {
          Row& row = rows.emplace_back(Row{.metric = metric, .sample = s, .kind = kind, .k = token});
          if (k < values.cols()) row.length = k;
          row.mean = k < values.cols() ? values(token, k) : values.row(token).sum();
        }
      }
    };
    add("token.reach", shares[0].reach, false);
    add("token.share.projection", shares[0].tokens, true);
    if (has_residual) add("token.share.residual", shares[1].tokens, true);
    // What comes from elsewhere: an MLP's output, biases.
    const auto others = [&](const char* metric, const AdjointShares& share) {
      const std::array<std::pair<Origin::Kind, const Matrix<double>*>, 2> sources = {
          std::pair{Origin::Kind::kMlp, &share.mlp}, std::pair{Origin::Kind::kBias, &share.bias}};
      for (const auto& [origin, values] : sources) {
        for (Index k = 0; k < values->cols(); ++k) {
          if (values->col(k).isZero(0)) continue;  // no such paths
          const double sum = values->col(k).sum();
          rows.push_back(
              {.metric = metric, .mean = sum, .sample = s, .length = k, .origin = Origin{origin, {}}, .kind = kind});
        }
      }
    };
    others("token.share.projection", shares[0]);
    if (has_residual) others("token.share.residual", shares[1]);
  }
  return rows;
}

}  // namespace rankfall
