#include "studies/bounds/bounds_tally.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "view/view.h"

namespace rankfall {
namespace {

// Bounds and measurements are rounded; this much above 1 is no violation.
constexpr double kTolerance = 1e-9;

// The first of these that occurs is the status of several cases together.
constexpr Status kGravest[] = {Status::kViolated,    Status::kHolds,    Status::kVacuous,
                               Status::kExactlyZero, Status::kEstimate, Status::kNotApplicable};

}  // namespace

Status status_of(const Inequality& i) {
  if (i.fails != Reason::kNone) return Status::kNotApplicable;
  if (i.is_estimate) return i.log_input == -INFINITY ? Status::kExactlyZero : Status::kEstimate;
  if (std::isnan(i.log_bound) || std::isnan(i.log_measured)) return Status::kViolated;
  if (std::isfinite(i.log_bound) && std::isfinite(i.log_measured)) {
    // Logarithms themselves are rounded, far below everything they are large.
    const double rounding = 64 * std::numeric_limits<double>::epsilon() * std::abs(i.log_bound);
    if (i.log_tightness() > kTolerance + rounding) return Status::kViolated;
  } else if (i.is_lower ? i.log_bound > i.log_measured : i.log_measured > i.log_bound) {
    return Status::kViolated;
  }
  if (i.log_input == -INFINITY) return Status::kExactlyZero;
  if (!i.is_lower && i.name != "dobrushin_tanh" && i.log_allowed >= i.log_input) return Status::kVacuous;
  return Status::kHolds;
}

void BoundTally::add(const Inequality& i) {
  const Status status = status_of(i);
  ++cases[{status, i.fails}];
  is_proved = i.is_proved;
  is_a_priori = i.is_a_priori;
  is_lower = i.is_lower;
  is_estimate = i.is_estimate;
  if (std::isfinite(i.log_bound)) bound.add(i.log_bound / kLn10);
  if (std::isfinite(i.log_measured)) measured.add(i.log_measured / kLn10);
  const double tightness = i.log_tightness() / kLn10;
  if (!std::isfinite(tightness)) return;
  tightest_of_all = std::max(tightest_of_all, tightness);
  if (status != Status::kNotApplicable) tightest = std::max(tightest, tightness);
}

void BoundTally::add(const BoundTally& other) {
  is_proved = other.is_proved;
  is_a_priori = other.is_a_priori;
  is_lower = other.is_lower;
  is_estimate = other.is_estimate;
  tightest = std::max(tightest, other.tightest);
  tightest_of_all = std::max(tightest_of_all, other.tightest_of_all);
  for (const auto& [which, count] : other.cases) cases[which] += count;
}

Index BoundTally::of(Status status) const {
  Index sum = 0;
  for (const auto& [which, count] : cases) sum += which.first == status ? count : 0;
  return sum;
}

Index BoundTally::n() const {
  Index sum = 0;
  for (const auto& [which, count] : cases) sum += count;
  return sum;
}

Status BoundTally::status() const {
  const auto found = std::ranges::find_if(kGravest, [&](Status status) { return of(status) > 0; });
  return found == std::end(kGravest) ? Status::kNone : *found;
}

Reason BoundTally::reason() const {
  if (status() != Status::kNotApplicable) return Reason::kNone;
  return std::ranges::max_element(cases, {}, [](const auto& of) { return of.second; })->first.second;
}

std::string BoundTally::reasons() const {
  std::string words;
  for (const auto& [which, count] : cases) {
    if (which.second != Reason::kNone)
      words += fmt::format("{}{}", words.empty() ? "" : ", and ", reason_words(which.second));
  }
  return words;
}

std::string BoundTally::verdict() const {
  std::string text;
  const auto say = [&](Status status, const std::string& words) {
    if (of(status) == 0) return;
    if (!text.empty()) text += "; ";
    text += of(status) == n() ? words : fmt::format("{} in {} of {}", words, of(status), n());
  };
  say(Status::kViolated, "violated");
  say(Status::kHolds, "holds");
  say(Status::kVacuous, "vacuous");
  say(Status::kExactlyZero, "nothing to bound: the residual that enters is 0");
  say(Status::kEstimate, "an estimate, which bounds nothing");
  say(Status::kNotApplicable, "does not apply: " + reasons());
  return text;
}

}  // namespace rankfall
