#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "studies/audit/audit_claims.h"
#include <rankfall/forward.h>
#include <rankfall/model.h>

// Chen et al. 2025: tokens on a simplex, x_i . x_j = rho for i != j and |x_i| = 1, one layer of attention with W_Q =
// W_K = W_V = W_O = I and logits beta x_i . x_j. All rows of P are alike: p on the diagonal and (1 - p) / (n - 1)
// beside it, so that P R = f R with f = p - (1 - p) / (n - 1) = (1 - t) / (1 + (n - 1) t), t = e^(-beta (1 - rho)): the
// simplex stays one. With beta = gamma ln n is t = n^(-gamma (1 - rho)), and (n - 1) t goes to infinity, 1 or 0 as
// gamma is below, at or above 1 / (1 - rho): f goes to 0, 1/2 or 1.

namespace rankfall {
namespace {

constexpr double kSimplexCosine = 0.2;

double kept_by_formula(Index n, double gamma) {
  const auto size = static_cast<double>(n);
  const double t = std::pow(size, -gamma * (1 - kSimplexCosine));
  return (1 - t) / (1 + (size - 1) * t);
}

// Every matrix is the identity, every vector zero.
class IdentityWeights final : public WeightSource {
 public:
  explicit IdentityWeights(std::vector<TensorSpec> tensors) : tensors_(std::move(tensors)) {}

  TensorData rows(int tensor, Index first, Index count) const override {
    const TensorSpec& spec = tensors_[static_cast<std::size_t>(tensor)];
    const Index cols = spec.matrix_cols();
    auto buffer = std::make_shared<std::vector<double>>(static_cast<std::size_t>(count * cols), 0.0);
    if (spec.matrix_rows() == cols) {
      for (Index i = 0; i < count; ++i) (*buffer)[static_cast<std::size_t>(i * cols + first + i)] = 1;
    }
    return {DType::kF64, std::as_bytes(std::span<const double>(*buffer)), buffer};
  }

 private:
  std::vector<TensorSpec> tensors_;
};

// a e_i + b (1, .., 1): |x_i| = 1 and x_i . x_j = kSimplexCosine.
Matrix<double> simplex(Index n) {
  const auto size = static_cast<double>(n);
  const double a = std::sqrt(1 - kSimplexCosine);
  const double b = (std::sqrt(a * a + size * kSimplexCosine) - a) / size;
  Matrix<double> x = Matrix<double>::Constant(n, n, b);
  x.diagonal().array() += a;
  return x;
}

// What the engine makes of one layer: the factor of the residual, and by how much a token's residual differs from that
// factor times what it was.
struct Kept {
  double factor = 0, bend = 0;
};
Kept kept_by_engine(Index n, double gamma) {
  Model model = open_model(fmt::format("san:layers=1,heads=1,dim={},norm=none,attn_skip=0,bias=0,vocab=2", n), 0);
  std::get<Attention>(model.network.layers.front().branches.front().f).scale = gamma * std::log(static_cast<double>(n));
  const IdentityWeights weights(model.network.tensors);
  const Matrix<double> x = simplex(n);
  const std::vector<Sample> samples = {Sample{HiddenState{x}}};
  const Matrix<double> y = forward<double>(model.network, weights, samples, {}).front();
  const auto residual = [](const Matrix<double>& m) -> Matrix<double> { return m.rowwise() - m.colwise().mean(); };
  const Matrix<double> before = residual(x);
  const Matrix<double> after = residual(y);
  const double factor = after.cwiseProduct(before).sum() / before.squaredNorm();
  return {factor, (after - factor * before).cwiseAbs().maxCoeff()};
}

AuditFinding attention_scaling(const SearchEffort& /*effort*/, std::uint64_t /*seed*/) {
  AuditFinding finding;
  double largest = 0;
  bool within = true;
  const auto add = [&](const char* kind, Index n, double gamma, double value) {
    finding.rows.push_back({.variant = fmt::format("gamma={}", gamma),
                            .metric = "audit.residual_kept",
                            .mean = value,
                            .n = 1,
                            .kind = kind,
                            .tokens = n});
  };
  for (const Index n : {16, 64, 256, 1'024}) {
    for (int step = 0; step <= 40; ++step) add("formula", n, step / 16.0, kept_by_formula(n, step / 16.0));
    const std::vector<double> gammas =
        n > 256 ? std::vector<double>{1, 1.25, 1.5} : std::vector<double>{0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25};
    for (const double gamma : gammas) {
      const Kept engine = kept_by_engine(n, gamma);
      add("engine", n, gamma, engine.factor);
      const double error = std::max(std::abs(engine.factor - kept_by_formula(n, gamma)), engine.bend);
      largest = std::max(largest, error);
      within = within && error < 1e-14 * static_cast<double>(n);
      ++finding.n_trials;
    }
  }
  finding.verdict = within ? Status::kHolds : Status::kViolated;
  finding.figure = largest;
  finding.evidence = fmt::format(
      "the engine {} the formula to 10^-14 n, for 16 to 1,024 tokens with rho = {}; 1,024 tokens keep {:.4f}, {:.4f} "
      "and "
      "{:.4f} of their residual at gamma = 1, 1.25 = 1/(1 - rho) and 1.5",
      within ? "meets" : "misses", kSimplexCosine, kept_by_formula(1'024, 1), kept_by_formula(1'024, 1.25),
      kept_by_formula(1'024, 1.5));
  return finding;
}

}  // namespace

AuditClaim attention_scaling_claim() {
  return {
      21, "attention_scaling",
      "tokens on a simplex of cosine rho, logits gamma ln n <x_i, x_j>, V = I: the residual is multiplied by (1 - t) / "
      "(1 + (n - 1) t), t = n^(-gamma (1 - rho)), with a transition at gamma = 1/(1 - rho)",
      Status::kHolds, attention_scaling};
}

}  // namespace rankfall
