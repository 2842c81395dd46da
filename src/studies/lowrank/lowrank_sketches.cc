#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "base/mapped.h"
#include "result/line_fit.h"
#include "result/statistics.h"
#include "studies/lowrank/lowrank_parts.h"
#include "view/number_text.h"

namespace rankfall {
namespace {

constexpr Index kMost = 1024;  // k in units of n; from 1 on nothing is saved
constexpr std::size_t kWeightKinds = 3;
const char* const kKindNames[kWeightKinds] = {"values", "gaussian", "mean_free"};
struct ClaimName {
  SketchClaim claim;
  const char* name;
};
constexpr ClaimName kClaims[] = {{SketchClaim::kRelative, "relative"}, {SketchClaim::kNorms, "norms"}};

// All heads' draws of a kind.
std::vector<SketchDraw> draws_of(const AtLength& at, std::size_t kind) {
  std::vector<SketchDraw> draws;
  for (const HeadAtLength& head : at.heads) {
    draws.insert(draws.end(), head.draws[kind].begin(), head.draws[kind].end());
  }
  return draws;
}

// Powers of two up to the larger of n and the claimed k, and that itself.
std::vector<Index> sketch_sizes(Index n, Index claimed) {
  std::vector<Index> sizes;
  for (Index k = 1; k <= 4 * n; k *= 2) sizes.push_back(k);
  if (claimed > 0) sizes.push_back(claimed);
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

// Which of the functions of n the values follow, each by a line with least squares.
std::string growth_words(const std::vector<double>& n, const std::vector<double>& k, const LineFit& power,
                         std::size_t n_lengths) {
  if (n_lengths < 3) return "too few lengths to tell";
  if (n.size() < 3)
    return fmt::format("at {} of {} lengths no k up to {} n suffices", n_lengths - n.size(), n_lengths, kMost);
  const auto [least, most] = std::ranges::minmax(k);
  const std::string range = fmt::format("k from {:.0f} to {:.0f} for n from {:.0f} to {:.0f}, like n^{}", least, most,
                                        n.front(), n.back(), logarithm(power.slope));
  if (std::abs(power.slope) < 0.1) return range + ": it does not grow with n";
  struct Law {
    const char* name;
    double (*of)(double);
  };
  constexpr Law kLaws[] = {{"log n", [](double x) { return std::log(x); }},
                           {"log^2 n", [](double x) { return std::log(x) * std::log(x); }},
                           {"n", [](double x) { return x; }}};
  const Law* best = nullptr;
  double best_r2 = 0;
  for (const Law& law : kLaws) {
    const LineFit fit = fit_line(mapped<double>(n, law.of), k);
    if (fit.slope > 0 && fit.r2 > best_r2) {
      best_r2 = fit.r2;
      best = &law;
    }
  }
  if (power.slope < 0) return range + ": it falls with n";
  if (!best || best_r2 < 0.8) return range + ": neither log n, log^2 n nor n fits";
  return fmt::format("{}: of a + b f(n), f = {} fits best (R² {:.3f})", range, best->name, best_r2);
}

// States what holds of the theorem, by the failure rates at the claimed k of the longest input.
std::string statement(const LowrankJob& job, const AtLength& at) {
  const double eps = job.options.sketch_eps;
  const Index claimed = claimed_k(at.n_tokens, eps);
  const auto rate = [&](std::size_t kind, SketchClaim claim) {
    return trimmed(failure_rate(draws_of(at, kind), claim, eps, std::max<Index>(1, claimed)).rate, 2);
  };
  return fmt::format(
      "at eps = {}, n = {} and the claimed k = {}{}: |P R^T R w - P w| <= eps |P w| fails in {} of the draws for w "
      "= X W_V a, {} for Gaussian w, {} for mean-free w; <= eps |P|_F |w| fails in {}, {}, {}. "
      "Johnson-Lindenstrauss bounds the error by norms, not by |P w|: the printed form holds only where w has a large "
      "part that P keeps, such as a mean that all tokens share",
      eps, at.n_tokens, claimed, claimed >= at.n_tokens ? " (not below n)" : "", rate(0, SketchClaim::kRelative),
      rate(1, SketchClaim::kRelative), rate(2, SketchClaim::kRelative), rate(0, SketchClaim::kNorms),
      rate(1, SketchClaim::kNorms), rate(2, SketchClaim::kNorms));
}

}  // namespace

std::vector<Row> sketch_rows(const LowrankJob& job, std::span<const AtLength> lengths) {
  const double eps = job.options.sketch_eps;
  std::vector<Row> rows;
  const auto row_at = [&](const char* metric, Index n) {
    return Row{.layer = job.options.block, .metric = metric, .tokens = n};
  };
  const auto compare = [](Row& row, Index n) {
    if (row.mean && *row.mean >= static_cast<double>(n)) set_status(row, Status::kNoSaving, "k >= n");
  };
  for (const AtLength& at : lengths) {
    Row row = row_at("jl.k_claimed", at.n_tokens);
    row.mean = static_cast<double>(claimed_k(at.n_tokens, eps));
    compare(row, at.n_tokens);
    rows.push_back(std::move(row));
  }
  for (std::size_t kind = 0; kind < kWeightKinds; ++kind) {
    for (const ClaimName& claim : kClaims) {
      std::vector<double> n_found, k_found, log_n, log_k;
      for (const AtLength& at : lengths) {
        const std::vector<SketchDraw> draws = draws_of(at, kind);
        const auto add_row = [&](Row row) {
          row.claim = claim.name;
          row.kind = kKindNames[kind];
          rows.push_back(std::move(row));
        };
        for (const Index k : sketch_sizes(at.n_tokens, claimed_k(at.n_tokens, eps))) {
          const FailureRate rate = failure_rate(draws, claim.claim, eps, k);
          for (const auto& [metric, value] : {std::pair("jl.failure", rate.rate), std::pair("jl.failure.low", rate.low),
                                              std::pair("jl.failure.high", rate.high)}) {
            Row row = row_at(metric, at.n_tokens);
            row.k = k;
            row.mean = value;
            row.n = rate.n;
            if (k >= at.n_tokens) set_status(row, Status::kNoSaving, "k >= n");
            add_row(std::move(row));
          }
        }
        Row needed = row_at("jl.k_needed", at.n_tokens);
        needed.n = std::ssize(draws);
        const auto k = smallest_k(draws, claim.claim, eps, job.options.failure, kMost * at.n_tokens);
        if (k) {
          needed.mean = static_cast<double>(*k);
          compare(needed, at.n_tokens);
          n_found.push_back(static_cast<double>(at.n_tokens));
          k_found.push_back(*needed.mean);
          log_n.push_back(std::log(n_found.back()));
          log_k.push_back(std::log(k_found.back()));
        } else {
          needed.status = Status::kNotFound;
          needed.k = kMost * at.n_tokens;
          needed.verdict = fmt::format("k >= n: above {} n", kMost);
        }
        add_row(std::move(needed));
      }
      Row growth = fitted_row("jl.growth", kKindNames[kind], log_n, log_k);
      growth.layer = job.options.block;
      growth.claim = claim.name;
      growth.verdict = growth_words(n_found, k_found, fit_line(log_n, log_k), lengths.size());
      rows.push_back(std::move(growth));
    }
  }
  if (!lengths.empty()) {
    Row row = row_at("jl.statement", lengths.back().n_tokens);
    row.verdict = statement(job, lengths.back());
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace rankfall
