#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "report/audit_table.h"
#include "report/block_plot.h"
#include "report/block_text.h"
#include "report/bound_tables.h"
#include "report/doctor_table.h"
#include "report/layer_block.h"
#include "report/layer_cost_table.h"
#include "report/lowrank_tables.h"
#include "report/paint.h"
#include "report/path_tables.h"
#include "report/plain_table.h"
#include "report/screen_text.h"
#include "report/table_text.h"
#include "report/task_tables.h"
#include "report/token_lines.h"
#include "result/manifest.h"
#include "result/prose_format.h"
#include "result/summary.h"
#include <rankfall/report.h>

namespace rankfall {
namespace {

constexpr std::string_view kDefaultMetrics[] = {"relative_residual.composite", "log10_relative_residual.composite"};

// The metrics to show; empty means all.
std::vector<std::string> chosen_metrics(const Result& result, const TableOptions& options) {
  if (!options.metrics.empty()) return options.metrics;
  for (const std::string_view metric : kDefaultMetrics) {
    const auto shows = [&](const Row& row) { return row.metric == metric && is_layer_row(row); };
    if (std::ranges::any_of(result.rows, shows)) return {std::string(metric)};
  }
  return {};
}

std::vector<const Row*> rows_of(const std::vector<const Row*>& rows, std::string_view metric) {
  std::vector<const Row*> out;
  std::ranges::copy_if(rows, std::back_inserter(out), [&](const Row* row) { return row->metric == metric; });
  return out;
}

// The verdicts on a log10 block's curves, with how far plain precisions see them.
std::vector<LayerSentence> sentences_for(const LayerBlock& block, const Result& result) {
  constexpr std::string_view kPrefix = "log10_";
  if (!block.metric.starts_with(kPrefix)) return {};
  const std::string kind = block.metric.substr(kPrefix.size(), block.metric.find('.') - kPrefix.size());
  std::vector<LayerSentence> sentences(block.variants.size());
  bool any = false;
  for (const Row& row : result.rows) {
    if (row.model != block.model || (row.metric != "decay" && row.metric != "rounding_layer")) continue;
    const auto variant = std::ranges::find(block.variants, row.variant);
    if (variant == block.variants.end()) continue;
    auto& [status, sentence] = sentences[static_cast<std::size_t>(variant - block.variants.begin())];
    if (row.metric == "decay" && row.kind == kind) {
      status = row.status;
      sentence.insert(0, fmt::to_string(row.verdict));
      any = true;
    }
    const std::string_view precision = row.kind == "f32" ? "float32" : "float64";
    if (row.metric == "rounding_layer" && row.mean) {
      sentence += fmt::format("; {} ends at layer {}", precision, *row.mean);
    }
    if (row.metric == "rounding_layer" && row.status == Status::kFailed) {
      sentence += fmt::format("; {} fails (csv and json say how)", precision);
    }
  }
  return any ? sentences : std::vector<LayerSentence>{};
}

// "32 samples of 128 tokens, random, uniform": what the numbers are about; empty where a result does not say.
std::string input_words(const Manifest& manifest, bool unicode) {
  const auto text = [&](std::string_view key) -> std::string {
    const ManifestValue* value = find(manifest, key);
    if (!value) return "";
    if (const auto* number = std::get_if<std::int64_t>(value)) return fmt::format("{}", *number);
    if (const auto* list = std::get_if<std::vector<std::string>>(value)) {
      return screen_name(fmt::format("{}", fmt::join(*list, "/")), unicode);  // one for each model
    }
    const auto* name = std::get_if<std::string>(value);
    return name ? screen_name(*name, unicode) : "";
  };
  const std::string samples = text("samples"), tokens = text("tokens"), input = text("input");
  if (samples.empty() || tokens.empty() || input.empty()) return "";
  return fmt::format("Input: {} sample{} of {} tokens, {}", samples, samples == "1" ? "" : "s", tokens, input);
}

std::string plural(std::size_t n, std::string_view word) { return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s"); }

// Commands whose results have tables of their own.
const std::map<std::string, std::string (*)(const Result&, const TableOptions&), std::less<>> kTables = {
    {"paths", path_tables},     {"counts", count_tables},   {"bounds", bound_tables},
    {"audit", audit_table},     {"agreement", audit_table}, {"effectiveness", effectiveness_tables},
    {"circle", circle_tables},  {"doctor", doctor_table},   {"layer_costs", layer_cost_table},
    {"lowrank", lowrank_tables}};

}  // namespace

std::string to_table(const Result& result, const TableOptions& given) {
  TableOptions options = given;
  options.width = std::max(options.width, 40);
  const Painter paint(options.colour);

  std::vector<const Row*> rows = summary_rows(result);
  if (!rows.empty() && std::ranges::all_of(rows, [](const Row* row) { return row->metric == "token"; })) {
    return token_lines(rows, options);
  }
  std::string head;
  if (const std::string input = input_words(result.manifest, options.unicode); !input.empty()) {
    for (const auto& line : wrap(input, options.width, options.unicode)) head += paint(Colour::kDim, line) + '\n';
    head += '\n';
  }
  if (const auto tables = kTables.find(result.command); tables != kTables.end() && options.metrics.empty()) {
    std::string out = tables->second(result, options);
    if (!out.empty()) {
      if (result.command == "agreement") return out;  // printed by a command that has no --format
      return head + out + (out.ends_with("\n\n") ? "" : "\n") +
             paint(Colour::kDim, fmt::format("all {} with --format csv or json", plural(result.rows.size(), "row"))) +
             '\n';
    }
  }
  if (const auto metrics = chosen_metrics(result, options); !metrics.empty()) {
    std::vector<const Row*> chosen;
    for (const std::string& metric : metrics) {
      const auto some = rows_of(rows, metric);
      chosen.insert(chosen.end(), some.begin(), some.end());
    }
    rows = std::move(chosen);
  }

  std::string out = head;
  std::set<std::string_view> shown;
  bool any_floor = false;
  for (const Row* row : rows) {
    shown.insert(row->metric);
    any_floor |= is_layer_row(*row) && row->status == Status::kRoundingFloor;
  }
  const std::string precision = precision_words(result.manifest);
  std::set<std::string> marks;
  for (LayerBlock& block : layer_blocks(rows)) {
    block.sentences = sentences_for(block, result);
    out += block_text(block, precision, options) + '\n';
    if (options.plot) out += block_plot(block, options) + '\n';
    for (const auto& cells : block.cells) {
      for (const LayerCell& cell : cells) marks.insert(cell.mark);
    }
  }
  std::erase_if(rows, [](const Row* row) { return is_layer_row(*row); });
  if (!rows.empty()) out += plain_table(rows, options) + '\n';

  std::set<std::string_view> present;
  for (const Row& row : result.rows) present.insert(row.metric);
  std::vector<std::string> notes;
  if (any_floor) {
    notes.push_back(fmt::format("~ {}floor: the rounding noise of {}arithmetic, not a property of the network",
                                options.unicode ? "·" : ".", precision));
  }
  if (marks.contains("<f32") || marks.contains("<f64")) {
    notes.emplace_back("<f32, <f64: beyond what float32, float64 arithmetic shows of it");
  }
  if (marks.contains("<<")) notes.emplace_back("<<: below 10^(-10^308), where logarithms end");
  if (marks.contains("?")) notes.emplace_back("?: not carried by double precision either (metric log10_error)");
  notes.push_back(shown.size() == present.size()
                      ? fmt::format("{}, {}; all columns with --format csv or json", plural(result.rows.size(), "row"),
                                    plural(present.size(), "metric"))
                      : fmt::format("{} of {} shown; all {} with --format csv or json", shown.size(),
                                    plural(present.size(), "metric"), plural(result.rows.size(), "row")));
  for (const std::string& note : notes) {
    for (const auto& line : wrap(note, options.width, options.unicode)) out += paint(Colour::kDim, line) + '\n';
  }
  return out;
}

}  // namespace rankfall
