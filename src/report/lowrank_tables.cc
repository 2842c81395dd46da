#include "report/lowrank_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "report/number_text.h"
#include "report/screen_text.h"
#include "report/sketch_tables.h"
#include "report/text_grid.h"

namespace rankfall {
namespace {

constexpr int kMostName = 32;  // longer names of kinds are cut

// Mean and range of the values of several heads.
struct Spread {
  double sum = 0, low = 0, high = 0;
  Index n = 0;
  bool at_least = false;  // some of them are lower bounds

  void add(const Row& row) {
    if (!finite(row.mean)) return;
    low = n == 0 ? *row.mean : std::min(low, *row.mean);
    high = n == 0 ? *row.mean : std::max(high, *row.mean);
    sum += *row.mean;
    ++n;
    at_least = at_least || row.status == Status::kAtLeast;
  }
  std::optional<double> mean() const { return n == 0 ? std::nullopt : finite(sum / static_cast<double>(n)); }
  std::string mean_text() const { return (at_least && n > 0 ? ">=" : "") + number(mean()); }
  std::string range_text() const {
    const std::string from = number(low), to = number(high);
    return n < 2 || from == to ? "" : fmt::format("{}..{}", from, to);
  }
};

// One model and variant.
class LowrankTables {
 public:
  LowrankTables(const Rows& rows, TableText& out) : rows_(rows), out_(out) {}

  void spectra() {
    std::vector<Measure> measures = spectrum_measures();
    std::set<Index> blocks;
    for (const Measure& measure : measures) {
      for (const auto& [block, spread] : measure.by_block) blocks.insert(block);
    }
    if (blocks.empty()) return;
    lowrank_title(
        *rows_[0],
        "singular values σ₁ >= σ₂ >= ... of every P by block, mean over heads and lowest..highest; gap: 1 − σ₂ / "
        "σ₁; rank: number of them above eps σ₁; top k: share of ‖P‖_F² in the first k",
        out_);
    std::vector<TextGrid::Column> columns = {{"", "block"}};
    for (const Measure& measure : measures) {
      columns.push_back({"", measure.name, true});
      columns.push_back({.group = "", .name = "", .left = true, .dim = true});
    }
    TextGrid grid(1, std::move(columns));
    for (const Index block : blocks) {
      std::vector<std::string> cells = {fmt::format("{}", block)};
      for (const Measure& measure : measures) {
        const auto found = measure.by_block.find(block);
        const Spread spread = found == measure.by_block.end() ? Spread() : found->second;
        cells.push_back(spread.mean_text());
        cells.push_back(spread.range_text());
      }
      grid.line(std::move(cells));
    }
    grid.write(out_);
    say_spectra(measures);
  }

  void scaling() {
    const Rows all = with_metric(rows_, "scaling.sigma2");
    std::vector<std::string> kinds;
    std::map<Index, std::map<std::string, const Row*>> by_tokens;
    for (const Row* row : all) {
      if (!row->tokens) continue;
      if (std::ranges::find(kinds, row->kind) == kinds.end()) {
        if (kinds.size() == kMostKinds) continue;
        kinds.push_back(row->kind);
      }
      by_tokens[*row->tokens][row->kind] = row;
    }
    if (!kinds.empty()) {
      LayerBlock table = block_for(*all[0], "scaling.sigma2", "tokens");
      table.title = fmt::format(
          "second singular value σ₂ of P{} against the number of tokens, mean over heads; independent: softmax of "
          "independent normal logits as large as the model's",
          all[0]->layer ? fmt::format(" of block {}", *all[0]->layer) : "");
      table.n.reset();
      table.variants = kinds;
      table.cells.resize(kinds.size());
      for (const auto& [tokens, of_kind] : by_tokens) {
        table.layers.push_back(tokens);
        for (std::size_t v = 0; v < kinds.size(); ++v) {
          const auto found = of_kind.find(kinds[v]);
          table.cells[v].push_back(cell_of(found == of_kind.end() ? std::nullopt : finite(found->second->mean)));
        }
      }
      out_.block(std::move(table));
    }
    say_scaling();
  }

