#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "result/prose_format.h"
#include "studies/layer_curves.h"
#include "studies/views.h"
#include "view/number_text.h"
#include <rankfall/metric_info.h>

namespace rankfall {
namespace {

constexpr std::string_view kExactMetric = "log10_relative_residual.composite";
constexpr double kDeep = -30;  // exponents below this are drawn by their logarithm

std::string arithmetic(const std::string& kind) {
  return kind == "f32" ? "float32" : kind == "f64" ? "float64" : "exact";
}

// Curves over layers of one metric of one model; rows of single samples are left out.
Curves depth_curves(const Rows& rows, const std::string& metric) {
  Curves curves;
  for (const Row* row : with_metric(rows, metric)) {
    if (row->sample || !row->layer) continue;
    Point point = point_of(*row, static_cast<double>(*row->layer), row->variant);
    point.low = point.high = std::nullopt;
    point.source = arithmetic(row->kind);
    curves.points.push_back(std::move(point));
  }
  return curves;
}

// The law of each variant's residual, and how far plain arithmetic sees it.
Sentences laws(const Rows& rows, const std::string& metric, const std::vector<Series>& series) {
  constexpr std::string_view kPrefix = "log10_";
  if (!metric.starts_with(kPrefix)) return {};
  const std::string kind = metric.substr(kPrefix.size(), metric.find('.') - kPrefix.size());
  Sentences out;
  for (const Series& one : series) {
    Sentence sentence{one.name, Tone::kNeutral, ""};
    std::string rounding;
    for (const Row* row : rows) {
      if (row->variant != one.name) continue;
      if (row->metric == "decay" && row->kind == kind) {
        sentence.tone = tone_of(row->status);
        sentence.text = fmt::to_string(row->verdict);
      }
      if (row->metric != "rounding_layer") continue;
      if (row->mean) rounding += fmt::format("; {} ends at layer {}", arithmetic(row->kind), *row->mean);
      if (row->status == Status::kFailed)
        rounding += fmt::format("; {} fails: {}", arithmetic(row->kind), row->verdict);
    }
    if (sentence.text.empty()) continue;
    sentence.text += rounding;
    out.list.push_back(std::move(sentence));
  }
  return out;
}

// The absolute and the relative residual's law, of every variant.
Table law_table(const Result& result) {
  Table table;
  table.title = "how the residual falls";
  table.n_labels = 3;
  using Kind = TableColumn::Kind;
  table.columns = {{"model"}, {"variant"}, {"of"}, {"what is found", Kind::kProse}};
  for (const Row& row : result.rows) {
    if (row.metric == "decay") {
      table.rows.push_back({row.model, row.variant,
                            std::string(row.kind == "residual" ? "absolute residual" : "relative residual"),
                            fmt::to_string(row.verdict)});
    }
    if (row.metric == "rounding_layer") {
      table.rows.push_back(
          {row.model, row.variant, arithmetic(row.kind),
           row.mean ? fmt::format("off by more than 12 % from layer {} on", *row.mean) : fmt::to_string(row.verdict)});
    }
  }
  return table;
}

Figure residual_figure(const Result& result, const std::string& metric) {
  const MetricInfo text = metric_info(metric);
  Figure figure;
  figure.id = metric == kExactMetric ? "exact" : "exact-" + metric;
  std::ranges::replace(figure.id, '.', '-');
  std::ranges::replace(figure.id, '_', '-');
  figure.title = metric == kExactMetric ? "The exact residual, far below rounding" : title_case(text.words);
  figure.caption =
      "Tracked exactly; what float32 and float64 arithmetic show of the same networks is dashed and ends at their "
      "rounding floors.";
  Names variants;
  bool deep = false;
  for (const Row& row : result.rows) {
    if (row.metric != metric || row.sample) continue;
    variants.add(row.variant);
    deep = deep || (row.kind != "f32" && row.kind != "f64" && text.is_log10() && row.mean.value_or(0) < kDeep);
  }
  figure.series = variant_series(variants.list());
  for (const RowGroup& model : by_model(result)) {
    Curves curves = depth_curves(model.rows, metric);
    if (curves.points.empty()) continue;
    std::optional<Index> n;
    for (const Point& point : curves.points) n = point.n ? point.n : n;
    curves.title = model.model;
    curves.y = text.is_log10() ? "relative residual (geometric mean)" : text.words;
    curves.about = text.words + (text.formula.empty() ? "" : ": " + text.formula);
    if (n) curves.mean = mean_words(metric, *n, false);
    curves.scale = text.is_log10() ? Scale::kLog10 : Scale::kBoth;
    curves.precisions = text.is_log10();
    curves.deep = deep;  // one view for all models, or they cannot be compared
    curves.sources = {"exact", "float32", "float64"};
    curves.source_title = "arithmetic";
    figure.nodes.emplace_back(std::move(curves));
    if (Sentences found = laws(model.rows, metric, figure.series); !found.list.empty()) {
      figure.nodes.emplace_back(std::move(found));
    }
  }
  if (metric == kExactMetric) {
    if (Table table = law_table(result); !table.rows.empty()) {
      table.only_page = !figure.nodes.empty();  // the sentences under the curves say the same
      figure.nodes.emplace_back(std::move(table));
    }
    figure.notes.push_back(fmt::format(
        "Each point is the {} over samples, that is the logarithm of the geometric mean; the arithmetic mean of the "
        "same samples, which other figures show, is larger.",
        words_of(metric_info(kExactMetric).averaging)));
  }
  return figure;
}

// Beside `residuals`, which say the same in a terminal.
Figure exponent_figure(const Result& result, const Figure& residuals) {
  Figure figure;
  figure.id = "exponent";
  figure.title = "How fast it falls";
  figure.caption =
      "The local exponent: each step of the logarithm over the step before it. 3 is cubing in every layer (doubly "
      "exponential), 1 is a constant factor (exponential).";
  figure.series = residuals.series;
  for (const RowGroup& model : by_model(result)) {
    Curves curves = depth_curves(model.rows, "local_exponent");
    const auto outside = [](const Point& point) {
      return point.value.value_or(0) < -0.2 || point.value.value_or(0) > 3.6;
    };
    // A network that does not collapse has none that mean anything.
    if (std::ranges::none_of(curves.points, [](const Point& point) { return point.value.has_value(); })) continue;
    curves.title = model.model;
    curves.y = "local exponent";
    curves.scale = Scale::kLinear;
    curves.only_drawn = !residuals.nodes.empty();
    if (std::ranges::none_of(curves.points, outside)) curves.domain = {{-0.2, 3.6}};
    figure.nodes.emplace_back(std::move(curves));
  }
  return figure;
}

std::string law_words(Status status) {
  switch (status) {
    case Status::kDoublyExponential:
      return "doubly exponential, ";
    case Status::kExponential:
      return "exponential, ";
    case Status::kIrregular:
      return "irregular decay, ";
    case Status::kNoCollapse:
      return "no collapse, ";
    case Status::kTooFewLayers:
      return "too few layers to tell, ";
    default:
      return "";
  }
}

// The last layer of pure attention, or of the first variant.
void answer(const RowGroup& model, std::vector<Answer>& answers) {
  const Row* deepest = nullptr;
  for (const Row* row : with_metric(model.rows, kExactMetric)) {
    if (row->kind != "exact" || row->sample || !row->layer || !row->mean) continue;
    const bool better = deepest && row->variant == "san" && deepest->variant != "san";
    const bool deeper = !deepest || (row->variant == deepest->variant && *row->layer >= *deepest->layer);
    if (better || deeper) deepest = row;
  }
  if (!deepest) return;
  Status law = Status::kNone;
  for (const Row* row : with_metric(model.rows, "decay")) {
    if (row->kind == "relative_residual" && row->variant == deepest->variant) law = row->status;
  }
  const Tone tone = law == Status::kExponential ? Tone::kBad
                    : law == Status::kIrregular ? Tone::kNeutral
                                                : tone_of(law);
  answers.push_back({Question::kSpeed,
                     fmt::format("{} {}: {}10^{} after {} layers.", shortened(model.model), deepest->variant,
                                 law_words(law), logarithm(*deepest->mean), *deepest->layer),
                     tone});
}

}  // namespace

View collapse_view(const Result& result, const ViewOptions& options) {
  View view;
  const std::vector<std::string> metrics =
      options.metrics.empty() ? std::vector<std::string>{std::string(kExactMetric)} : options.metrics;
  for (const std::string& metric : metrics) view.figures.push_back(residual_figure(result, metric));
  view.figures.push_back(exponent_figure(result, view.figures.front()));
  for (const RowGroup& model : by_model(result)) answer(model, view.answers);
  return view;
}

}  // namespace rankfall
