#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/errors.h"
#include "base/parse_number.h"
#include "base/suggestion.h"
#include "result/summary.h"
#include <rankfall/metric_info.h>
#include <rankfall/threshold.h>

namespace rankfall {
namespace {

constexpr std::string_view kComparisonSigns[] = {">", "<", ">=", "<="};  // of Threshold::Comparison

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

[[noreturn]] void reject(std::string_view text, std::string_view why) {
  throw usage_error(
      "condition '{}': {}; expected [VARIANT:]METRIC[@LAYER]>VALUE, for example "
      "'relative_residual.composite@last<0.1'",
      text, why);
}

bool is_metric_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

bool holds(const Threshold& threshold, double value) {
  const double limit = threshold.value;
  const bool outcomes[] = {value > limit, value < limit, value >= limit, value <= limit};  // of Threshold::Comparison
  return outcomes[static_cast<std::size_t>(threshold.comparison)];
}

using Rows = std::vector<const Row*>;

[[noreturn]] void nothing_to_compare(const Threshold& threshold, std::string_view why) {
  throw usage_error("condition '{}': {}", to_string(threshold), why);
}

// Keeps the rows whose text field is `wanted`; if there are none, says what there is.
void keep(Rows& rows, const Threshold& threshold, const std::string& wanted, std::string Row::*field,
          std::string_view name) {
  std::set<std::string_view> present;
  for (const Row* row : rows) {
    if (!(row->*field).empty()) present.insert(row->*field);
  }
  std::erase_if(rows, [&](const Row* row) { return row->*field != wanted; });
  if (!rows.empty()) return;
  nothing_to_compare(threshold, fmt::format("the result has no {} '{}'; it has {}", name, wanted,
                                            present.empty() ? "none" : fmt::format("{}", fmt::join(present, ", "))));
}

void keep_layers(Rows& rows, const Threshold& threshold) {
  if (!threshold.layer && !threshold.last_layer) return;
  std::erase_if(rows, [](const Row* row) { return !row->layer; });
  if (rows.empty()) nothing_to_compare(threshold, "the rows of this metric have no layer; leave out '@'");

  std::map<std::pair<std::string_view, std::string_view>, Index> last;  // by model and variant
  Index lowest = *rows.front()->layer, highest = lowest;
  for (const Row* row : rows) {
    Index& layer = last.try_emplace({row->model, row->variant}, *row->layer).first->second;
    layer = std::max(layer, *row->layer);
    lowest = std::min(lowest, *row->layer);
    highest = std::max(highest, *row->layer);
  }
  std::erase_if(rows, [&](const Row* row) {
    return *row->layer != (threshold.last_layer ? last.at({row->model, row->variant}) : *threshold.layer);
  });
  if (rows.empty()) {
    nothing_to_compare(threshold, fmt::format("the result has no layer {}; its layers are {} to {}", *threshold.layer,
                                              lowest, highest));
  }
}

}  // namespace

Threshold parse_threshold(std::string_view text) {
  Threshold threshold;
  const auto at = text.find_first_of("<>");
  if (at == std::string_view::npos) reject(text, "no comparison (> < >= <=)");
  const bool greater = text[at] == '>', or_equal = at + 1 < text.size() && text[at + 1] == '=';
  using enum Threshold::Comparison;
  threshold.comparison = greater ? (or_equal ? kGreaterEqual : kGreater) : (or_equal ? kLessEqual : kLess);

  const std::string_view number = trim(text.substr(at + (or_equal ? 2 : 1)));
  const auto value = parse_number<double>(number);
  if (!value || !std::isfinite(*value)) reject(text, fmt::format("'{}' is not a finite number", number));
  threshold.value = *value;

  std::string_view left = trim(text.substr(0, at));
  // A metric's name never holds a colon; a variant's may (san linformer:k=64).
  if (const auto colon = left.rfind(':'); colon != std::string_view::npos) {
    threshold.variant = trim(left.substr(0, colon));
    if (threshold.variant.empty()) reject(text, "no variant before ':'");
    left = trim(left.substr(colon + 1));
  }
  if (const auto sign_at = left.find('@'); sign_at != std::string_view::npos) {
    const std::string_view layer = trim(left.substr(sign_at + 1));
    left = trim(left.substr(0, sign_at));
    threshold.last_layer = layer == "last";
    if (!threshold.last_layer) {
      threshold.layer = parse_number<Index>(layer);
      if (!threshold.layer || *threshold.layer < 0) {
        reject(text, fmt::format("'{}' is not a layer (a number from 0, or 'last')", layer));
      }
    }
  }
  threshold.metric = left;
  if (left.empty()) reject(text, "no metric");
  if (!std::ranges::all_of(left, is_metric_character)) reject(text, fmt::format("'{}' is not a metric's name", left));
  return threshold;
}

std::string to_string(const Threshold& threshold) {
  return fmt::format("{}{}{}{}{}{}", threshold.variant, threshold.variant.empty() ? "" : ":", threshold.metric,
                     threshold.last_layer ? "@last"
                     : threshold.layer    ? fmt::format("@{}", *threshold.layer)
                                          : "",
                     kComparisonSigns[static_cast<std::size_t>(threshold.comparison)], threshold.value);
}

namespace {

// A row's value; of the logarithm of a residual that is gone, minus infinity.
std::optional<double> comparable(const Row& row) {
  if (row.mean && std::isfinite(*row.mean)) return row.mean;
  const bool is_gone = row.status == Status::kExactlyZero || row.status == Status::kOutOfRange;
  if (!row.mean && is_gone && row.metric.starts_with("log10_")) return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

}  // namespace

void check_decidable(const Threshold& threshold, std::string_view command, const std::vector<std::string>& variants) {
  const auto refuse = [&](const std::string& why) {
    throw usage_error("condition '{}': {}", to_string(threshold), why);
  };
  const auto info = find_metric(threshold.metric);
  const MetricUse* use = info && info->axis != MetricAxis::kText ? info->use_in(command) : nullptr;
  if (!use) {
    std::vector<std::string> names, all;
    for (const MetricInfo& known : metrics_of(command)) {
      if (known.axis == MetricAxis::kText) continue;
      names.push_back(known.name);
      all.push_back(known.name);
      all.insert(all.end(), known.members.begin(), known.members.end());
    }
    const std::string nearest = did_you_mean(threshold.metric, all);
    refuse(fmt::format("{} has no metric '{}'{}", command, threshold.metric,
                       nearest.empty() ? fmt::format("; it has {}", fmt::join(names, ", ")) : nearest));
  }
  if (!use->has_layer && (threshold.layer || threshold.last_layer)) {
    refuse("the rows of this metric have no layer; leave out '@'");
  }
  if (threshold.variant.empty() || std::ranges::find(variants, threshold.variant) != variants.end()) return;
  refuse(variants.empty() ? fmt::format("{} has no variants; leave out '{}:'", command, threshold.variant)
                          : fmt::format("there is no variant '{}'; there are {}{}", threshold.variant,
                                        fmt::join(variants, ", "), did_you_mean(threshold.variant, variants)));
}

std::vector<Row> violations(const Threshold& threshold, const Result& result) {
  Rows rows = summary_rows(result);
  keep(rows, threshold, threshold.metric, &Row::metric, "metric");
  if (!threshold.variant.empty()) keep(rows, threshold, threshold.variant, &Row::variant, "variant");
  keep_layers(rows, threshold);

  std::vector<Row> found;
  bool any_value = false;
  for (const Row* row : rows) {
    const std::optional<double> value = comparable(*row);
    if (!value) continue;
    any_value = true;
    if (holds(threshold, *value)) found.push_back(*row);
  }
  if (!any_value) nothing_to_compare(threshold, "none of the rows it is about has a value");
  return found;
}

}  // namespace rankfall
