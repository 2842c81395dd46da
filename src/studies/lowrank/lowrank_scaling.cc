#include <array>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "base/parallel.h"
#include "base/random.h"
#include "linalg/gemm.h"
#include "linalg/leading_values.h"
#include "linalg/spectra.h"
#include "result/line_fit.h"
#include "result/statistics.h"
#include "studies/lowrank/lowrank_parts.h"
#include "view/number_text.h"

namespace rankfall {
namespace {

// Softmax of independent N(0, logit_std^2): the matrices that the theorem is about.
double independent_sigma2(Index n, double deviation, std::uint64_t seed, Index draw) {
  Matrix<float> drawn(n, n);
  fill_normal(random_key(seed, fmt::format("independent.{}.{}", n, draw)), 0,
              std::span(drawn.data(), static_cast<std::size_t>(drawn.size())), 1);
  Matrix<double> p = (deviation * drawn.cast<double>()).array().exp();
  for (Index i = 0; i < n; ++i) p.row(i) /= p.row(i).sum();
  return second_value(p, seed);
}

std::string scaling_words(const std::string& kind, const Row& fit) {
  if (!fit.mean || !fit.std) return "too few lengths to fit";
  const std::string law =
      fmt::format("sigma_2 ~ n^{} (standard error {})", logarithm(*fit.mean), significant(*fit.std, 1));
  if (kind == "independent") {
    return law + (std::abs(*fit.mean + 0.5) < 0.05 ? ": n^-1/2, as the theorem says" : ": not n^-1/2");
  }
  if (std::abs(*fit.mean + 0.5) < 0.1) return law + ": as for independent logits";
  return law + (*fit.mean > -0.4 ? ": slower than n^-1/2; logits q_i . k_j of n tokens are not independent, their rank "
                                   "is at most d_head"
                                 : ": faster than n^-1/2");
}

}  // namespace

double second_value(const MatrixRef<double>& p, std::uint64_t seed) {
  constexpr Index kAllBelow = 512;
  if (p.rows() < 2) return 0;
  if (p.rows() <= kAllBelow) return singular_values<double>(p)[1];
  return leading_values(p, {.dimension = 192, .seed = seed}).values[1];
}

Row fitted_row(const char* metric, const std::string& kind, const std::vector<double>& log_n,
               const std::vector<double>& log_value) {
  const LineFit fit = fit_line(log_n, log_value);
  Row row{.metric = metric, .n = fit.n, .kind = kind};
  if (fit.n >= 2) row.mean = fit.slope;
  if (fit.n >= 3) row.std = fit.slope_error;
  return row;
}

std::vector<Row> scaling_rows(const LowrankJob& job, std::span<const AtLength> lengths) {
  const BlasThreads one_blas_thread(1);
  std::vector<Row> rows;
  std::vector<double> log_n, log_model, log_independent;
  const auto add_row = [&](const char* metric, const char* kind, Index n, const Statistics& statistics) {
    set(rows.emplace_back(Row{.layer = job.options.block, .metric = metric, .kind = kind, .tokens = n}), statistics);
  };
  for (const AtLength& at : lengths) {
    Statistics sigma2, deviation, independent;
    for (const HeadAtLength& head : at.heads) {
      sigma2.add(head.sigma2);
      deviation.add(head.logit_std);
    }
    constexpr Index kDraws = 4;
    std::array<double, kDraws> drawn{};
    parallel_for(kDraws, [&](Index t) {
      drawn[static_cast<std::size_t>(t)] =
          independent_sigma2(at.n_tokens, deviation.mean().value_or(0), job.options.seed, t);
    });
    for (const double value : drawn) independent.add(value);
    add_row("scaling.sigma2", "model", at.n_tokens, sigma2);
    add_row("scaling.sigma2", "independent", at.n_tokens, independent);
    add_row("scaling.logit_std", "model", at.n_tokens, deviation);
    if (sigma2.mean().value_or(0) <= 0 || independent.mean().value_or(0) <= 0) continue;
    log_n.push_back(std::log(static_cast<double>(at.n_tokens)));
    log_model.push_back(std::log(*sigma2.mean()));
    log_independent.push_back(std::log(*independent.mean()));
  }
  for (const auto& [kind, log_value] : {std::pair("model", &log_model), std::pair("independent", &log_independent)}) {
    Row row = fitted_row("scaling.exponent", kind, log_n, *log_value);
    row.layer = job.options.block;
    row.verdict = scaling_words(kind, row);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace rankfall
