#include "report/table_text.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "report/block_plot.h"
#include "report/screen_text.h"
#include "result/manifest.h"

namespace rankfall {

std::vector<RowGroup> by_variant(const Result& result) {
  std::vector<RowGroup> groups;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> places;
  for (const Row& row : result.rows) {
    const auto [place, is_new] = places.try_emplace({row.model, row.variant}, groups.size());
    if (is_new) groups.push_back({row.model, row.variant, {}});
    groups[place->second].rows.push_back(&row);
  }
  return groups;
}

Rows with_metric(const Rows& rows, std::string_view metric) {
  Rows out;
  std::ranges::copy_if(rows, std::back_inserter(out), [&](const Row* row) { return row->metric == metric; });
  return out;
}

std::string precision_words(const Manifest& manifest) {
  const std::string precision = text_of(manifest, "precision");
  return precision == "f32" ? "float32 " : precision == "f64" ? "float64 " : "";
}

LayerCell cell_of(std::optional<double> value) {
  LayerCell cell;
  cell.mean = cell.low = cell.high = value;
  cell.n_rows = 1;
  return cell;
}

LayerBlock block_for(const Row& row, std::string metric, std::string unit) {
  LayerBlock block;
  block.model = fmt::format("{} {}", row.model, row.variant);
  block.metric = std::move(metric);
  block.unit = std::move(unit);
  block.n = row.n;
  return block;
}

void TableText::block(LayerBlock block) {
  if (block.variants.empty() || block.layers.empty()) return;
  // A file may have fewer values than lines.
  block.cells.resize(block.variants.size());
  for (auto& cells : block.cells) cells.resize(block.layers.size());
  if (!block.labels.empty()) block.labels.resize(block.layers.size());
  if (!block.texts.empty()) block.texts.resize(block.layers.size());
  text += block_text(block, "", options) + '\n';
  if (!options.plot) return;
  if (const std::string plot = block_plot(block, options); !plot.empty()) text += plot + '\n';
}

void TableText::lines(const std::string& sentences, int indent) {
  const std::string shown = options.unicode ? sentences : to_ascii(sentences);
  for (const auto& line : wrap(shown, options.width - indent, options.unicode)) {
    text += std::string(static_cast<std::size_t>(indent), ' ') + line + '\n';
  }
}

void TableText::title(const Row& row, const std::string& words) {
  text += paint(Colour::kBold, fmt::format("{} {}", screen_name(row.model, options.unicode), row.variant)) + '\n';
  lines(words, 2);
  text += '\n';
}

}  // namespace rankfall
