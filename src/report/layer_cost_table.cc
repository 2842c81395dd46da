#include "report/layer_cost_table.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "report/number_text.h"
#include "report/screen_text.h"
#include "report/table_text.h"
#include "report/text_grid.h"
#include "result/prose_format.h"

namespace rankfall {
namespace {

constexpr int kMostText = 24;  // columns of a name, or of a theory

const Row* find_row(const Rows& rows, std::string_view metric, std::string_view kind, std::optional<Index> tokens) {
  const auto found = std::ranges::find_if(rows, [&](const Row* row) {
    return row->metric == metric && row->kind == kind && row->tokens == tokens && row->mean;
  });
  return found == rows.end() ? nullptr : *found;
}

// Lengths of all layers, at most `most` of them: the largest, and down from it all, every other, every third, ...
std::vector<Index> lengths_of(const std::vector<RowGroup>& groups, std::size_t most) {
  std::set<Index, std::greater<>> all;
  for (const RowGroup& group : groups) {
    for (const Row* row : with_metric(group.rows, "layer.seconds")) {
      if (row->tokens && *row->tokens > 0 && row->mean) all.insert(*row->tokens);
    }
  }
  const std::size_t stride = (all.size() + most - 1) / most;
  std::vector<Index> lengths;
  std::size_t i = 0;
  for (const Index length : all) {
    if (i++ % stride == 0) lengths.push_back(length);
  }
  std::ranges::reverse(lengths);
  return lengths;
}

// "linformer" of "linformer:k=64".
std::string kind_of(const RowGroup& group) { return group.variant.substr(0, group.variant.find(':')); }

class CostTable {
 public:
  CostTable(const std::vector<RowGroup>& groups, TableText& out)
      : groups_(groups), out_(out), lengths_(lengths_of(groups, 12)) {
    for (const RowGroup& group : groups) ++n_of_kind_[kind_of(group)];
  }

  void write(const std::string& title) {
    if (lengths_.empty()) return;
    for (const auto& line : wrap(title, out_.options.width, out_.options.unicode)) {
      out_.text += out_.paint(Colour::kBold, line) + '\n';
    }
    out_.text += '\n';
    const Index largest = lengths_.back();
    std::vector<TextGrid::Column> columns = {{.group = "", .name = "layer", .left = true}};
    const char* unit = out_.options.unicode ? "µs a token, n =" : "us a token, n =";
    for (const Index n : lengths_) columns.push_back({.group = unit, .name = fmt::format("{}", n)});
    columns.push_back({.group = "", .name = fmt::format("MB at {}", largest)});
    for (const char* name : {"time", "mixing", "memory"}) columns.push_back({.group = "exponent of n", .name = name});
    columns.push_back({.group = "", .name = "steps"});
    columns.push_back({.group = "", .name = "theory", .left = true});
    TextGrid grid(1, std::move(columns));
    for (const RowGroup& group : groups_) grid.line(cells(group));
    grid.write(out_);
    out_.lines(fmt::format(
        "exponent of n: over the largest half of the lengths, with its standard error; mixing: of the time without the "
        "four projections that every kind of attention has, O(n d^2), which theory leaves out, too; steps: of {} "
        "tokens "
        "those that wait for one another.",
        largest));
  }

 private:
  std::string text(const std::string& from_file) const {
    const std::string harmless = screen_name(from_file, out_.options.unicode);
    return fit(harmless, std::min(display_width(harmless), kMostText), Align::kLeft, out_.options.unicode);
  }

  // The kind alone where there is one of it.
  std::string name(const RowGroup& group) const {
    const std::string kind = kind_of(group);
    return text(n_of_kind_.at(kind) > 1 ? group.variant : kind);
  }

  std::string exponent(const RowGroup& group, const char* metric, const char* kind) const {
    const Row* row = find_row(group.rows, metric, kind, std::nullopt);
    if (!row) return "-";
    const auto number = [](double x) { return x > -100 && x < 100 ? fmt::format("{:.2f}", x) : significant(x); };
    return number(*row->mean) + (row->std ? (out_.options.unicode ? "±" : "+-") + number(*row->std) : std::string());
  }

  std::vector<std::string> cells(const RowGroup& group) const {
    const auto number = [&](const char* metric, Index n, double factor, int digits) {
      const Row* row = find_row(group.rows, metric, "", n);
      return row ? significant(*row->mean * factor, digits) : std::string("-");
    };
    std::vector<std::string> out = {name(group)};
    for (const Index n : lengths_) out.push_back(number("layer.seconds", n, 1e6 / static_cast<double>(n), 3));
    const Index largest = lengths_.back();
    out.push_back(number("layer.memory_mb", largest, 1, 3));
    out.push_back(exponent(group, "layer.exponent", "seconds"));
    out.push_back(exponent(group, "mixing.exponent", "seconds"));
    out.push_back(exponent(group, "layer.exponent", "memory"));
    out.push_back(number("layer.sequential", largest, 1, 1));
    const Row* theory = find_row(group.rows, "layer.exponent", "seconds", std::nullopt);
    out.push_back(theory ? text(fmt::to_string(theory->verdict)) : "-");
    return out;
  }

  const std::vector<RowGroup>& groups_;
  TableText& out_;
  std::vector<Index> lengths_;
  std::map<std::string, int> n_of_kind_;
};

}  // namespace

std::string layer_cost_table(const Result& result, const TableOptions& options) {
  std::vector<std::string> models;
  std::map<std::string, std::vector<RowGroup>> by_model;
  for (RowGroup& group : by_variant(result)) {
    auto& groups = by_model[group.model];
    if (groups.empty()) models.push_back(group.model);
    groups.push_back(std::move(group));
  }
  TableText out(options);
  for (const std::string& model : models) {
    CostTable(by_model[model], out)
        .write(fmt::format("{}, {}cost of one layer by number of tokens n", screen_name(model, options.unicode),
                           precision_words(result.manifest)));
  }
  return std::move(out.text);
}

}  // namespace rankfall
