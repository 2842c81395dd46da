#include <algorithm>
#include <iterator>
#include <utility>

#include "result/metric_table.h"
#include "result/tex.h"
#include <rankfall/metric_info.h>

namespace rankfall {
namespace {

std::string replaced(std::string_view text, std::string_view by, char sign = '*') {
  const auto star = text.find(sign);
  if (star == std::string_view::npos) return std::string(text);
  return std::string(text.substr(0, star)) + std::string(by) + std::string(text.substr(star + 1));
}

std::vector<MetricUse> uses_of(std::string_view list) {
  std::vector<MetricUse> uses;
  while (!list.empty()) {
    const auto end = std::min(list.find(' '), list.size());
    const std::string_view word = list.substr(0, end);
    const auto at = std::min(word.find('@'), word.size());
    uses.push_back({std::string(word.substr(0, at)), at < word.size(), word.ends_with("@head")});
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return uses;
}

// Of a family as a whole, or of one member.
MetricInfo info_of(const MetricGroup& group, const MetricEntry& entry, const MetricMember* member = nullptr) {
  MetricInfo info;
  info.unit = entry.unit;
  info.group = group.name;
  info.axis = entry.axis;
  info.averaging =
      entry.averaging.value_or(entry.axis == MetricAxis::kLog10 ? Averaging::kLogarithms : Averaging::kArithmetic);
  info.uses = uses_of(entry.uses);
  if (member || entry.members.all.empty()) {
    const MetricMember none;
    const MetricMember& one = member ? *member : none;
    info.name = replaced(entry.name, one.name);
    // Bounds are known by their short names.
    info.words = replaced(entry.words, one.measured.empty() ? one.words : one.name);
    info.formula = replaced(replaced(entry.formula, one.formula), one.measured, '#');
  } else {
    info.name = replaced(entry.name, entry.members.placeholder);
    info.words = replaced(entry.words, entry.members.placeholder);
    // What all members have in common: "‖X − 1·mean‖" of "‖X − 1·mean‖, *".
    const auto star = entry.formula.find_first_of("*#");
    const auto comma = star == std::string_view::npos ? entry.formula.size() : entry.formula.rfind(',', star);
    if (comma != std::string_view::npos) info.formula = entry.formula.substr(0, comma);
    for (const MetricMember& one : entry.members.all) info.members.push_back(replaced(entry.name, one.name));
  }
  info.tex = to_tex(info.formula);
  return info;
}

}  // namespace

std::string_view words_of(Averaging averaging) {
  switch (averaging) {
    case Averaging::kLogarithms:
      return "mean of the logarithms";
    case Averaging::kLargest:
      return "largest value";
    default:
      return "arithmetic mean";
  }
}

bool MetricInfo::per_head() const { return std::ranges::any_of(uses, &MetricUse::has_head); }

const MetricUse* MetricInfo::use_in(std::string_view study) const {
  const auto found = std::ranges::find(uses, study, &MetricUse::study);
  return found == uses.end() ? nullptr : &*found;
}

const std::vector<MetricInfo>& all_metric_infos() {
  static const std::vector<MetricInfo> all = [] {
    std::vector<MetricInfo> out;
    for (const MetricGroup& group : metric_groups()) {
      for (const MetricEntry& entry : group.entries) out.push_back(info_of(group, entry));
    }
    return out;
  }();
  return all;
}

std::vector<MetricInfo> metrics_of(std::string_view study) {
  std::vector<MetricInfo> out;
  std::ranges::copy_if(all_metric_infos(), std::back_inserter(out),
                       [&](const MetricInfo& info) { return info.use_in(study) != nullptr; });
  return out;
}

std::optional<MetricInfo> find_metric(std::string_view name) {
  for (const MetricGroup& group : metric_groups()) {
    for (const MetricEntry& entry : group.entries) {
      if (entry.members.all.empty() && entry.name == name) return info_of(group, entry);
      for (const MetricMember& member : entry.members.all) {
        if (replaced(entry.name, member.name) == name) return info_of(group, entry, &member);
      }
    }
  }
  return std::nullopt;
}

MetricInfo metric_info(std::string_view name) {
  if (auto known = find_metric(name)) return *std::move(known);
  MetricInfo unknown;
  unknown.name = unknown.words = name;
  return unknown;
}

const std::vector<MetricPlaceholder>& metric_placeholders() {
  static const std::vector<MetricPlaceholder> all = [] {
    std::vector<MetricPlaceholder> out;
    for (const MetricMembers& members : metric_member_lists()) {
      MetricPlaceholder& one = out.emplace_back();
      one.name = members.placeholder;
      for (const MetricMember& member : members.all) {
        const auto text = [](std::string_view view) { return std::string(view); };
        // "composite norm √(...)" stands in a sentence; beside its words the formula alone is enough.
        std::string_view formula = member.formula;
        if (formula.starts_with(member.words)) formula.remove_prefix(member.words.size());
        formula.remove_prefix(std::min(formula.find_first_not_of(' '), formula.size()));
        one.members.push_back({text(member.name), text(member.words), text(formula), to_tex(formula),
                               text(member.measured), to_tex(member.measured)});
      }
    }
    return out;
  }();
  return all;
}

}  // namespace rankfall
