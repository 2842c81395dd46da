#pragma once

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

// Entry by entry the product of two independent states: a gate and what it lets through.
Distances product_of(const Distances& x, const Distances& y, const Tokens& tokens);

}  // namespace rankfall
