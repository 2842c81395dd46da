#include "studies/layer_curves.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "view/number_text.h"
#include <rankfall/metric_info.h>

namespace rankfall {
namespace {

// The rows behind one point.
Point merged_point(const Rows& rows, std::string variant) {
  Point point = point_of(*rows.front(), static_cast<double>(*rows.front()->layer), std::move(variant));
  if (rows.size() == 1) return point;
  point.low = point.high = std::nullopt;
  point.note.clear();
  double sum = 0;
  int n = 0;
  bool all_floor = true;
  for (const Row* row : rows) {
    all_floor = all_floor && row->status == Status::kRoundingFloor;
    if (row->n != point.n) point.n.reset();
    if (const auto value = finite(row->mean)) {
      sum += *value;
      ++n;
      point.low = std::min(point.low.value_or(*value), *value);
      point.high = std::max(point.high.value_or(*value), *value);
    }
  }
  point.value = n == 0 ? std::nullopt : finite(sum / n);
  if (!all_floor && point.status == Status::kRoundingFloor) point.status = Status::kNone;
  return point;
}

}  // namespace

std::string mean_of_points(const LayerCurves& of) {
  std::set<std::optional<Index>> n;
  for (const Point& point : of.curves.points) n.insert(point.n);
  return n.size() == 1 && *n.begin() ? mean_words(of.metric, **n.begin(), of.over_seeds) : "";
}

namespace {

// Fills in titles, axis and mean of a metric's curves.
void describe(LayerCurves& of, bool by_head, bool by_seed, bool over_seeds) {
  const MetricInfo text = metric_info(of.metric);
  Curves& curves = of.curves;
  curves.title = of.model;
  curves.x = by_head ? "block" : "layer";
  curves.y = text.words;
  constexpr std::string_view kLog = "log10 of the ";
  if (text.is_log10() && curves.y.starts_with(kLog)) curves.y.erase(0, kLog.size());
  curves.share = text.is_share();
  curves.scale = text.is_log10() ? Scale::kLog10 : Scale::kBoth;
  curves.precisions = text.is_log10() && of.metric.find("residual") != std::string::npos;
  const bool bands = std::ranges::any_of(curves.points, [](const Point& point) { return point.low.has_value(); });
  curves.band = by_head || by_seed ? Band::kRange : bands ? Band::kDeviation : Band::kNone;
  curves.about = text.words + (text.formula.empty() ? "" : ": " + text.formula);
  if (by_head) curves.about += " · mean over heads, lowest..highest";
  if (by_seed) curves.about += " · mean over seeds, lowest..highest";
  curves.deviations = over_seeds && curves.band == Band::kDeviation;
  of.over_seeds = over_seeds;
  curves.mean = mean_of_points(of);
  if (curves.deviations && !curves.mean.empty()) curves.mean += ", ± standard deviation over seeds";
  if (text.is_share()) {  // a band goes no further than what it is a band of
    for (Point& point : curves.points) {
      if (point.low && point.value.value_or(0) >= 0) point.low = std::max(*point.low, 0.0);
    }
    const bool inside = std::ranges::all_of(curves.points, [](const Point& p) {
      return p.value.value_or(0) >= 0 && std::max(p.value.value_or(0), p.high.value_or(0)) <= 1.05;
    });
    if (inside && !text.is_log10()) curves.domain = {0, 1.05};
  }
}

}  // namespace

bool stands_beside(std::string_view metric) {
  constexpr std::string_view kPrefixes[] = {"published.", "predicted.", "measured.", "deviations.", "standard_error."};
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return metric.starts_with(prefix); });
}

