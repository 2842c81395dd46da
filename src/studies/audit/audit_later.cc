#include <fmt/format.h>

#include "studies/audit/audit_claims.h"
#include "studies/audit/later_claims.h"
#include "studies/normals.h"
#include "view/number_text.h"

namespace rankfall {
namespace {

constexpr Index kRankDraws = 200;

// How often LayerNorm changes the affine rank of n tokens with d normal channels.
Index rank_changes(std::uint64_t seed, Index n, Index d) {
  Normals normals(seed, fmt::format("affine rank {} {}", n, d));
  Index changes = 0;
  for (Index t = 0; t < kRankDraws; ++t) {
    Matrix<double> x(n, d);
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = normals.next();
    const AffineRanks ranks = affine_ranks(x);
    if (ranks.before != ranks.after) ++changes;
  }
  return changes;
}

AuditFinding from_witness(Witness witness) {
  AuditFinding finding;
  const Sides sides = exact_sides(witness);
  finding.verdict = sides.violated() ? Status::kViolated : Status::kNoCounterexample;
  finding.figure = sides.left - sides.right;
  finding.n_trials = 1;
  finding.witness = std::move(witness);
  return finding;
}

AuditFinding rank_raised(const SearchEffort& /*effort*/, std::uint64_t seed) {
  AuditFinding finding = from_witness(tokens_on_a_line());
  const Index changes = rank_changes(seed, 4, 8);
  finding.n_trials += kRankDraws;
  finding.evidence = fmt::format(
      "u, u+v and u+2v lie on a line, and after LayerNorm on a circle: affine rank 1 before, 2 after, for u = "
      "(1,-1,0), "
      "v = (1,1,-2); of 4 random tokens with 8 channels it changes in {} of {} draws",
      changes, kRankDraws);
  return finding;
}

AuditFinding rank_lowered(const SearchEffort& /*effort*/, std::uint64_t seed) {
  AuditFinding finding = from_witness(tokens_on_a_ray());
  const Index changes = rank_changes(seed, 12, 8);
  finding.n_trials += kRankDraws;
  finding.evidence = fmt::format(
      "u and 2u are equal after LayerNorm: affine rank 1 before, 0 after; of 12 random tokens with 8 channels it falls "
      "from 8 to 7 in {} of {} draws, because LayerNorm takes the mean over channels away",
      changes, kRankDraws);
  return finding;
}

AuditFinding residuals_far_apart(const SearchEffort& effort, std::uint64_t seed) {
  AuditFinding finding = searched("residual_difference", effort, seed, {{3, 1}, {4, 1}, {5, 2}});
  const Sides sides = exact_sides(distant_residuals());
  finding.evidence = fmt::format(
      "A = (2,0,-2), B = (1,1,-3): {} > {}; largest ratio found for 3 to 5 tokens {}; the sharp constant is 2 (1 - "
      "1/n)",
      trimmed(sides.left), trimmed(sides.right), trimmed(*finding.figure, 4));
  finding.witness = distant_residuals();
  return finding;
}

AuditFinding skip_cancelled(const SearchEffort& /*effort*/, std::uint64_t /*seed*/) {
  AuditFinding finding = from_witness(cancelled_skip());
  const Sides sides = exact_sides(*finding.witness);
  finding.figure = sides.left / sides.right;
  finding.evidence = fmt::format(
      "two tokens that attend to themselves, and a W_V that takes 7/8 of what tells them apart from the skip: the "
      "residual falls to {} where the condition promises {}; the paper itself could not be read here, so this is about "
      "the statement as recorded",
      trimmed(sides.right, 4), trimmed(sides.left, 4));
  return finding;
}

}  // namespace

std::vector<AuditClaim> later_matrix_claims() {
  const auto statement = [](const char* name) { return algebra_claim(name)->statement; };
  AuditClaim recorded{20, "lambda_skip", statement("lambda_skip"), Status::kViolated, skip_cancelled};
  recorded.as_recorded = true;
  return {
      {18, "affine_rank_not_raised", statement("affine_rank_not_raised"), Status::kViolated, rank_raised},
      {18, "affine_rank_not_lowered", statement("affine_rank_not_lowered"), Status::kViolated, rank_lowered},
      {19, "residual_difference", statement("residual_difference"), Status::kViolated, residuals_far_apart, true},
      search_claim(19, "residual_difference_sharp", Status::kHolds, {{2, 1}, {3, 1}, {5, 2}}),
      recorded,
  };
}

}  // namespace rankfall
