#include <algorithm>
#include <ostream>
#include <span>

#include <rankfall/result.h>

namespace rankfall {
namespace {

template <class T>
struct Word {
  T value;
  std::string_view word;
};

constexpr Word<Status> kStatusWords[] = {
    {Status::kNone, ""},
    {Status::kRoundingFloor, "rounding_floor"},
    {Status::kBelowFloat32, "below_float32"},
    {Status::kBelowFloat64, "below_float64"},
    {Status::kExactlyZero, "exactly_zero"},
    {Status::kOutOfRange, "out_of_range"},
    {Status::kNotCarried, "not_carried"},
    {Status::kAtLeast, "at_least"},
    {Status::kEstimate, "estimate"},
    {Status::kNoSaving, "no_saving"},
    {Status::kNotFound, "not_found"},
    {Status::kNotReached, "not_reached"},
    {Status::kRefused, "refused"},
    {Status::kFailed, "failed"},
    {Status::kPassed, "passed"},
    {Status::kWarning, "warning"},
    {Status::kHolds, "holds"},
    {Status::kViolated, "violated"},
    {Status::kVacuous, "vacuous"},
    {Status::kNotApplicable, "not_applicable"},
    {Status::kNoCounterexample, "no_counterexample"},
    {Status::kMeasured, "measured"},
    {Status::kAgrees, "agrees"},
    {Status::kDiffers, "differs"},
    {Status::kMissing, "missing"},
    {Status::kDoublyExponential, "doubly_exponential"},
    {Status::kExponential, "exponential"},
    {Status::kIrregular, "irregular"},
    {Status::kNoCollapse, "no_collapse"},
    {Status::kTooFewLayers, "too_few_layers"},
};

constexpr Word<Reason> kReasonWords[] = {
    {Reason::kNone, ""},
    {Reason::kDifferentKeys, "different_keys"},
    {Reason::kPositions, "positions"},
    {Reason::kLogitRange, "logit_range"},
    {Reason::kNoSkip, "no_skip"},
    {Reason::kSkip, "skip"},
    {Reason::kNorm, "norm"},
    {Reason::kMlp, "mlp"},
    {Reason::kNoMlp, "no_mlp"},
    {Reason::kSeveralHeads, "several_heads"},
    {Reason::kGatedMlp, "gated_mlp"},
    {Reason::kSkipMayCancel, "skip_may_cancel"},
    {Reason::kHeadNorm, "head_norm"},
    {Reason::kSoftCap, "soft_cap"},
    {Reason::kParallelMlp, "parallel_mlp"},
    {Reason::kSharedWeights, "shared_weights"},
    {Reason::kNoWeights, "no_weights"},
    {Reason::kFixedWeights, "fixed_weights"},
    {Reason::kLowRank, "low_rank_attention"},
};

constexpr Word<Basis> kBasisWords[] = {
    {Basis::kNone, ""}, {Basis::kWeights, "weights"}, {Basis::kData, "data"}, {Basis::kDefinition, "definition"}};

template <class T>
std::string_view find_word(std::span<const Word<T>> words, T value) {
  const auto found = std::ranges::find(words, value, &Word<T>::value);
  return found == words.end() ? std::string_view() : found->word;
}

template <class T>
std::optional<T> find_value(std::span<const Word<T>> words, std::string_view word) {
  const auto found = std::ranges::find(words, word, &Word<T>::word);
  if (word.empty() || found == words.end()) return std::nullopt;
  return found->value;
}

}  // namespace

std::string_view word(Status status) { return find_word<Status>(kStatusWords, status); }
std::string_view word(Reason reason) { return find_word<Reason>(kReasonWords, reason); }
std::string_view word(Basis basis) { return find_word<Basis>(kBasisWords, basis); }

template <>
std::optional<Status> from_word<Status>(std::string_view word) {
  return find_value<Status>(kStatusWords, word);
}
template <>
std::optional<Reason> from_word<Reason>(std::string_view word) {
  return find_value<Reason>(kReasonWords, word);
}
template <>
std::optional<Basis> from_word<Basis>(std::string_view word) {
  return find_value<Basis>(kBasisWords, word);
}

std::ostream& operator<<(std::ostream& out, const Prose& prose) { return out << prose.text_; }

}  // namespace rankfall
