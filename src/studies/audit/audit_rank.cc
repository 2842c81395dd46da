#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "linalg/gemm.h"
#include "linalg/spectra.h"
#include "studies/audit/audit_claims.h"
#include "studies/normals.h"
#include "view/number_text.h"
#include <rankfall/collapse.h>
#include <rankfall/forward.h>
#include <rankfall/model.h>

// If the low rank of P were the cause of rank collapse, tokens would stay apart where P has full rank, and come
// together where it has not. Neither is so.

namespace rankfall {
namespace {

constexpr Index kTokens = 8;
constexpr Index kLayers = 40;

// The smallest sigma_n / sigma_1 of all P.
class SmallestRatio final : public Observer<double> {
 public:
  Needs needs() const override { return {.attention = Needs::Attention::kWhole}; }
  void attention(Index /*block*/, Index /*head*/, const MatrixRef<double>& p) override {
    const std::vector<double> sigma = singular_values<double>(p);
    smallest = std::min(smallest, sigma.back() / sigma.front());
  }
  double smallest = 1;
};

struct FullRank {
  double smallest_ratio = 0;
  double log10_left = 0;  // of the relative residual after all layers, over that before
};

// Causal attention: P is triangular with positive diagonal, hence of full rank whatever the tokens are.
FullRank causal(std::uint64_t seed) {
  const Model model =
      open_model(fmt::format("san:layers={},heads=1,dim=16,std=0.1,norm=post,mask=causal,vocab=50", kLayers), seed);
  const std::vector<Sample> samples = random_samples(model.network, seed, 1, kTokens);
  CollapseOptions options;
  options.variants = {variant_named("san")};
  options.floats = false;
  options.each_sample = false;
  const Result result = collapse(model, samples, options);
  const auto value = [&](Index layer) {
    const auto found = std::ranges::find_if(result.rows, [&](const Row& row) {
      return row.metric == "log10_relative_residual.composite" && row.layer == layer && row.kind == "exact";
    });
    return found == result.rows.end() ? NAN : found->mean.value_or(NAN);
  };
  SmallestRatio observer;
  Observer<double>* watch = &observer;
  forward<double>(apply(variant_named("san"), model.network), *model.weights, samples, std::span(&watch, 1));
  return {observer.smallest, value(kLayers) - value(0)};
}

struct LowRank {
  Index rank = 0;   // of P, the largest after the first layer: singular values above 1e-6 of the first
  double left = 0;  // residual after all layers over that before
};

// Two groups of tokens, each of which attends to itself: P averages within groups and has rank two, the number of
// groups, and what tells the groups apart stays.
LowRank two_groups(std::uint64_t seed) {
  const BlasThreads one_blas_thread(1);
  Normals normals(seed, "groups");
  Matrix<double> x(kTokens, 2);
  for (Index i = 0; i < kTokens; ++i) x.row(i) << (i < kTokens / 2 ? 1.0 : -1.0), 0.01 * normals.next();
  const auto residual = [&] { return (x.rowwise() - x.colwise().mean()).norm(); };
  const double before = residual();
  LowRank out;
  for (Index layer = 0; layer < kLayers; ++layer) {
    Matrix<double> p = 20 * x * x.transpose();  // W_QK = 20 I, W_V = I
    for (Index i = 0; i < kTokens; ++i) {
      p.row(i) = (p.row(i).array() - p.row(i).maxCoeff()).exp();
      p.row(i) /= p.row(i).sum();
    }
    const std::vector<double> sigma = singular_values<double>(p);
    const auto rank = std::ranges::count_if(sigma, [&](double s) { return s > 1e-6 * sigma.front(); });
    if (layer > 0) out.rank = std::max<Index>(out.rank, rank);
    x = (p * x).eval();
  }
  out.left = residual() / before;
  return out;
}

}  // namespace

AuditFinding rank_of_attention(const SearchEffort& /*effort*/, std::uint64_t seed) {
  const FullRank full = causal(seed);
  const LowRank low = two_groups(seed);
  const bool collapses = full.log10_left < -3 && full.smallest_ratio > 1e-3;
  const bool keeps = low.left > 0.9 && low.rank == 2;
  std::string evidence = fmt::format(
      "{} tokens, {} layers: causal attention, every P of full rank (smallest singular value {} of the largest), "
      "falls to {} of its relative residual; two groups that attend to themselves, P of rank {}, keep {:.2f} of "
      "theirs",
      kTokens, kLayers, significant(full.smallest_ratio, 2), power_of_ten(full.log10_left), low.rank, low.left);
  return {.verdict = collapses && keeps ? Status::kViolated : Status::kMeasured,
          .figure = full.log10_left,
          .n_trials = 2,
          .evidence = std::move(evidence)};
}

}  // namespace rankfall