std::vector<LayerCurves> layer_curves(const Rows& rows) {
  struct Draft {
    LayerCurves of;
    std::map<std::pair<std::string, Index>, Rows> points;
    std::set<std::uint64_t> seeds;
    bool by_head = false, over_seeds = false;
  };
  std::map<std::tuple<std::string_view, std::string_view, bool>, std::size_t> places;
  std::map<std::string_view, std::size_t> model_order;
  std::vector<Draft> drafts;
  for (const Row* row : rows) {
    if (!is_layer_row(*row) || stands_beside(row->metric)) continue;
    const bool by_head = row->head.has_value();
    const auto [place, is_new] = places.try_emplace({row->model, row->metric, by_head}, drafts.size());
    if (is_new) {
      Draft& draft = drafts.emplace_back();
      draft.of.model = row->model;
      draft.of.metric = row->metric;
      draft.by_head = by_head;
      model_order.try_emplace(row->model, model_order.size());
    }
    Draft& draft = drafts[place->second];
    draft.of.variants.add(row->variant);
    draft.over_seeds = draft.over_seeds || row->kind == "seeds";
    if (row->seed) draft.seeds.insert(*row->seed);
    draft.points[{row->variant, *row->layer}].push_back(row);
  }
  std::ranges::stable_sort(drafts, {}, [&](const Draft& draft) { return model_order.at(draft.of.model); });
  std::vector<LayerCurves> out;
  for (Draft& draft : drafts) {
    for (const std::string& variant : draft.of.variants.list()) {
      for (auto place = draft.points.lower_bound({variant, std::numeric_limits<Index>::min()});
           place != draft.points.end() && place->first.first == variant; ++place) {
        draft.of.curves.points.push_back(merged_point(place->second, variant));
      }
    }
    describe(draft.of, draft.by_head, draft.seeds.size() > 1, draft.over_seeds);
    out.push_back(std::move(draft.of));
  }
  return out;
}

std::vector<Figure> head_maps(const Rows& rows) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, Rows>> maps;  // model, variant; metric
  std::vector<std::pair<std::string, std::string>> order;
  for (const Row* row : rows) {
    if (!is_layer_row(*row) || !row->head) continue;
    auto& metrics = maps[{row->model, row->variant}];
    if (metrics.empty()) order.emplace_back(row->model, row->variant);
    metrics[row->metric].push_back(row);
  }
  std::vector<Figure> figures;
  for (const auto& key : order) {
    Figure figure;
    figure.id = fmt::format("heads-{}", figures.size() + 1);
    figure.title = fmt::format("Heads of {} {}", key.first, key.second);
    figure.caption = "Each head of each block; block and head count from zero.";
    figure.detail = true;
    for (const auto& [metric, of_metric] : maps.at(key)) {
      const MetricInfo text = metric_info(metric);
      Heat heat;
      heat.title = heat.value = text.words;
      heat.share = text.is_share();
      heat.logarithms = text.is_log10();
      if (!text.formula.empty()) heat.about = fmt::format("{}: {}", metric, text.formula);
      for (const Row* row : of_metric)
        heat.values.push_back({static_cast<double>(*row->layer), static_cast<double>(*row->head), finite(row->mean)});
      figure.nodes.emplace_back(std::move(heat));
    }
    figures.push_back(std::move(figure));
  }
  return figures;
}

namespace {

// The runs of digits and of other characters in a name.
std::vector<std::string> runs_of(const std::string& name) {
  std::vector<std::string> runs;
  bool digits = false;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (runs.empty() || digit != digits) runs.emplace_back();
    runs.back() += c;
    digits = digit;
  }
  return runs;
}

bool is_number(const std::string& run) { return run[0] >= '0' && run[0] <= '9'; }

// step9 before step10.
bool comes_before(const std::string& a, const std::string& b) {
  const std::vector<std::string> left = runs_of(a), right = runs_of(b);
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (left[i] == right[i]) continue;
    if (!is_number(left[i]) || !is_number(right[i])) return left[i] < right[i];
    const auto digits = [](const std::string& run) {
      return run.substr(std::min(run.find_first_not_of('0'), run.size()));
    };
    const std::string x = digits(left[i]), y = digits(right[i]);
    return x.size() != y.size() ? x.size() < y.size() : x < y;
  }
  return left.size() < right.size();
}

