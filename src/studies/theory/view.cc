#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "result/prose_format.h"
#include "result/summary.h"
#include "studies/layer_curves.h"
#include "studies/measure/answers.h"
#include "studies/theory/grid_view.h"
#include "studies/views.h"
#include "view/number_text.h"
#include "view/rows.h"
#include <rankfall/metric_info.h>

namespace rankfall {
namespace {

constexpr std::string_view kMainMetric = "log10_relative_residual.composite";

// Beside the prediction of a metric, by variant and layer.
struct Beside {
  std::optional<double> mean, std;
  std::optional<Index> n;
};
using BesideAt = std::map<std::pair<std::string, Index>, Beside>;

BesideAt beside_of(const Result& result, const std::string& model, const std::string& metric) {
  BesideAt out;
  for (const Row& row : result.rows) {
    if (row.model != model || row.metric != metric || !row.layer) continue;
    out[{row.variant, *row.layer}] = {finite(row.mean), finite(row.std), row.n};
  }
  return out;
}

// The measured curve, dashed, and its deviation as a band.
void add_measured(const BesideAt& measured, Curves& curves) {
  if (measured.empty()) return;
  for (Point& point : curves.points) point.source = "predicted";
  for (const auto& [place, beside] : measured) {
    Point& point = curves.points.emplace_back();
    point.x = static_cast<double>(place.second);
    point.series = place.first;
    point.source = "measured";
    point.value = beside.mean;
    point.n = beside.n;
    if (beside.mean && beside.std) {
      point.low = *beside.mean - *beside.std;
      point.high = *beside.mean + *beside.std;
    }
  }
  curves.sources = {"predicted", "measured"};
  curves.source_title = "source";
  curves.band = Band::kDeviation;
  curves.deviations = false;
}

// To a tenth: no number of seeds determines more.
std::optional<double> rounded(std::optional<double> deviations) {
  return deviations ? std::optional(std::round(10 * *deviations) / 10) : deviations;
}

// The prediction of each layer, the measurement, and by how many deviations they differ.
Table comparison_table(const LayerCurves& of, const BesideAt& measured, const BesideAt& deviations) {
  const MetricInfo text = metric_info(of.metric);
  using ColumnKind = TableColumn::Kind;
  const ColumnKind kind = text.is_log10() ? ColumnKind::kLog10 : ColumnKind::kNumber;
  Table table;
  table.title = of.model;
  table.about = of.curves.about;
  table.columns = {{"layer", ColumnKind::kCount}};
  std::map<Index, std::map<std::string, double>> predicted;
  for (const Point& point : of.curves.points) {
    if (point.source != "measured" && point.value) predicted[static_cast<Index>(point.x)][point.series] = *point.value;
  }
  const auto& variants = of.variants.list();
  const bool seeds = !deviations.empty();
  for (const std::string& variant : variants) {
    table.columns.push_back({"predicted", kind, variant});
    table.columns.push_back({"measured", kind, variant});
    if (seeds) table.columns.push_back({"off by", ColumnKind::kNumber, variant, 2});
  }
  for (const auto& [layer, values] : predicted) {
    auto& line = table.rows.emplace_back();
    line.emplace_back(Number(std::optional<Index>(layer)));
    for (const std::string& variant : variants) {
      const auto own = values.find(variant);
      const auto beside = measured.find({variant, layer});
      const auto off = deviations.find({variant, layer});
      line.push_back(own == values.end() ? Cell() : Cell(Number(own->second)));
      line.push_back(beside == measured.end() ? Cell() : Cell(Number(beside->second.mean)));
      if (seeds) line.push_back(off == deviations.end() ? Cell() : Cell(Number(rounded(off->second.mean))));
    }
  }
  return table;
}

std::string word_of_method(const Result& result, const std::string& model) {
  bool closed = false, sampled = false;
  for (const Row& row : result.rows) {
    if (row.model != model || stands_beside(row.metric)) continue;
    closed = closed || row.kind == "closed";
    sampled = sampled || row.kind == "sampled";
  }
  return closed && sampled ? "closed forms where logits are small, means over drawn queries and keys elsewhere"
         : sampled         ? "means over drawn queries and keys"
                           : "closed forms";
}

// What theory says of each variant, and what it does not carry.
Sentences findings_of(const Result& result, const LayerCurves& of) {
  Sentences out;
  for (const std::string& variant : of.variants.list()) {
    for (const Row& row : result.rows) {
      if (row.model == of.model && row.variant == variant && row.metric == "decay" && row.kind == "relative_residual") {
        out.list.push_back({variant, tone_of(row.status), fmt::to_string(row.verdict)});
      }
    }
  }
  return out;
}

Sentences refusals_of(const Result& result) {
  Sentences out;
  for (const Row& row : result.rows) {
    if (row.metric != "theory" || row.status != Status::kNotCarried) continue;
    out.list.push_back({row.variant, Tone::kWarning, fmt::format("{}: {}", row.model, row.verdict)});
  }
  return out;
}

Figure theory_figure(const Result& result, const std::vector<const LayerCurves*>& models) {
  const std::string& metric = models.front()->metric;
  const MetricInfo text = metric_info(metric);
  Figure figure;
  figure.id = "theory-" + metric;
  std::ranges::replace_if(
      figure.id, [](char c) { return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')); }, '-');
  figure.title = metric == kMainMetric ? "The predicted residual" : "Predicted: " + text.words;
  figure.caption =
      "Expected of the network's description over its random weights, in the limit of infinite width; no weight was "
      "drawn or read.";
  Names variants;
  bool compared = false;
  for (const LayerCurves* of : models) {
    for (const std::string& variant : of->variants.list()) variants.add(variant);
  }
  figure.series = variant_series(variants.list());
  for (const LayerCurves* of : models) {
    Curves curves = of->curves;
    const BesideAt measured = beside_of(result, of->model, "measured." + metric);
    const BesideAt deviations = beside_of(result, of->model, "deviations." + metric);
    curves.precisions = false;
    add_measured(measured, curves);
    curves.only_drawn = !measured.empty();
    figure.nodes.emplace_back(std::move(curves));
    if (!measured.empty()) figure.nodes.emplace_back(comparison_table(*of, measured, deviations));
    compared = compared || !measured.empty();
    if (metric == kMainMetric) figure.nodes.emplace_back(findings_of(result, *of));
    figure.notes.push_back(fmt::format("{}: {}.", of->model, word_of_method(result, of->model)));
  }
  if (compared) {
    figure.notes.emplace_back(
        "Off by: (measured − predicted) / standard deviation over seeds. Bands are one standard deviation.");
  }
  return figure;
}

Answer answer_of(const Result& result, const LayerCurves& of, bool names_model) {
  std::vector<std::string> doubly, kept;
  for (const Row& row : result.rows) {
    if (row.model != of.model || row.metric != "decay" || row.kind != "relative_residual") continue;
    if (row.status == Status::kDoublyExponential) doubly.push_back(row.variant);
    if (row.status == Status::kNoCollapse) kept.push_back(row.variant);
  }
  Answer answer{Question::kPredicted, "", doubly.empty() ? Tone::kNeutral : Tone::kWarning};
  const std::string prefix = names_model ? of.model + ": t" : "T";
  answer.answer = prefix + "heory predicts ";
  const auto phrases = [](const std::vector<std::string>& variants) {
    std::vector<std::string> out;
    for (const std::string& variant : variants) out.push_back(variant_phrase(variant));
    return joined(out);
  };
  if (!doubly.empty()) answer.answer += "a doubly exponential collapse " + phrases(doubly);
  if (!kept.empty()) answer.answer += std::string(doubly.empty() ? "" : ", and ") + "no collapse " + phrases(kept);
  if (doubly.empty() && kept.empty()) {
    const std::string& first = of.variants.list().front();
    const Fate fate = fate_of(of, first);
    answer.answer += fmt::format("a relative residual of {} at layer {} {}", power_of_ten(fate.last), fate.last_layer,
                                 variant_phrase(first));
  }
  answer.answer += ".";
  return answer;
}

}  // namespace

View theory_view(const Result& result, const ViewOptions& options) {
  std::vector<std::string> shown = options.metrics;
  if (shown.empty()) shown.emplace_back(kMainMetric);
  if (const auto grid = grid_of(result)) return grid_view(result, *grid, shown);
  const Rows rows = summary_rows(result);
  const std::vector<LayerCurves> all = layer_curves(rows);
  View view;
  const bool measured =
      std::ranges::any_of(result.rows, [](const Row& row) { return row.metric.starts_with("measured."); });
  view.about = input_words(result.manifest, "Predicted for", measured);
  Names others;
  for (const LayerCurves& of : all) {
    if (std::ranges::find(shown, of.metric) == shown.end()) others.add(of.metric);
  }
  const auto add = [&](const std::string& metric, bool detail) {
    std::vector<const LayerCurves*> of_models;
    for (const LayerCurves& of : all) {
      if (of.metric == metric) of_models.push_back(&of);
    }
    if (of_models.empty()) return;
    if (metric == kMainMetric) {
      for (const LayerCurves* of : of_models) view.answers.push_back(answer_of(result, *of, of_models.size() > 1));
    }
    view.figures.push_back(theory_figure(result, of_models));
    view.figures.back().detail = detail;
  };
  for (const std::string& metric : shown) add(metric, false);
  const std::size_t n_shown = view.figures.size();
  if (Sentences refused = refusals_of(result); !refused.list.empty()) {
    Figure figure;
    figure.id = "theory-not-carried";
    figure.title = "Not carried by theory";
    figure.caption = "A curve for these would be wrong, and there is none.";
    figure.nodes.emplace_back(std::move(refused));
    view.figures.push_back(std::move(figure));
  }
  if (!others.empty()) {
    view.notes.push_back(fmt::format("Showing {} of {}.", n_shown, counted(n_shown + others.size(), "metric")));
  }
  return view;
}

}  // namespace rankfall
