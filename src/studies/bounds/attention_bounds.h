#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/bounds/lower_bounds.h"
#include "studies/bounds/weight_norms.h"
#include <rankfall/result.h>
#include <rankfall/sample.h>
#include <rankfall/split.h>

namespace rankfall {

// Logits may differ by so much within a row for the paper's lemma to hold: the root of e^x = 1 + 2x. Theorem 2.3 and
// the forms over depth are claimed under this condition.
inline constexpr double kLargestRange = 1.2564312086261697;

// Theorem 2.2 is proved up to here (docs/theory.md), the root of (e^x - 1)/x * 4 tanh(x/4)/x = 8, rounded down.
inline constexpr double kProvedRange = 3.6254739186885;

// One inequality, for one sample: measured <= bound, or for lower bounds the other way round. Natural logarithms,
// -infinity for zero.
struct Inequality {
  std::string name;
  std::optional<Index> head = {};  // absent: of all heads together
  double log_measured = 0;
  double log_bound = 0;
  double log_input = 0;          // what enters
  double log_allowed = 0;        // the bound in the same norm: above what enters it says nothing
  Reason fails = Reason::kNone;  // the condition that is not met; kNone: it applies
  bool is_proved = false;
  bool is_lower = false;
  bool is_estimate = false;  // not a bound: nothing is violated where it fails
  bool is_a_priori = false;  // made of norms of weights and of the input's residual alone

  // Logarithm of measured / bound, at most 0 if it holds. NaN for 0 / 0.
  double log_tightness() const { return is_lower ? log_bound - log_measured : log_measured - log_bound; }
};

// What the bounds are made of, for one head and sample.
struct HeadFigures {
  double range = 0;      // largest over rows of max_j E_ij - min_j E_ij; infinite where rows see different keys
  double gamma = 0;      // sqrt(n max_j q_j)
  double dobrushin = 0;  // of P
};

struct AttentionBounds {
  std::vector<HeadFigures> heads;
  double beta_star = 0;  // the root in T2.2_proved: that bound is s beta_star |R|^3
  std::vector<Inequality> inequalities;
  // Upper bounds of the Frobenius norm of the output's residual, for lower bounds of what a skip keeps.
  double log_output = 0;
  std::vector<FrozenHead> frozen;
  ScaledMatrix residual;  // of the output, about its mean

  // Of the skip around it, where there is one; absent where they cannot be computed.
  std::vector<std::optional<double>> sharpening;  // by head
  std::optional<double> lambda_measured, lambda_proved, lambda_claimed;
};

// What, beside products of queries and keys, the logits are made of; kNone: nothing.
Reason beside_products(const Attention& attention);

// Every bound of docs/math.md on one attention, exact however small the residual is: X is what enters attention, the
// output is before skip and norm, residuals about the token mean, the output's about the bound's own reference.
AttentionBounds attention_bounds(const LoadedLayer<double>& layer, const WeightNorms& norms, const Sample& sample,
                                 const SplitState& in);

}  // namespace rankfall