// Names that differ in one number only, as step1 and step10.
bool is_series(const std::vector<std::string>& names) {
  std::set<std::string> stems;
  for (const std::string& name : names) {
    std::string stem;
    for (const std::string& run : runs_of(name)) stem += is_number(run) ? "0" : run;
    stems.insert(stem);
  }
  return stems.size() == 1;
}

// "0.61 → 0.018 → 7.0e-07"; a long way is shortened in the middle.
std::string way(const std::vector<const Point*>& curve, std::size_t end) {
  std::string out;
  for (std::size_t i = 0; i <= end; ++i) {
    if (end > 3 && i == 2) {
      out += " → …";
      i = end;
    }
    out += fmt::format("{}{}", i == 0 ? "" : " → ", significant(*curve[i]->value, 2));
  }
  return out;
}

constexpr double kCollapsed = 0.1;  // of the first value

}  // namespace

Fate fate_of(const LayerCurves& of, const std::string& variant) {
  Fate fate;
  std::optional<double> low_since;
  for (const Point& point : of.curves.points) {
    if (point.series != variant || !point.value || is_beside(point)) continue;
    if (fate.n_points++ == 0) {
      fate.first = *point.value;
      fate.first_layer = point.x;
    }
    fate.last = *point.value;
    fate.last_layer = point.x;
    const bool floor = point.status == Status::kRoundingFloor;
    if (floor) {
      fate.touched = fate.touched ? fate.touched : point.x;
    }
    fate.floor_since = !floor ? std::nullopt : fate.floor_since ? fate.floor_since : std::optional(point.x);
    const bool low = *point.value < kCollapsed * fate.first;
    low_since = !low ? std::nullopt : low_since ? low_since : std::optional(point.x);
  }
  fate.low_since = low_since;
  return fate;
}

std::string Fate::words(std::string_view precision) const {
  const auto layers = [&](double layer) {
    const double n = layer - first_layer;
    return fmt::format("{} layer{}", n, n == 1 ? "" : "s");
  };
  if (n_points == 0) return "there is no finite value";
  if (floor_since && *floor_since == first_layer)
    return fmt::format("all tokens are identical to {}precision", precision);
  if (floor_since) {
    return fmt::format("tokens become identical to {}precision within {}", precision.empty() ? "working " : precision,
                       layers(*floor_since));
  }
  if (n_points == 1) return fmt::format("the relative residual is {} at layer {}", significant(last, 2), last_layer);
  if (first == 0 && last == 0) return "all tokens are identical";
  if (collapses()) {
    return fmt::format("the relative residual falls from {} to {} in {}", significant(first, 2), significant(last, 2),
                       layers(last_layer));
  }
  return grows() ? fmt::format("the residual grows to {} in {}", retained(), layers(last_layer))
                 : fmt::format("{} of the residual remains after {}", retained(), layers(last_layer));
}

std::string Fate::retained() const {
  const double percent = first > 0 ? 100 * last / first : 0;
  return percent < 1e6 ? fmt::format("{:.0f} %", percent) : significant(percent / 100, 2) + " times";
}

