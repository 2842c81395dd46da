#pragma once

#include <cstdint>
#include <span>

#include "engine/split/scaled.h"
#include <rankfall/matrix.h>
#include <rankfall/split.h>

// The Gram matrix of the tokens of one sample, K_ij = E x_i . x_j / d, in a form that keeps how tokens differ however
// alike they are. With x the mean of the tokens that are no padding and r_i what remains of token i,
//
//   K_ij = m + c_i + c_j + G_ij,   m = E |x|^2 / d,   c_i = E x . r_i / d,   G_ij = E r_i . r_j / d,
//
// each with its own scale. Sums over tokens of c, and of rows and columns of G, are zero; so are entries of padding.

namespace rankfall {

struct Gram {
  double log_mean = kLogZero;  // log m
  ScaledRow cross;             // c
  ScaledMatrix rest;           // G

  Index n() const { return rest.value.rows(); }
};

// Tokens that count, and how many.
class Tokens {
 public:
  Tokens(Index n, std::span<const std::uint8_t> valid);
  const std::vector<Index>& rows() const { return rows_; }
  double count() const { return static_cast<double>(rows_.size()); }

 private:
  std::vector<Index> rows_;
};

Gram zero_gram(Index n);
// From plain entries, which are exact where tokens are equal; padding is ignored.
Gram gram_of(const MatrixRef<double>& k, const Tokens& tokens);
// K = X X^T of a state with columns of any number.
Gram gram_of(const SplitState& x, const Tokens& tokens);
// X with K = X X^T, one column for the mean and one for each token: the Cholesky factor in the order of the tokens.
SplitState factor_of(const Gram& k, const Tokens& tokens, std::span<const std::uint8_t> valid);

// k := factor k.
void scale(Gram& k, double factor);
// k += y, of independent states.
void add(Gram& k, const Gram& y);
// K_ij += variance for all i and j: a bias.
void add_bias(Gram& k, double variance);
// Entries as plain numbers, what is too small becoming zero; and relative to e^log.
Matrix<double> plain(const Gram& k, double log = 0);

// The same matrix by lengths and distances: K_ii = e^log (1 + spread_i) with the sum of spread zero, and D_ij = E |x_i
// - x_j|^2 / d. Functions of single tokens act on these without cancellation.
struct Distances {
  double log = kLogZero;
  ScaledRow spread;
  ScaledMatrix squared;  // D
};
Distances distances_of(const Gram& k, const Tokens& tokens);
Gram gram_of(const Distances& x, const Tokens& tokens);

// log of K_ii, -infinity for a token of zeros; and the root of K_ii in units of e^(log / 2).
double log_length(const Distances& x, Index i);
RowVector<double> relative_lengths(const Distances& x, const Tokens& tokens);

}  // namespace rankfall