 private:
  struct Measure {
    std::string metric, kind, name;
    std::optional<Index> k;
    std::map<Index, Spread> by_block;
    Spread all;
  };

  std::vector<Measure> spectrum_measures() const {
    const std::string sigma = out_.options.unicode ? "σ₂" : "sigma2";
    std::vector<Measure> measures = {{"attention.sigma2", "", sigma, {}, {}, {}},
                                     {"attention.gap", "", "gap", {}, {}, {}},
                                     {"attention.entropy", "", "entropy", {}, {}, {}}};
    for (const Row* row : with_metric(rows_, "attention.rank.numerical")) {
      const auto same = [&](const Measure& m) { return m.metric == row->metric && m.kind == row->kind; };
      if (std::ranges::any_of(measures, same) || measures.size() == kMostKinds) continue;
      const std::string kind = screen_name(row->kind, out_.options.unicode);
      const int width = std::min(display_width(kind), kMostName);
      measures.push_back(
          {row->metric, row->kind, "rank " + fit(kind, width, Align::kLeft, out_.options.unicode), {}, {}, {}});
    }
    for (const Index k : {1, 4, 16}) {
      measures.push_back({"attention.energy", "", fmt::format("top {}", k), k, {}, {}});
    }
    for (Measure& measure : measures) {
      for (const Row* row : with_metric(rows_, measure.metric)) {
        if (!row->layer || row->kind != measure.kind || row->k != measure.k) continue;
        measure.by_block[*row->layer].add(*row);
        measure.all.add(*row);
      }
    }
    std::erase_if(measures, [](const Measure& measure) { return measure.all.n == 0; });
    return measures;
  }

  void say_spectra(const std::vector<Measure>& measures) {
    std::string text;
    for (const Measure& measure : measures) {
      if (measure.metric == "attention.rank.numerical") {
        text += fmt::format("{} singular values lie above {} (the largest number in a head: {}). ",
                            measure.all.mean_text(), threshold(measure.kind), number(measure.all.high));
      }
      if (measure.k) {
        text += *measure.k == 1 ? fmt::format("The first one holds {} of ‖P‖_F². ", measure.all.mean_text())
                                : fmt::format("The first {} hold {}. ", *measure.k, measure.all.mean_text());
      }
    }
    if (!text.empty()) text = "Mean over all heads: " + text;
    double error = 0;
    for (const Row* row : with_metric(rows_, "attention.singular.error")) {
      error = std::max(error, finite(row->mean).value_or(0));
    }
    if (error > 0) text += fmt::format("Singular values are off by {} at most.", significant(error, 2));
    if (!text.empty()) {
      out_.lines(text);
      out_.text += '\n';
    }
    if (!out_.options.plot) return;
    LayerBlock plot = block_for(*rows_[0], "attention.energy", "block");
    plot.title = "share of ‖P‖_F² in the first k singular values";
    std::set<Index> blocks;
    for (const Measure& measure : measures) {
      if (!measure.k) continue;
      plot.variants.push_back(measure.name);
      for (const auto& [block, spread] : measure.by_block) blocks.insert(block);
    }
    plot.layers.assign(blocks.begin(), blocks.end());
    for (const Measure& measure : measures) {
      if (!measure.k) continue;
      auto& cells = plot.cells.emplace_back();
      for (const Index block : blocks) {
        const auto found = measure.by_block.find(block);
        cells.push_back(cell_of(found == measure.by_block.end() ? std::nullopt : found->second.mean()));
      }
    }
    out_.block(std::move(plot));
  }

  // "eps=0.1" as people say it.
  static std::string threshold(const std::string& kind) {
    constexpr std::string_view kEps = "eps=";
    return kind.starts_with(kEps) ? harmless(kind.substr(kEps.size())) + " σ₁" : harmless(kind);
  }

