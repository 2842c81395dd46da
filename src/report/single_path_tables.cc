#include "report/single_path_tables.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "report/number_text.h"
#include "report/screen_text.h"

namespace rankfall {
namespace {

class SinglePathTables {
 public:
  SinglePathTables(const Rows& rows, TableText& out) : rows_(rows), out_(out) {}

  void draws() {
    struct Column {
      std::string_view metric, name;
    };
    const std::vector<Column> attention = {{"path.attention_reversed.rank1_remainder_f32.composite", "float32"},
                                           {"published.rank1_remainder.composite", "published"},
                                           {"path.attention_reversed.rank1_remainder.composite", "rank-1 remainder"},
                                           {"path.attention.rank1_remainder.composite", "rank-1 remainder"},
                                           {"path.attention.relative_residual.composite", "residual"}};
    const std::vector<Column> term = {{"path.term.rank1_remainder.composite", "rank-1 remainder"},
                                      {"path.term.relative_residual.composite", "residual"}};
    const std::vector<Column> rerun = {{"path.term.relative_residual.composite", "frozen residual"},
                                       {"rerun.relative_residual.composite", "re-run residual"},
                                       {"rerun.cosine_residual", "cosine of residuals"},
                                       {"rerun.attention_distance", "P differs by"}};
    const bool published = !with_metric(rows_, "path.attention_reversed.rank1_remainder_f32.composite").empty();
    const auto draw = [&](const std::vector<Column>& columns, const std::string& title) {
      std::map<Index, std::vector<LayerCell>> by_length;
      LayerBlock table;
      for (const Column& column : columns) {
        const Rows all = with_metric(rows_, column.metric);
        if (all.empty()) continue;
        if (table.variants.empty()) {
          table = block_for(*all[0], std::string(column.metric), "length");
          table.title = title;
        }
        table.variants.push_back(out_.options.unicode ? std::string(column.name) : to_ascii(column.name));
        for (const Row* row : all) {
          if (!row->length) continue;
          auto& cells = by_length[*row->length];
          cells.resize(std::max(cells.size(), table.variants.size()));
          LayerCell& cell = cells[table.variants.size() - 1];
          cell.n_rows = 3;
          if (row->kind == "q1") cell.low = row->mean;
          if (row->kind == "median") {
            cell.mean = row->mean;
            cell.at_floor = row->status == Status::kRoundingFloor;
          }
          if (row->kind == "q3") cell.high = row->mean;
        }
      }
      if (table.variants.empty()) return;
      table.cells.resize(table.variants.size());
      for (auto& [length, cells] : by_length) {
        table.layers.push_back(length);
        cells.resize(table.variants.size());
        for (std::size_t v = 0; v < cells.size(); ++v) table.cells[v].push_back(cells[v]);
      }
      out_.block(table);
    };
    const bool has_rerun = !with_metric(rows_, "rerun.cosine").empty();
    draw(attention, published ? "chained attention as published, P₁P₂…Pₖ of random paths: median, q1..q3"
                              : "chained attention Pₖ…P₂P₁ of random paths: median, q1..q3");
    if (!published) draw(term, "terms P X W of random paths: median, q1..q3");
    if (has_rerun) draw(rerun, "the same paths frozen, and run again by themselves: median, q1..q3");
  }

  void top() {
    const Rows norms = with_metric(rows_, "path.norm.frobenius");
    if (norms.empty()) return;
    out_.title(*norms[0], fmt::format("heaviest paths: norm of what each adds to the output; {}",
                                      screen_prose(norms[0]->verdict, out_.options.unicode)));
    std::map<std::pair<Index, std::string_view>, const Row*> values;  // by rank and metric
    for (const Row* row : rows_) {
      if (row->k && row->path) values[{*row->k, row->metric}] = row;
    }
    constexpr std::size_t kMostPaths = 50;
    constexpr std::array<std::string_view, 4> kMetrics = {"path.norm.frobenius", "path.relative_norm.frobenius",
                                                          "path.share.projection", "path.share.residual"};
    using Line = std::array<std::string, 7>;
    std::vector<Line> table = {{"", "norm", "/ output's", "share", "of residual", "origin", "path"}};
    for (const Row* row : norms) {
      if (table.size() > kMostPaths) break;
      const Index rank = row->k.value_or(0);
      Line line;
      line[0] = fmt::format("{}", rank);
      for (std::size_t m = 0; m < kMetrics.size(); ++m) {
        const auto found = values.find({rank, kMetrics.at(m)});
        line.at(m + 1) = found == values.end() || !found->second->mean ? "-" : significant(*found->second->mean);
      }
      if (row->origin) line[5] = to_string(*row->origin);
      if (row->path) line[6] = to_string(*row->path);
      table.push_back(std::move(line));
    }
    std::array<int, 6> widths{};
    int before = 0;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      for (const Line& line : table) widths.at(i) = std::max(widths.at(i), display_width(line.at(i)));
      before += widths.at(i) + 2;
    }
    for (const Line& line : table) {
      std::string text;
      for (std::size_t i = 0; i < widths.size(); ++i) {
        text += fit(line.at(i), widths.at(i), i == 5 ? Align::kLeft : Align::kRight, out_.options.unicode) + "  ";
      }
      // Long paths go on below.
      for (const auto& part : wrap(line[6], std::max(20, out_.options.width - before), out_.options.unicode)) {
        out_.text += out_.paint(&line == table.data() ? Colour::kDim : Colour::kPlain, text + part) + '\n';
        text.assign(static_cast<std::size_t>(before), ' ');
      }
    }
    out_.text += '\n';
    if (norms.size() > kMostPaths) {
      out_.lines(fmt::format("{} of {} paths shown.", kMostPaths, norms.size()));
      out_.text += '\n';
    }
  }

 private:
  const Rows& rows_;
  TableText& out_;
};

}  // namespace

void add_single_paths(const Rows& rows, TableText& out) {
  SinglePathTables tables(rows, out);
  tables.draws();
  tables.top();
}

}  // namespace rankfall
