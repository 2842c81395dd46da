#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/recorder.h"
#include "engine/split_recorder.h"
#include <rankfall/model.h>

// Chen et al. 2025: one head with W_V W_O = I and logits beta <x_i, x_j>, on tokens of length one that all have the
// cosine rho with each other. They stay so, and the residual is multiplied by (1 - e^-b) / (1 + (n - 1) e^-b) with b =
// beta (1 - rho), which is half of beta times the squared distance of two tokens. With beta = gamma ln n this tends to
// 1 for gamma > 1 / (1 - rho) and to 0 below, as n grows.

namespace rankfall {
namespace {

// Weights of a specification with one head, no norms and no skips: identities, times a factor in queries and keys.
class IdentityWeights final : public WeightSource {
 public:
  IdentityWeights(const Network& network, double beta) : tensors_(network.tensors) {
    query_factor_ = std::sqrt(beta * std::sqrt(static_cast<double>(network.sizes.d_model)));
  }

  TensorData rows(int tensor, Index first, Index count) const override {
    const TensorSpec& spec = tensors_[static_cast<std::size_t>(tensor)];
    const Index cols = spec.matrix_cols();
    auto values = std::make_shared<std::vector<double>>(static_cast<std::size_t>(count * cols), 0.0);
    if (spec.shape.size() == 2) {
      const bool scaled = spec.name.ends_with("attention.q.weight") || spec.name.ends_with("attention.k.weight");
      for (Index i = 0; i < count; ++i) {
        (*values)[static_cast<std::size_t>(i * cols + first + i)] = scaled ? query_factor_ : 1;
      }
    }
    return {DType::kF64, std::as_bytes(std::span<const double>(*values)), values};
  }

 private:
  std::vector<TensorSpec> tensors_;
  double query_factor_ = 1;
};

double contraction(double b, Index n) { return -std::expm1(-b) / (1 + static_cast<double>(n - 1) * std::exp(-b)); }

// log10 of it, from the logarithm of b, which may be below every double.
double log10_contraction(double log_b, Index n) {
  if (log_b > -30) return std::log10(contraction(std::exp(log_b), n));
  return (log_b - std::log(static_cast<double>(n))) / std::log(10.0);  // b/n, to a relative 1e-13
}

struct Setting {
  Model model;
  IdentityWeights weights;
  Sample sample;
};

Setting setting(Index n, double rho, double beta) {
  const std::string size = std::to_string(n);
  Model model =
      open_model("san:layers=6,heads=1,dim=" + size + ",features=" + size + ",norm=none,attn_skip=0,bias=0", 0);
  // s I + c 1 1^T has the Gram matrix (1 - rho) I + rho 1 1^T.
  const double s = std::sqrt(1 - rho);
  const double c = (std::sqrt(s * s + static_cast<double>(n) * rho) - s) / static_cast<double>(n);
  Matrix<double> x = Matrix<double>::Constant(n, n, c);
  x.diagonal().array() += s;
  const IdentityWeights weights(model.network, beta);
  return {std::move(model), weights, Sample{HiddenState{x}}};
}

TEST(Chen, ContractsByTheFormula) {
  for (const Index n : {2, 16, 96}) {
    for (const double rho : {0.0, 0.2, 0.7}) {
      for (const double gamma : {0.5, 1.25, 2.0}) {
        const double beta = gamma * std::log(static_cast<double>(n));
        const Setting of = setting(n, rho, beta);
        Recorder<double> plain(Needs{.hidden = true});
        Observer<double>* observer = &plain;
        forward<double>(of.model.network, of.weights, std::span(&of.sample, 1), std::span(&observer, 1));
        const auto split = tracked(of.model.network, of.weights, std::span(&of.sample, 1))[0].states;
        ASSERT_EQ(split.size(), 7U);
        double distance = std::log(1 - rho);  // of half a squared distance between two tokens
        double size = 1;                      // of the residual, beside that at the start
        const Matrix<double>& start = plain.states[0];
        const Matrix<double> mean = start.colwise().mean().replicate(n, 1);
        for (std::size_t l = 0; l < 6; ++l) {
          const std::string where = std::to_string(n) + " " + std::to_string(rho) + " " + std::to_string(gamma) +
                                    " layer " + std::to_string(l + 1);
          const double log10_factor = log10_contraction(std::log(beta) + distance, n);
          size *= std::pow(10, log10_factor);
          const Matrix<double> expected = mean + size * (start - mean);
          EXPECT_LE((plain.states[l + 1] - expected).cwiseAbs().maxCoeff(), 1e-12) << where;
          const double before = split_norms(split[l], {}, false).residual.frobenius;
          const double after = split_norms(split[l + 1], {}, false).residual.frobenius;
          // Of residuals down to 10^-1000, whose logarithms have twelve digits behind the point.
          EXPECT_NEAR(after - before, log10_factor, 1e-12 + 4e-16 * std::abs(after)) << where;
          distance += 2 * (after - before) * std::log(10.0);
        }
      }
    }
  }
}

// n = 1,024, cosine 0.2: below, at and above the transition at gamma = 1.25.
TEST(Chen, HasItsTransition) {
  const double ln_n = std::log(1024.0);
  EXPECT_NEAR(contraction(1.0 * ln_n * 0.8, 1024), 0.1994, 5e-5);
  EXPECT_NEAR(contraction(1.25 * ln_n * 0.8, 1024), 0.4998, 5e-5);
  EXPECT_NEAR(contraction(1.5 * ln_n * 0.8, 1024), 0.8000, 5e-5);
}

}  // namespace
}  // namespace rankfall
