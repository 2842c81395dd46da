#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "result/prose_format.h"
#include "result/summary.h"
#include "studies/layer_curves.h"
#include "studies/measure/answers.h"
#include "studies/theory/beside_view.h"
#include "studies/views.h"
#include "view/number_text.h"
#include <rankfall/metric_info.h>

namespace rankfall {
namespace {

constexpr std::string_view kExactMetric = "log10_relative_residual.composite";
constexpr std::string_view kAnsweredBy[] = {kExactMetric, "log10_mean_relative_residual.composite"};
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
      if (row->mean) {
        rounding += fmt::format("{}{} from layer {} on", rounding.empty() ? "" : ", ",
                                arithmetic(row->kind) + (rounding.empty() ? " cannot resolve it" : ""), *row->mean);
      }
      if (row->status == Status::kFailed) {
        rounding += fmt::format("{}{} fails: {}", rounding.empty() ? "" : "; ", arithmetic(row->kind), row->verdict);
      }
    }
    if (sentence.text.empty()) continue;
    if (!rounding.empty()) sentence.text += "; " + rounding;
    out.list.push_back(std::move(sentence));
  }
  return out;
}

// The absolute and the relative residual's law, of every variant.
Table law_table(const Result& result) {
  Table table;
  table.title = "Decay of the residual";
  table.n_labels = 3;
  using Kind = TableColumn::Kind;
  table.columns = {{"model"}, {"variant"}, {"of"}, {"outcome", Kind::kProse}};
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
      "Tracked exactly. Dashed: the same networks in float32 and float64 arithmetic, which end at their rounding "
      "floors.";
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
    for (const Point& point : curves.points) {  // float32 may have lost them all
      if (point.source == "exact" && point.n) n = std::max(n.value_or(0), *point.n);
    }
    curves.title = model.model;
    const bool arithmetic_mean = text.averaging == Averaging::kArithmetic;
    curves.y = !text.is_log10()
                   ? text.words
                   : fmt::format("relative residual ({} mean)", arithmetic_mean ? "arithmetic" : "geometric");
    curves.about = text.words + (text.formula.empty() ? "" : ": " + text.formula);
    if (n) curves.mean = mean_words(metric, *n, false);
    curves.scale = text.is_log10() ? Scale::kLog10 : Scale::kBoth;
    curves.precisions = text.is_log10();
    curves.deep = deep;  // one view for all models, or they cannot be compared
    curves.sources = {"exact", "float32", "float64"};
    curves.source_title = "arithmetic";
    add_predicted(result, model.model, metric, "exact", curves);
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
        "Each point is the {} over samples, that is the logarithm of their geometric mean. The arithmetic mean of the "
        "same samples, which measure shows, is larger.",
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
  figure.notes.emplace_back("Networks whose residual does not fall exponentially have no exponent and no curve.");
  for (const RowGroup& model : by_model(result)) {
    Curves curves = depth_curves(model.rows, "local_exponent");
    // For a residual that does not fall, the exponent is noise divided by noise.
    std::erase_if(curves.points, [&](const Point& point) {
      return std::ranges::none_of(model.rows, [&](const Row* row) {
        const bool falls = row->status == Status::kDoublyExponential || row->status == Status::kExponential;
        return falls && row->metric == "decay" && row->kind == "relative_residual" && row->variant == point.series;
      });
    });
    const auto outside = [](const Point& point) {
      return point.value.value_or(0) < -0.2 || point.value.value_or(0) > 3.6;
    };
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

// The way of one variant's relative residual.
struct Descent {
  std::string variant;
  double first = 0, last = 0;  // log10
  Index last_layer = -1;
  Status law = Status::kNone;
  std::optional<double> factor;  // per layer, of an exponential

  // Nine tenths are lost, or a law of decay was found.
  bool collapses() const {
    return law == Status::kDoublyExponential || law == Status::kExponential || last - first <= -1;
  }
};

std::vector<Descent> descents_of(const RowGroup& model, std::string_view metric) {
  std::vector<Descent> all;
  const auto place_of = [&](const std::string& variant) -> Descent& {
    const auto found = std::ranges::find(all, variant, &Descent::variant);
    return found == all.end() ? all.emplace_back(Descent{.variant = variant, .factor = {}}) : *found;
  };
  for (const Row* row : with_metric(model.rows, metric)) {
    if (row->kind != "exact" || row->sample || !row->layer || !finite(row->mean)) continue;
    Descent& of = place_of(row->variant);
    if (of.last_layer < 0) of.first = *row->mean;
    of.last = *row->mean;
    of.last_layer = *row->layer;
  }
  for (const Row* row : with_metric(model.rows, "decay")) {
    if (row->kind != "relative_residual") continue;
    const auto found = std::ranges::find(all, row->variant, &Descent::variant);
    if (found == all.end()) continue;
    found->law = row->status;
    if (row->status == Status::kExponential) found->factor = finite(row->mean);
  }
  return all;
}

std::string descent_words(const Descent& of) {
  const std::string to = power_of_ten(of.last), after = counted(static_cast<std::size_t>(of.last_layer), "layer");
  switch (of.law) {
    case Status::kDoublyExponential:
      return fmt::format("the relative residual falls doubly exponentially, to {} after {}", to, after);
    case Status::kExponential:
      return fmt::format("the relative residual falls exponentially, to {} after {}{}", to, after,
                         of.factor ? fmt::format(", by a factor of {} per layer", significant(*of.factor, 2)) : "");
    case Status::kIrregular:
      return fmt::format("the relative residual falls irregularly, from {} to {} after {}", power_of_ten(of.first), to,
                         after);
    default:
      break;
  }
  if (of.collapses()) {
    return fmt::format("the relative residual falls from {} to {} in {}{}", power_of_ten(of.first), to, after,
                       of.law == Status::kTooFewLayers ? ", too few to name a law" : "");
  }
  return fmt::format("{:.0f} % of the residual remains after {}", 100 * std::pow(10, of.last - of.first), after);
}

// How fast each variant of a model falls.
std::optional<Answer> speed_answer(const RowGroup& model, std::string_view metric) {
  constexpr std::size_t kMostSaid = 4;
  std::string text;
  bool collapses = false;
  std::vector<Descent> all = descents_of(model, metric);
  std::ranges::stable_sort(all, {}, [](const Descent& of) { return !of.collapses(); });  // collapse first
  std::vector<std::pair<std::string, std::vector<std::string>>> sentences;
  for (std::size_t i = 0; i < all.size() && i < kMostSaid; ++i) {
    if (all[i].last_layer < 1) continue;
    collapses = collapses || all[i].collapses();
    const std::string words = descent_words(all[i]);
    auto place = std::ranges::find(sentences, words, &std::pair<std::string, std::vector<std::string>>::first);
    if (place == sentences.end()) place = sentences.insert(place, {words, {}});
    place->second.push_back(variant_phrase(all[i].variant));
  }
  for (const auto& [words, variants] : sentences) {
    text += fmt::format("{}{}, {}.", text.empty() ? "" : " ", title_case(joined(variants)), words);
  }
  if (text.empty()) return {};
  const bool irregular = std::ranges::find(all, Status::kIrregular, &Descent::law) != all.end();
  return Answer{Question::kSpeed, fmt::format("{}: {}", shortened(model.model), text),
                collapses   ? Tone::kBad
                : irregular ? Tone::kNeutral
                            : Tone::kGood};
}

}  // namespace

View collapse_view(const Result& result, const ViewOptions& options) {
  View view;
  const std::vector<std::string> metrics =
      options.metrics.empty() ? std::vector<std::string>{std::string(kExactMetric)} : options.metrics;
  const std::vector<LayerCurves> all = layer_curves(summary_rows(result));
  std::vector<const LayerCurves*> compared;
  for (const LayerCurves& of : all) {
    if (of.metric == metrics.front()) compared.push_back(&of);
  }
  if (compared.size() > 1) view.figures.push_back(model_comparison(compared));
  const std::size_t first = view.figures.size();
  for (const std::string& metric : metrics) view.figures.push_back(residual_figure(result, metric));
  if (!compared.empty()) {
    if (auto beside = beside_figure(result, compared)) view.figures.push_back(std::move(*beside));
  }
  Figure exponents = exponent_figure(result, view.figures[first]);
  view.figures.push_back(std::move(exponents));
  constexpr std::size_t kMostModels = 3;
  const bool known = std::ranges::find(kAnsweredBy, metrics.front()) != std::end(kAnsweredBy);
  for (const RowGroup& model : by_model(result)) {
    if (view.answers.size() == kMostModels) break;
    auto answer = speed_answer(model, known ? std::string_view(metrics.front()) : kExactMetric);
    if (answer) view.answers.push_back(std::move(*answer));
  }
  return view;
}

}  // namespace rankfall
