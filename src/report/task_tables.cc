#include "report/task_tables.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "report/block_plot.h"
#include "report/number_text.h"
#include "report/screen_text.h"
#include "report/table_text.h"

namespace rankfall {
namespace {

// Rows over all trainings.
Rows over_trainings(const Rows& rows, std::string_view metric) {
  Rows out;
  std::ranges::copy_if(rows, std::back_inserter(out),
                       [&](const Row* row) { return row->metric == metric && !row->seed; });
  return out;
}

std::string column_of(const Row& row) {
  if (row.kind == "exact") return "all paths";
  if (row.kind == "cumulative") return "all up to it";
  return fmt::format("{} {}", row.kind == "rerun" ? "re-run" : row.kind, row.k.value_or(0));
}

// What the numbers say about short paths.
std::string finding(const Rows& accuracies, double baseline) {
  std::map<std::string, const Row*> best;
  for (const Row* row : accuracies) {
    if (!row->length || !row->mean || row->kind == "cumulative") continue;
    const Row*& found = best[column_of(*row)];
    if (!found || *row->mean > *found->mean) found = row;
  }
  std::string text;
  for (const auto& [column, row] : best) {
    text += fmt::format("{}{}: best at length {}, {}{}", text.empty() ? "" : "; ", column, *row->length,
                        significant(*row->mean, 3), *row->mean > baseline ? "" : ", not above guessing");
  }
  return text + ".";
}

// Distances of the two tracks over steps, of the first seed of each variant.
LayerBlock distances(const Result& result, const std::string& model) {
  LayerBlock block;
  block.model = model;
  block.metric = "distance";
  block.unit = "step";
  std::map<std::string, std::map<Index, LayerCell>> curves;
  std::map<std::string, std::optional<std::uint64_t>> seeds;
  std::set<Index> steps;
  for (const Row& row : result.rows) {
    if (row.model != model || row.metric != "distance" || !row.step) continue;
    if (!curves.contains(row.variant)) {
      block.variants.push_back(row.variant);
      seeds[row.variant] = row.seed;
    }
    if (row.seed != seeds[row.variant]) continue;
    const bool apart = row.mean && *row.mean > 0;  // 0 has no place on a logarithmic axis
    curves[row.variant][*row.step] = cell_of(apart ? row.mean : std::nullopt);
    steps.insert(*row.step);
  }
  block.layers.assign(steps.begin(), steps.end());
  for (const std::string& variant : block.variants) {
    auto& cells = block.cells.emplace_back();
    for (const Index step : block.layers) cells.push_back(curves[variant][step]);
  }
  return block;
}

}  // namespace

std::string effectiveness_tables(const Result& result, const TableOptions& options) {
  TableText out(options);
  for (const RowGroup& group : by_variant(result)) {
    const Rows accuracies = over_trainings(group.rows, "accuracy");
    if (accuracies.empty()) continue;
    LayerBlock table = block_for(*accuracies[0], "accuracy", "length");
    table.model = group.model;
    table.title =
        "accuracy of paths of one length: sets of random paths, run again or frozen (sum, LayerNorm, head); the sum of "
        "all frozen paths of the length; of all up to it";
    std::map<std::string, std::map<Index, LayerCell>> cells;
    std::set<Index> lengths;
    for (const char* kind : {"rerun", "frozen", "exact", "cumulative"}) {
      for (const Row* row : accuracies) {
        if (row->kind != kind || !row->length) continue;
        const std::string column = column_of(*row);
        if (!cells.contains(column)) table.variants.push_back(column);
        cells[column][*row->length] = cell_of(row->mean);
        lengths.insert(*row->length);
      }
    }
    table.layers.assign(lengths.begin(), lengths.end());
    for (const std::string& column : table.variants) {
      auto& line = table.cells.emplace_back();
      for (const Index length : table.layers) line.push_back(cells[column][length]);
    }
    out.block(table);
    std::string text;
    double baseline = 0;
    const auto say = [&](const char* kind, const char* words) {
      for (const Row* row : accuracies) {
        if (row->kind != kind || !row->mean) continue;
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", words, significant(*row->mean, 4));
        if (row->std) text += fmt::format(" +- {}", significant(*row->std, 2));
        if (std::string_view(kind).starts_with("baseline")) baseline = std::max(baseline, *row->mean);
      }
    };
    say("model", "The whole network has");
    say("baseline.position", "guessing by position");
    say("baseline.majority", "the most frequent answer");
    say("ceiling.without_positions", "at most without positions");
    const Index n = accuracies[0]->n.value_or(1);
    out.lines(fmt::format("{} ({} training{}). {}", text, n, n == 1 ? "" : "s", finding(accuracies, baseline)));
    out.text += '\n';
  }
  return std::move(out.text);
}

std::string circle_tables(const Result& result, const TableOptions& options) {
  TableText out(options);
  std::map<std::string, LayerBlock> tables;
  std::vector<std::string> order;
  constexpr std::array<std::string_view, 4> kMetrics = {"loss.relative", "distance.left", "fall.steps", "track.turns"};
  for (const RowGroup& group : by_variant(result)) {
    LayerBlock& table = tables[group.model];
    if (table.variants.empty()) {
      order.push_back(group.model);
      table.model = group.model;
      table.metric = "distance.left";
      table.unit = "network";
      table.title =
          "after the recurrence: loss beside that of standing still, distance of the two tracks beside their first, "
          "steps "
          "of its fall from 90 % to 1 %, turns about the centre";
      table.variants = {"loss", "distance left", "steps", "turns"};
      table.cells.resize(table.variants.size());
    }
    table.layers.push_back(static_cast<Index>(table.layers.size()));
    table.labels.push_back(group.variant);
    for (std::size_t m = 0; m < kMetrics.size(); ++m) {
      const Rows rows = with_metric(group.rows, kMetrics.at(m));
      table.cells[m].push_back(cell_of(rows.empty() ? std::nullopt : rows.back()->mean));
    }
  }
  for (const std::string& model : order) {
    out.block(tables[model]);
    if (options.plot) {
      const std::string plot = block_plot(distances(result, model), options);
      if (!plot.empty()) out.text += fmt::format("distance of the two tracks by step\n{}\n", plot);
    }
    for (const RowGroup& group : by_variant(result)) {
      if (group.model != model) continue;
      for (const Row* row : with_metric(group.rows, "distance.left")) {
        out.lines(fmt::format("{}: {}", group.variant, screen_prose(row->verdict, options.unicode)));
      }
    }
    out.text += '\n';
  }
  return std::move(out.text);
}

}  // namespace rankfall
