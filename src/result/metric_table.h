#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <rankfall/metric_info.h>

// The registry of metrics as it is written down; metric_info.cc makes what others read of it.

namespace rankfall {

struct MetricMember {
  std::string_view name, words;
  std::string_view formula;        // stands for '*' in the formulas of metrics
  std::string_view measured = "";  // of a bound: the quantity that it bounds; stands for '#'
};

// Names that one part of a metric's name may have.
struct MetricMembers {
  std::string_view placeholder;
  std::span<const MetricMember> all;
};

struct MetricEntry {
  std::string_view name;   // one '*' for a member's name
  std::string_view words;  // '*': the member's words
  std::string_view formula;
  MetricAxis axis;
  std::string_view uses;  // studies; @layer: their rows have a layer, @head: a layer and a head
  std::string_view unit = "";
  MetricMembers members = {};
  std::optional<Averaging> averaging = {};  // otherwise by the axis
};

struct MetricGroup {
  std::string_view name;
  std::vector<MetricEntry> entries;
};

// All metrics, in reading order.
const std::vector<MetricGroup>& metric_groups();

// All lists of names that stand for '*'.
std::span<const MetricMembers> metric_member_lists();

}  // namespace rankfall
