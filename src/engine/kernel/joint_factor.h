#pragma once

#include <vector>

#include "engine/kernel/gram.h"

namespace rankfall {

// The Cholesky factor of the joint covariance of the tokens of several states, which come one by one: C with
// Cov(x_l i, x_m j) = sum over c of C_(l i) c C_(m j) c, rows being tokens of state after state.
class JointFactor {
 public:
  JointFactor() = default;
  // Tokens must outlive this.
  JointFactor(const Tokens& tokens, Index n) : tokens_(&tokens), n_(n) {}

  // The rows of one more state, from its covariances with every state so far and, last, with itself.
  Matrix<double> add(const std::vector<Matrix<double>>& covariances);

 private:
  const Tokens* tokens_ = nullptr;
  Index n_ = 0;
  Matrix<double> factor_;
};

}  // namespace rankfall
