#pragma once

#include <optional>

#include "engine/kernel/gram.h"
#include "engine/kernel/moments.h"
#include <rankfall/network.h>

namespace rankfall {

// An estimate of the relative error of the closed form in the residual's square: 3 (e^x - 1) / n for n tokens, x the
// largest variance of a logit once what is constant along its row is taken off; more than 1 from x = 1/2 on. It is
// measured, not proved (docs/prediction.md). Nothing if this attention has no closed form: positions in the logits,
// masks, norms or caps of logits, other weights than a softmax.
std::optional<double> closed_error(const Network& network, const Attention& attention, const Gram& k,
                                   const Tokens& tokens);

// E P K P^T for K = k and P = softmax of Gaussian logits, as a ratio of expectations (docs/theory.md): with the logits
// centred over keys, Cov(z_ij, z_kl) = y_ik G_jl and
//
//   K'_ik = sum_jl w_jl K_jl / sum_jl w_jl,   w_jl = exp(y_ii G_jj / 2 + y_kk G_ll / 2 + y_ik G_jl),
//
// where exp(y_ik G_jl) is expanded in powers, each of which is a product of n x n matrices.
Gram closed_mixing(const Network& network, const Attention& attention, const Gram& k, const Tokens& tokens);

// The same in plain numbers and between two sub-layers that share their weights: E P_l U P_m^T, U the covariances of
// the tokens that enter l (rows) and m (columns),
//
//   w_jk = exp(y^l_ii c^l_jj / 2 + y^m_kk c^m_kk / 2 + y_ik c_jk),   y from U, c = U centred over rows and columns,
//
// with the softmax over j of the first term, and of the second, from key_shares of the Gram matrix of each.
Matrix<double> key_shares(const Network& network, const Attention& attention, const Matrix<double>& k,
                          const Tokens& tokens);
Matrix<double> closed_mixing(const Network& network, const Attention& attention, const Matrix<double>& shares_l,
                             const Matrix<double>& shares_m, const Matrix<double>& covariance, const Tokens& tokens);

}  // namespace rankfall