  void say_scaling() {
    bool any = false;
    for (const Row* row : with_metric(rows_, "scaling.exponent")) {
      std::string text = screen_prose(row->verdict, true);
      if (text.empty() && finite(row->mean)) text = fmt::format("σ₂ goes with n^{}", power_text(*row));
      if (text.empty()) continue;
      out_.lines(fmt::format("{}: {}", harmless(row->kind), text));
      any = true;
    }
    if (any) out_.text += '\n';
  }

  const Rows& rows_;
  TableText& out_;
};

// How far other kinds of attention lead away from a model's own states.
void kinds_of_attention(const Rows& rows, TableText& out) {
  LayerBlock table;
  std::map<std::string, std::map<Index, LayerCell>> cells;
  std::set<std::string> left_out;
  std::set<Index> layers;
  for (const Row* row : with_metric(rows, "state.distance")) {
    if (!row->layer) continue;
    if (!cells.contains(row->variant)) {
      if (table.variants.size() == kMostKinds) {
        left_out.insert(row->variant);
        continue;
      }
      table.variants.push_back(row->variant);
    }
    table.n = row->n;
    layers.insert(*row->layer);
    cells[row->variant][*row->layer] = cell_of(finite(row->mean));
  }
  if (!table.variants.empty()) {
    table.model = rows[0]->model;
    table.metric = "state.distance";
    table.title = "distance of hidden states from the network's own, by kind of attention: ‖X' − X‖_F / ‖X‖_F";
    table.unit = "layer";
    table.layers.assign(layers.begin(), layers.end());
    for (const std::string& kind : table.variants) {
      auto& column = table.cells.emplace_back();
      for (const Index layer : table.layers) column.push_back(cells[kind][layer]);
    }
    std::string products;
    for (const Row* row : with_metric(rows, "state.products")) {
      if (!cells.contains(row->variant) || !finite(row->mean)) continue;
      products += fmt::format("{}{} {}", products.empty() ? "" : ", ", harmless(row->variant), significant(*row->mean));
    }
    std::map<std::string, double> residual;  // of the last state
    for (const Row* row : with_metric(rows, "state.distance.residual")) {
      if (row->layer == *layers.rbegin() && finite(row->mean)) residual[row->variant] = *row->mean;
    }
    std::string text;
    for (const std::string& kind : table.variants) {
      if (!residual.contains(kind)) continue;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", harmless(kind), significant(residual[kind]));
    }
    out.block(std::move(table));
    if (!products.empty()) out.lines(fmt::format("Products per query, as measured: {}.", products));
    if (!text.empty()) {
      out.lines(fmt::format("The same of X less its token mean, at layer {}: {}.", *layers.rbegin(), text));
    }
    if (!left_out.empty()) out.lines(fmt::format("{} more kinds are in csv and json.", left_out.size()));
    if (!products.empty() || !text.empty() || !left_out.empty()) out.text += '\n';
  }
  std::size_t n_refused = 0;
  for (const Row* row : rows) {
    if (!row->metric.starts_with("state.") || row->status != Status::kRefused) continue;
    if (n_refused++ < kMostKinds) {
      out.lines("Not for this model: " + screen_prose(row->verdict, true));
    }
  }
  if (n_refused > kMostKinds) out.lines(fmt::format("{} more kinds are not for this model.", n_refused - kMostKinds));
  if (n_refused > 0) out.text += '\n';
}

}  // namespace

std::string lowrank_tables(const Result& result, const TableOptions& options) {
  TableText out(options);
  const std::vector<RowGroup> groups = by_variant(result);
  std::vector<std::string> models;
  std::map<std::string_view, std::vector<const RowGroup*>> of_model;
  for (const RowGroup& group : groups) {
    if (!of_model.contains(group.model)) models.push_back(group.model);
    of_model[group.model].push_back(&group);
  }
  for (const std::string& model : models) {
    Rows rows;
    for (const RowGroup* group : of_model[model]) {
      LowrankTables tables(group->rows, out);
      tables.spectra();
      tables.scaling();
      add_sketches(group->rows, out);
      rows.insert(rows.end(), group->rows.begin(), group->rows.end());
    }
    kinds_of_attention(rows, out);
  }
  return std::move(out.text);
}

}  // namespace rankfall
