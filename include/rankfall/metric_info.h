#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rankfall/export.h>

// Every metric that a command writes: its words, its formula, and which rows have it. Tables, the page, --fail-if,
// `rankfall metrics` and docs/metrics.md read this and nothing else. Thread-safe.

namespace rankfall {

// The numbers a metric may have, and so the axis it is drawn on.
enum class MetricAxis {
  kShare,     // 0 to 1, as a rule, and drawn on 0 to 1, so that bars of different models are comparable
  kLog10,     // a logarithm to base 10
  kCount,     // a whole number
  kPositive,  // 0 or more
  kSigned,
  kText,  // its rows have words, not a number
};

// How the values of several samples or seeds become one. The first two differ wherever samples do: the mean of
// logarithms is the logarithm of the geometric mean, which is the smaller one.
enum class Averaging { kArithmetic, kLogarithms, kLargest };

// "arithmetic mean", "mean of the logarithms", "largest value".
RANKFALL_API std::string_view words_of(Averaging averaging);

// A study (a result's `command`) whose rows have the metric.
struct MetricUse {
  std::string study;
  bool has_layer = false;
  bool has_head = false;  // some of the rows, if not all
};

struct MetricInfo {
  std::string name;     // "cosine.mean"; of a family "residual.NORM", where NORM stands for one of several names
  std::string words;    // what people call it
  std::string formula;  // in Unicode; empty if the words say it all
  std::string tex;      // the formula in TeX, without dollars; empty if it has no mathematical sign
  std::string unit;     // empty: a pure number
  std::string group;
  MetricAxis axis = MetricAxis::kSigned;
  Averaging averaging = Averaging::kArithmetic;
  std::vector<MetricUse> uses;
  std::vector<std::string> members;  // of a family: the full names

  bool is_share() const { return axis == MetricAxis::kShare; }
  bool is_log10() const { return axis == MetricAxis::kLog10; }
  RANKFALL_API bool per_head() const;                                  // in some study
  RANKFALL_API const MetricUse* use_in(std::string_view study) const;  // null if that study does not have it
};

// All metrics in reading order, families as one entry each; those of a group stand together.
RANKFALL_API const std::vector<MetricInfo>& all_metric_infos();

// Those whose rows a study writes, in the same order.
RANKFALL_API std::vector<MetricInfo> metrics_of(std::string_view study);

// By full name: a single metric or a member of a family, whose formula then is the member's own. Absent if unknown.
RANKFALL_API std::optional<MetricInfo> find_metric(std::string_view name);

// The same for results that anybody may have written: an unknown metric is its own words and has no formula.
RANKFALL_API MetricInfo metric_info(std::string_view name);

// Names that stand for several in the names of families: NORM, BOUND ...
struct MetricPlaceholder {
  struct Member {
    std::string name, words, formula, tex;
    std::string measured, measured_tex;  // of a bound: the quantity that it bounds
  };
  std::string name;
  std::vector<Member> members;
};
RANKFALL_API const std::vector<MetricPlaceholder>& metric_placeholders();

}  // namespace rankfall
