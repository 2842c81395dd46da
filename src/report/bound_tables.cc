#include "report/bound_tables.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "report/screen_text.h"
#include "report/table_text.h"

namespace rankfall {
namespace {

constexpr std::string_view kPrefix = "log10_tightness.";

// What stands beside a value, in four columns.
std::string mark_of(Status status) {
  switch (status) {
    case Status::kViolated:
      return "!!";
    case Status::kHolds:
      return "ok";
    case Status::kVacuous:
      return "vac";
    case Status::kNotApplicable:
      return "n/a";
    default:
      return "";
  }
}

Colour bound_colour(const Row& row) {
  if (row.status == Status::kViolated) return row.kind == "proved" ? Colour::kBad : Colour::kWarn;
  return row.status == Status::kHolds ? Colour::kGood : Colour::kDim;
}

class BoundTables {
 public:
  BoundTables(const Result& result, const TableOptions& options)
      : groups_(by_variant(result)), options_(options), paint_(options.colour) {}

  std::string make() {
    for (const RowGroup& group : groups_) {
      blocks(group.rows);
      sentences(group.rows);
    }
    return std::move(out_);
  }

 private:
  // Bounds of all heads together, and of heads the tightest one, by block.
  void blocks(const Rows& rows) {
    LayerBlock table;
    std::map<std::string, std::size_t> columns;
    std::set<Index> layers;
    std::map<std::pair<std::size_t, Index>, LayerCell> cells;
    for (const Row* row : rows) {
      if (!row->metric.starts_with(kPrefix) || !row->layer || row->metric.ends_with("_depth")) continue;
      const std::string name = row->metric.substr(kPrefix.size());
      if (table.model.empty()) {
        table.model = fmt::format("{} {}", row->model, row->variant);
        table.metric = row->metric;
        table.n = row->n;
      }
      const auto [column, is_new] = columns.try_emplace(name, table.variants.size());
      if (is_new) table.variants.push_back(name);
      layers.insert(*row->layer);
      LayerCell& cell = cells[{column->second, *row->layer}];
      cell.n_rows = 1;
      if (!cell.mean || (row->mean && *row->mean > *cell.mean)) {
        cell.mean = row->mean;
        cell.mark = mark_of(row->status);
      }
      if (row->status == Status::kViolated) cell.mark = mark_of(row->status);
    }
    if (columns.empty()) return;
    table.unit = "block";
    table.title =
        "log10 of measured / bound (lower: bound / measured), the largest of all samples to which it applies (of T2.2 "
        "and "
        "dobrushin_tanh of all heads)";
    table.layers.assign(layers.begin(), layers.end());
    for (std::size_t v = 0; v < table.variants.size(); ++v) {
      auto& column = table.cells.emplace_back();
      for (const Index layer : table.layers) column.push_back(cells[{v, layer}]);
    }
    TableText text(options_);
    text.block(table);
    out_ += text.text;
  }

  void sentences(const Rows& rows) {
    const Rows all = with_metric(rows, "theorem");
    int width = 0;
    for (const Row* row : all) width = std::max(width, display_width(row->claim));
    for (const Row* row : all) {
      std::string name = fit(row->claim, width, Align::kLeft, options_.unicode) + "  ";
      bool is_first = true;
      const std::string text =
          fmt::format("{}, from {}: {}", row->kind, row->basis == Basis::kWeights ? "weights alone" : "the data",
                      screen_prose(row->verdict, options_.unicode));
      for (const auto& part : wrap(text, std::max(20, options_.width - width - 2), options_.unicode)) {
        out_ += (is_first ? paint_(bound_colour(*row), name) : std::string(name.size(), ' ')) + part + '\n';
        is_first = false;
      }
    }
    if (!all.empty()) out_ += '\n';
  }

  std::vector<RowGroup> groups_;
  const TableOptions& options_;
  Painter paint_;
  std::string out_;
};

}  // namespace

std::string bound_tables(const Result& result, const TableOptions& options) {
  std::string out = BoundTables(result, options).make();
  const Painter paint(options.colour);
  const std::string marks =
      "ok: applies and holds; vac: holds, but allows more than what enters; n/a: a condition of it fails; !!: violated";
  for (const auto& line : wrap(marks, options.width, options.unicode)) out += paint(Colour::kDim, line) + '\n';
  return out;
}

}  // namespace rankfall
