#pragma once

#include <memory>

#include "engine/kernel/gram.h"
#include <rankfall/network.h>

namespace rankfall {

// E f(u_i) f(u_j) of Gaussian u with covariance K. ReLU and the identity are closed. The others are expanded in Hermite
// polynomials, f(s z) = sum of a_k(s) h_k(z), so that
//
//   E (f(u_i) - f(u_j))^2 = sum of (a_k(s_i) - a_k(s_j))^2 + 2 a_k(s_i) a_k(s_j) (1 - rho^k),   s_i^2 = K_ii,
//
// in which nothing cancels however close u_i and u_j are. What is beyond the last k is taken as one term that has the
// right sum and the right slope, which matters only where s is so large that f looks like a kink.
Distances activated(Activation act, const Distances& x, const Tokens& tokens);

// The same in plain numbers and between two states of different variances: E f(u_i) f(v_j) for u with the variances of
// this one, v with those of the other, and their covariances. Both have the same function and the same tokens, which
// must outlive this.
class JointActivation {
 public:
  JointActivation(Activation act, const RowVector<double>& variances, const Tokens& tokens);
  JointActivation(JointActivation&& other) noexcept;
  ~JointActivation();

  Matrix<double> with(const JointActivation& other, const Matrix<double>& covariance) const;
  // E f'(u_i) f'(v_j), the derivative of with() by the covariance (Price's theorem).
  Matrix<double> slopes_with(const JointActivation& other, const Matrix<double>& covariance) const;

 private:
  struct Held;
  std::unique_ptr<Held> held_;
  const Tokens& tokens_;
};

// Entry by entry the product of two independent states: a gate and what it lets through.
Distances product_of(const Distances& x, const Distances& y, const Tokens& tokens);

}  // namespace rankfall