namespace {

std::pair<Tone, std::string> alive(const Fate& fate) {
  const std::string from = significant(fate.first, 2), to = significant(fate.last, 2);
  if (fate.n_points == 1) return {Tone::kNeutral, fmt::format("is {} at layer {}", to, fate.last_layer)};
  if (fate.first == 0 && fate.last == 0) return {Tone::kNeutral, fmt::format("is 0 up to layer {}", fate.last_layer)};
  if (!fate.collapses()) {
    return {Tone::kGood,
            fmt::format("{} {} of its residual ({} to {} at layer {})", fate.grows() ? "grows to" : "retains",
                        fate.retained(), from, to, fate.last_layer)};
  }
  return {Tone::kWarning, fmt::format("falls from {} to {} at layer {}, below a tenth from layer {} on", from, to,
                                      fate.last_layer, fate.low_since.value_or(fate.last_layer))};
}

std::pair<Tone, std::string> fate_sentence(const std::vector<const Point*>& curve, const Fate& fate,
                                           std::string_view precision) {
  if (curve.empty()) return {Tone::kNeutral, "has no finite value"};
  if (!fate.touched) return alive(fate);
  if (!fate.floor_since) {
    return {Tone::kWarning, fmt::format("touches the {}rounding floor at layer {} and is {} at layer {}", precision,
                                        *fate.touched, significant(fate.last, 2), fate.last_layer)};
  }
  const auto floor = std::ranges::find(curve, *fate.floor_since, [](const Point* point) { return point->x; });
  const auto n_before = static_cast<std::size_t>(floor - curve.begin());
  const std::string what = fmt::format("tokens are identical to {}precision from layer {} on",
                                       precision.empty() ? "working " : precision, *fate.floor_since);
  return {Tone::kBad, n_before == 0 ? what : fmt::format("{} ({})", what, way(curve, n_before))};
}

}  // namespace

Sentence finding(const LayerCurves& of, const std::string& variant, std::string_view precision) {
  std::vector<const Point*> curve;
  for (const Point& point : of.curves.points) {
    if (point.series == variant && point.value && !is_beside(point)) curve.push_back(&point);
  }
  const auto [tone, text] = fate_sentence(curve, fate_of(of, variant), precision);
  return {variant, tone, text};
}

Figure model_comparison(const std::vector<const LayerCurves*>& models) {
  const MetricInfo text = metric_info(models.front()->metric);
  Figure figure;
  figure.id = "models";
  figure.title = "Models compared";
  figure.caption =
      fmt::format("{} at the last layer, and its difference from the first model.", title_case(text.words));
  using Kind = TableColumn::Kind;
  Table table;
  table.title = fmt::format("{} at the last layer", title_case(text.words));
  table.about = "difference: from the first model";
  table.columns = {{"model"}};
  Names variants;
  std::vector<std::string> names;
  for (const LayerCurves* of : models) {
    names.push_back(of->model);
    for (const std::string& variant : of->variants.list()) variants.add(variant);
  }
  constexpr std::size_t kMostCompared = 6;
  const std::size_t n_variants = std::min(variants.size(), kMostCompared);
  for (std::size_t v = 0; v < n_variants; ++v) {
    const std::string& variant = variants.list()[v];
    const Kind kind = text.is_log10() ? Kind::kLog10 : Kind::kNumber;
    table.columns.push_back({"value", kind, variant});
    table.columns.push_back({"difference", kind, variant});
  }
  std::vector<const LayerCurves*> ordered = models;
  std::ranges::stable_sort(ordered, [&](const LayerCurves* a, const LayerCurves* b) {
    return is_series(names) && comes_before(a->model, b->model);
  });
  std::map<std::string, double> first;
  for (const LayerCurves* of : ordered) {
    auto& row = table.rows.emplace_back();
    row.emplace_back(of->model);
    for (std::size_t v = 0; v < n_variants; ++v) {
      const std::string& variant = variants.list()[v];
      const Fate fate = fate_of(*of, variant);
      if (fate.n_points == 0) {
        row.insert(row.end(), 2, Cell());
        continue;
      }
      Number value(fate.last);
      if (fate.floor_since) value.note = "floor";
      row.emplace_back(std::move(value));
      const auto [place, is_first] = first.try_emplace(variant, fate.last);
      row.emplace_back(is_first ? Cell() : Cell(Number(fate.last - place->second)));
    }
  }
  figure.nodes.emplace_back(std::move(table));
  return figure;
}

Sentences findings(const LayerCurves& of, std::string_view precision) {
  Sentences out;
  for (const std::string& variant : of.variants.list()) out.list.push_back(finding(of, variant, precision));
  return out;
}

}  // namespace rankfall
