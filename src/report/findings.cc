#include "report/findings.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "report/number_text.h"

namespace rankfall {
namespace {

struct LayerValue {
  Index layer;
  double value;
  bool at_floor;
};

std::vector<LayerValue> points(const LayerBlock& block, std::size_t variant) {
  std::vector<LayerValue> out;
  for (std::size_t i = 0; i < block.layers.size(); ++i) {
    const LayerCell& cell = block.cells[variant][i];
    if (cell.mean) out.push_back({block.layers[i], *cell.mean, cell.at_floor});
  }
  return out;
}

// "0.61 → 0.018 → 7.0e-07"; a long way is shortened in the middle.
std::string way(const std::vector<LayerValue>& curve, std::size_t end, bool unicode) {
  const std::string_view arrow = unicode ? " → " : " -> ", gap = unicode ? "…" : "...";
  std::string out;
  for (std::size_t i = 0; i <= end; ++i) {
    if (end > 3 && i == 2) {
      out += fmt::format("{}{}", arrow, gap);
      i = end;
    }
    out += fmt::format("{}{}", i == 0 ? "" : arrow, significant(curve[i].value, 2));
  }
  return out;
}

Finding alive(const std::vector<LayerValue>& curve) {
  const LayerValue &first = curve.front(), &last = curve.back();
  const std::string from = significant(first.value, 2), to = significant(last.value, 2);
  if (curve.size() == 1) return {Finding::Fate::kUnknown, fmt::format("is {} at layer {}", to, last.layer)};
  if (from == to) return {Finding::Fate::kKeeps, fmt::format("stays at {} up to layer {}", to, last.layer)};
  if (last.value > first.value) {
    return {Finding::Fate::kKeeps, fmt::format("grows from {} to {} at layer {}", from, to, last.layer)};
  }
  if (last.value >= 0.1 * first.value) {
    return {Finding::Fate::kKeeps, fmt::format("keeps {} of {} at layer {}", to, from, last.layer)};
  }
  // The layer from which on it stays below a tenth.
  auto low = curve.end();
  while (low != curve.begin() && (low - 1)->value < 0.1 * first.value) --low;
  return {Finding::Fate::kFalls, fmt::format("falls from {} to {} at layer {}, below a tenth from layer {} on", from,
                                             to, last.layer, low->layer)};
}

}  // namespace

Finding finding(const LayerBlock& block, std::size_t variant, std::string_view precision, bool unicode) {
  const std::vector<LayerValue> curve = points(block, variant);
  if (curve.empty()) return {Finding::Fate::kUnknown, "has no finite value"};
  const auto floor = std::ranges::find(curve, true, &LayerValue::at_floor);
  if (floor == curve.end()) return alive(curve);

  const auto n_before = static_cast<std::size_t>(floor - curve.begin());
  const std::string where = fmt::format("the {}rounding floor", precision);
  if (const LayerValue& last = curve.back(); !last.at_floor) {
    return {Finding::Fate::kFalls, fmt::format("touches {} at layer {} and is {} at layer {}", where, floor->layer,
                                               significant(last.value, 2), last.layer)};
  }
  if (n_before == 0) return {Finding::Fate::kDies, fmt::format("is at {} from layer {} on", where, floor->layer)};
  return {Finding::Fate::kDies,
          fmt::format("reaches {} at layer {} ({})", where, floor->layer, way(curve, n_before, unicode))};
}

}  // namespace rankfall
