#pragma once

#include <vector>

#include "studies/bounds/attention_bounds.h"
#include <rankfall/result.h>

namespace rankfall {

// What must remain of the residual at a state, by the product of the lower bounds up to there; natural logarithms, of
// Frobenius norms.
struct Floor {
  double log_measured = 0, log_floor = 0;
  Reason fails = Reason::kNone;  // why there is no floor from here on
};

// What was found on the way of one sample.
struct BoundsSample {
  std::vector<AttentionBounds> blocks;  // by attention, in order
  std::vector<double> log10_residual;   // composite, of states 0..L
  std::vector<Floor> floors;            // of states 0..L
};

// Rows as bounds.h says. `norms` are of the network's sub-layers, in order.
std::vector<Row> bounds_rows(const Network& network, const std::vector<WeightNorms>& norms,
                             const std::vector<BoundsSample>& samples);

// For a test of what a violation leads to: added to the logarithm of every upper bound and taken off that of every
// lower one. 0, and set by nothing but that test.
extern double log_bound_shift_for_tests;

}  // namespace rankfall
