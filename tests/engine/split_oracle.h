#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/many_digits.h"
#include "engine/split_recorder.h"
#include "linalg/norms_impl.h"
#include <rankfall/matrix.h>

// The tracker against the plain engine over so many decimal digits that they see the residual beside the mean.

namespace rankfall {

inline double log10_of(const ManyDigits& x) {
  return x == 0 ? -std::numeric_limits<double>::infinity() : log10(x).convert_to<double>();
}

// log10 of the true norms of every hidden state.
class Truth final : public Observer<ManyDigits> {
 public:
  explicit Truth(std::span<const std::uint8_t> valid) : valid_(valid) {}
  Needs needs() const override { return {.hidden = true}; }
  void hidden(Index, const MatrixRef<ManyDigits>& x) override {
    const auto sums = centred_norm_sums<ManyDigits>(x, valid_);
    const auto logs = [](const NormSums<ManyDigits>& n) {
      const double one = log10_of(n.one());
      const double inf = log10_of(n.inf());
      return LogNorms{0.5 * (one + inf), one, inf, log10_of(n.frobenius()), 0};
    };
    states.push_back({logs(sums.residual), logs(sums.state)});
  }
  std::vector<SplitNorms> states;

 private:
  std::span<const std::uint8_t> valid_;
};

struct Depth {
  double residual = 0, relative = 0;  // log10 of the smallest that was compared
};

// Every norm of every hidden state: 1e-11 absolute or 1e-13 relative in log10, whichever is larger. Ends where the
// digits do.
inline Depth compare(unsigned digits, const Network& network, const WeightSource& weights, const Sample& sample,
                     const std::string& what) {
  const Digits scope(digits);
  Truth truth(sample.valid);
  std::vector<Observer<ManyDigits>*> observers = {&truth};
  forward<ManyDigits>(network, weights, std::span(&sample, 1), observers, {});
  const auto recorders = tracked(network, weights, std::span(&sample, 1));
  EXPECT_EQ(recorders[0].states.size(), truth.states.size());
  Depth depth;
  for (std::size_t l = 0; l < truth.states.size(); ++l) {
    const SplitNorms& expected = truth.states[l];
    const double relative = expected.residual.frobenius - expected.state.frobenius;
    if (!(relative >= 30.0 - digits)) break;  // also when both are zero
    depth = {expected.residual.frobenius, relative};
    const SplitNorms ours = split_norms(recorders[0].states[l], sample.valid, false);
    const auto check = [&](double mine, double theirs, const char* norm) {
      if (mine == theirs) return;  // both -infinity
      EXPECT_NEAR(mine, theirs, std::max(1e-11, 1e-13 * std::abs(theirs))) << what << ", state " << l << " " << norm;
    };
    check(ours.residual.one, expected.residual.one, "residual one");
    check(ours.residual.inf, expected.residual.inf, "residual inf");
    check(ours.residual.composite, expected.residual.composite, "residual composite");
    check(ours.residual.frobenius, expected.residual.frobenius, "residual frobenius");
    check(ours.state.one, expected.state.one, "state one");
    check(ours.state.inf, expected.state.inf, "state inf");
    check(ours.state.frobenius, expected.state.frobenius, "state frobenius");
  }
  return depth;
}

}  // namespace rankfall
