#pragma once

#include <optional>
#include <string_view>

#include <rankfall/export.h>

// What became of a value, a bound, a claim, a curve: as types, so that programs need not read sentences. In JSON and
// CSV each is a word (rounding_floor, not_applicable); the terminal and the page choose marks, colours and sentences by
// them.

namespace rankfall {

enum class Status {
  kNone,  // an ordinary value, of which there is nothing to say

  // A value.
  kRoundingFloor,  // the compute precision cannot tell it from zero
  kBelowFloat32,   // exact, but float32 would show rounding in its place
  kBelowFloat64,   // exact, but float64 would show rounding in its place
  kExactlyZero,
  kOutOfRange,  // no double can hold it; of a log10 metric: not even its logarithm
  kNotCarried,  // double precision does not carry it
  kAtLeast,     // a lower bound of the quantity
  kEstimate,    // an estimate without a guarantee
  kNoSaving,    // a sketch of so many columns saves nothing: k >= n
  kNotFound,    // a search ended at its limit, `k`
  kNotReached,  // what was waited for did not happen in any layer
  kRefused,     // this network does not take it
  kFailed,      // the computation ended in NaN or infinity; of a check: it did not pass
  kPassed,      // of a check
  kWarning,     // works, but may surprise

  // A bound or a claim.
  kHolds,
  kViolated,          // the condition is met and the inequality does not hold; of a claim: a counterexample exists
  kVacuous,           // holds, but allows more than what enters
  kNotApplicable,     // a condition is not met: Row::reason
  kNoCounterexample,  // searched for, none found
  kMeasured,          // holds wherever it was measured

  // A comparison with published numbers.
  kAgrees,
  kDiffers,
  kMissing,  // there is nothing to compare

  // How a curve falls with depth.
  kDoublyExponential,
  kExponential,
  kIrregular,
  kNoCollapse,
  kTooFewLayers,
};

// Why a theorem does not apply to a network or a sample.
enum class Reason {
  kNone,
  kDifferentKeys,  // tokens see different keys: a mask that differs between rows
  kPositions,      // positions in the logits
  kLogitRange,     // logits of a row differ by more than the theorem allows
  kSkip,           // a skip connection is present
  kNorm,           // a norm is present
  kMlp,            // an MLP is present
  kNoMlp,          // there is no MLP
  kSeveralHeads,   // more than one head
  kGatedMlp,       // gated MLPs are not Lipschitz
  kSkipMayCancel,  // attention may undo the skip
};

// What a bound is made of, or what a claim rests on.
enum class Basis {
  kNone,
  kWeights,
  kData,
  kDefinition,  // true by definition: a trial checks the implementation, not the claim
};

// "rounding_floor"; empty for kNone.
RANKFALL_API std::string_view word(Status status);
RANKFALL_API std::string_view word(Reason reason);
RANKFALL_API std::string_view word(Basis basis);

// The value of that word; nothing for a word that is none.
template <class T>
std::optional<T> from_word(std::string_view word) = delete;
template <>
RANKFALL_API std::optional<Status> from_word<Status>(std::string_view word);
template <>
RANKFALL_API std::optional<Reason> from_word<Reason>(std::string_view word);
template <>
RANKFALL_API std::optional<Basis> from_word<Basis>(std::string_view word);

}  // namespace rankfall
