#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/forward.h>
#include <rankfall/matrix.h>
#include <rankfall/model.h>
#include <rankfall/network.h>
#include <rankfall/sample.h>

// The forward pass with the residual kept apart from the mean, so that it has full relative accuracy however small it
// becomes (docs/math.md 2). In plain double arithmetic.

namespace rankfall {

// e^log value: numbers that no double can hold. The largest entry of a rescaled value lies in [1, 2); zero has the
// logarithm -infinity and the value zero.
template <class M>
struct Scaled {
  M value;
  double log = -std::numeric_limits<double>::infinity();

  bool is_zero() const { return log == -std::numeric_limits<double>::infinity(); }
};

using ScaledRow = Scaled<RowVector<double>>;
using ScaledMatrix = Scaled<Matrix<double>>;

// X = 1 mean + residual. Where tokens differ by less than about an eighth of their mean, `mean` is their mean over what
// is no padding, and the residual's rows sum to zero. Where they differ by more there is nothing to keep apart: the
// mean is zero, and the residual is X itself, so that a token that is small beside others keeps its digits too. Rows of
// padding are zero.
struct SplitState {
  ScaledRow mean;
  ScaledMatrix residual;
};

// log10 of norms of the residual and of the state, over the tokens that are no padding; -infinity for zero.
struct LogNorms {
  double composite = 0, one = 0, inf = 0, frobenius = 0, spectral = 0;
};
struct SplitNorms {
  LogNorms residual, state;
};
// `valid` as in Sample. Spectral norms are by far the dearest, O(n d min(n, d)); without them they are NaN.
RANKFALL_API SplitNorms split_norms(const SplitState& x, std::span<const std::uint8_t> valid, bool spectral);

// A matrix as a state, and back: entries too small for a double become zero, too large ones infinity.
RANKFALL_API SplitState split(const MatrixRef<double>& x, std::span<const std::uint8_t> valid);
RANKFALL_API Matrix<double> joined(const SplitState& x);

// Watches one sample; calls arrive in the order of the states.
class RANKFALL_API SplitObserver {
 public:
  virtual ~SplitObserver() = default;
  // Hidden state 0..L. The reference is valid during the call only.
  virtual void hidden(Index state, const SplitState& x) = 0;
  // Not 0: at every step all numbers, logarithms of scales included, are changed at random by this share of themselves.
  // What that does to the result says what rounding, which does the same, has left of it.
  virtual double jitter() const { return 0; }
  // Which of the random changes: other numbers, other changes.
  virtual std::uint64_t jitter_draw() const { return 0; }
};

// forward() in this arithmetic; the same rules for observers, threads and errors. Returns the last states, final norm
// applied. The residual of pure attention shrinks until its logarithm leaves the range of double, after some 640
// blocks; from there on it is zero.
RANKFALL_API std::vector<SplitState> track(const Network& network, const WeightSource& weights,
                                           std::span<const Sample> samples, std::span<SplitObserver* const> observers,
                                           const ForwardOptions& options = {});

}  // namespace rankfall
