#include "result/legacy.h"

#include <initializer_list>
#include <utility>

namespace rankfall {
namespace {

using Words = std::initializer_list<std::pair<std::string_view, Status>>;

// The status of the first of these words that the text begins with.
Status by_beginning(std::string_view text, Words words) {
  for (const auto& [word, status] : words) {
    if (text.starts_with(word)) return status;
  }
  return Status::kNone;
}

Status of_bound(std::string_view text) {
  return by_beginning(text, {{"applies and is violated", Status::kViolated},
                             {"violated", Status::kViolated},
                             {"applies and holds", Status::kHolds},
                             {"vacuous", Status::kVacuous},
                             {"nothing to bound", Status::kExactlyZero},
                             {"condition fails", Status::kNotApplicable},
                             {"does not apply", Status::kNotApplicable},
                             {"within 1.256", Status::kHolds},
                             {"beyond 1.256", Status::kNotApplicable},
                             {"tokens see different keys", Status::kNotApplicable}});
}

Reason reason_of(std::string_view text) {
  static constexpr std::pair<std::string_view, Reason> kReasons[] = {
      {"tokens see different keys", Reason::kDifferentKeys},
      {"positions in the logits", Reason::kPositions},
      {"range", Reason::kLogitRange},
      {"beyond 1.256", Reason::kLogitRange},
      {"skip present", Reason::kSkip},
      {"norm present", Reason::kNorm},
      {"MLP present", Reason::kMlp},
      {"no MLP", Reason::kNoMlp},
      {"more than one head", Reason::kSeveralHeads},
      {"gated MLPs are not Lipschitz", Reason::kGatedMlp},
      {"attention may undo the skip", Reason::kSkipMayCancel},
  };
  for (const auto& [words, reason] : kReasons) {
    if (text.find(words) != std::string_view::npos) return reason;
  }
  return Reason::kNone;
}

Status of_value(std::string_view text) {
  return by_beginning(text, {{"rounding", Status::kRoundingFloor},  // "rounding floor", "rounding"
                             {"below float32", Status::kBelowFloat32},
                             {"below float64", Status::kBelowFloat64},
                             {"exactly 0", Status::kExactlyZero},
                             {"below 10^(", Status::kOutOfRange},
                             {"not carried by double precision", Status::kNotCarried},
                             {"at least", Status::kAtLeast},
                             {"k >= n: above", Status::kNotFound},
                             {"k >= n", Status::kNoSaving}});
}

Status of_row(std::string_view command, std::string_view text, const Row& row) {
  const std::string_view metric = row.metric;
  if (metric == "decay") {
    return by_beginning(text, {{"doubly exponential", Status::kDoublyExponential},
                               {"exponential", Status::kExponential},
                               {"none: all tokens are equal", Status::kExactlyZero},
                               // 0.1 did not tell decay without a law from no decay.
                               {"none", Status::kIrregular},
                               {"too few layers", Status::kTooFewLayers}});
  }
  if (metric == "rounding_layer") {
    return by_beginning(text, {{"fails", Status::kFailed}, {"never", Status::kNotReached}});
  }
  if (command == "bounds") return of_bound(text);
  if (metric == "audit.verdict") {
    return by_beginning(text, {{"holds (measured)", Status::kMeasured},
                               {"holds", Status::kHolds},
                               {"fails", Status::kViolated},
                               {"no violation found", Status::kNoCounterexample}});
  }
  if (metric == "agreement.verdict" || metric.starts_with("published.") || command == "counts") {
    return by_beginning(text, {{"agrees", Status::kAgrees},
                               {"does not agree", Status::kDiffers},
                               {"differs", Status::kDiffers},
                               {"no number", Status::kMissing},
                               {"within", Status::kAgrees},
                               {"both at", Status::kAgrees},
                               {"beyond", Status::kDiffers},
                               {"between", Status::kDiffers},
                               {"published at", Status::kDiffers}});
  }
  if (command == "doctor") {
    return by_beginning(row.kind,
                        {{"check", Status::kPassed}, {"failed", Status::kFailed}, {"warning", Status::kWarning}});
  }
  if (metric == "state.distance" && !row.layer && !text.empty()) return Status::kRefused;
  if (metric == "growth_factor" && !row.mean && !text.empty()) return Status::kOutOfRange;
  if (text == "0") return Status::kRoundingFloor;  // what a plain precision shows of a residual that it has lost
  return of_value(text);
}

}  // namespace

void upgrade_row(std::string_view command, std::string_view verdict, Row& row) {
  row.status = of_row(command, verdict, row);
  if (row.status == Status::kNotApplicable) row.reason = reason_of(verdict);
}

}  // namespace rankfall
