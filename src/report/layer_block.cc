#include "report/layer_block.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace rankfall {
namespace {

// What a table shows beside a value.
std::string short_mark(Status status) {
  switch (status) {
    case Status::kBelowFloat32:
      return "<f32";
    case Status::kBelowFloat64:
      return "<f64";
    case Status::kNotCarried:
      return "?";
    case Status::kOutOfRange:
      return "<<";
    case Status::kExactlyZero:
      return "= 0";
    default:
      return "";
  }
}

// A block while rows are still coming in: its layers are not known yet.
struct Draft {
  LayerBlock block;
  std::map<std::string_view, std::size_t> variant_index;
  std::vector<std::map<Index, LayerCell>> cells;  // by variant
  std::set<Index> layers;
  std::set<std::uint64_t> seeds;
  std::set<std::optional<Index>> n;

  void add(const Row& row) {
    const auto [it, is_new] = variant_index.try_emplace(row.variant, cells.size());
    if (is_new) {
      block.variants.push_back(row.variant);
      cells.emplace_back();
    }
    layers.insert(*row.layer);
    n.insert(row.n);
    block.over_seeds = block.over_seeds || row.kind == "seeds";
    if (row.seed) seeds.insert(*row.seed);

    LayerCell& cell = cells[it->second][*row.layer];
    const bool floor = row.status == Status::kRoundingFloor;
    cell.at_floor = cell.n_rows++ == 0 ? floor : cell.at_floor && floor;
    if (cell.mark.empty()) cell.mark = short_mark(row.status);
    if (!row.mean || !std::isfinite(*row.mean)) return;
    // While rows come in, mean is their sum; finish() divides.
    cell.mean = cell.mean.value_or(0) + *row.mean;
    cell.low = std::min(cell.low.value_or(*row.mean), *row.mean);
    cell.high = std::max(cell.high.value_or(*row.mean), *row.mean);
    ++n_values[{it->second, *row.layer}];
  }

  LayerBlock finish() {
    block.by_seed = seeds.size() > 1;
    if (n.size() == 1) block.n = *n.begin();
    block.layers.assign(layers.begin(), layers.end());
    for (std::size_t v = 0; v < cells.size(); ++v) {
      auto& column = block.cells.emplace_back();
      for (const Index layer : block.layers) {
        LayerCell cell = cells[v][layer];
        if (cell.mean) *cell.mean /= n_values.at({v, layer});
        if (cell.mean && !std::isfinite(*cell.mean)) cell.mean = cell.low = cell.high = std::nullopt;
        column.push_back(cell);
      }
    }
    return std::move(block);
  }

 private:
  std::map<std::pair<std::size_t, Index>, int> n_values;
};

}  // namespace

bool is_layer_row(const Row& row) {
  return row.layer && !row.metric.empty() && row.exact.empty() && !row.sample && !row.length && !row.origin &&
         !row.path && !row.step && row.claim.empty() && !row.tokens && !row.k;
}

std::vector<LayerBlock> layer_blocks(const std::vector<const Row*>& rows) {
  std::map<std::tuple<std::string_view, std::string_view, bool>, std::size_t> index;
  std::map<std::string_view, std::size_t> model_order;
  std::vector<Draft> drafts;
  for (const Row* row : rows) {
    if (!is_layer_row(*row)) continue;
    const bool by_head = row->head.has_value();
    const auto [it, is_new] = index.try_emplace({row->model, row->metric, by_head}, drafts.size());
    if (is_new) {
      Draft& draft = drafts.emplace_back();
      draft.block.model = row->model;
      draft.block.metric = row->metric;
      draft.block.by_head = by_head;
      model_order.try_emplace(row->model, model_order.size());
    }
    drafts[it->second].add(*row);
  }
  std::vector<LayerBlock> blocks;
  for (Draft& draft : drafts) blocks.push_back(draft.finish());
  std::ranges::stable_sort(blocks, {}, [&](const LayerBlock& block) { return model_order.at(block.model); });
  return blocks;
}

}  // namespace rankfall
