#pragma once

#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "result/statistics.h"
#include "studies/bounds/attention_bounds.h"

namespace rankfall {

inline constexpr double kLn10 = 2.302585092994045684;

// What became of one inequality. kExactlyZero: nothing enters, so there is nothing to bound.
Status status_of(const Inequality& i);

// One bound, at one place over samples, or everywhere.
struct BoundTally {
  Statistics bound, measured;
  double tightest = -INFINITY;  // of those that apply; of all if none does
  double tightest_of_all = -INFINITY;
  std::map<std::pair<Status, Reason>, Index> cases;
  bool is_proved = false, is_a_priori = false, is_lower = false, is_estimate = false;

  void add(const Inequality& i);
  void add(const BoundTally& other);
  double shown() const { return std::isfinite(tightest) ? tightest : tightest_of_all; }

  Index of(Status status) const;
  Index n() const;
  Status status() const;  // the gravest of all cases
  // The most frequent one, if it applies nowhere.
  Reason reason() const;
  // Every reason why it does not apply somewhere.
  std::string reasons() const;
  // What became of it at one place, in words; the rarer outcomes with how often.
  std::string verdict() const;
};

}  // namespace rankfall
