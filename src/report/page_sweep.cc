#include "report/page_sweep.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "result/summary.h"
#include "view/rows.h"
#include <rankfall/metric_info.h>

namespace rankfall {
namespace {

constexpr std::size_t kManyModels = 6;  // more panels than that are not looked at side by side

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A name taken apart: what stands before, between and behind its numbers, and these.
struct TakenApart {
  std::vector<std::string> texts;
  std::vector<double> numbers;
};

TakenApart taken_apart(const std::string& name) {
  TakenApart out;
  out.texts.emplace_back();
  for (std::size_t i = 0; i < name.size();) {
    if (!is_digit(name[i])) {
      out.texts.back() += name[i++];
      continue;
    }
    double number = 0;
    const auto [end, error] =
        std::from_chars(name.data() + i, name.data() + name.size(), number, std::chars_format::fixed);
    if (error != std::errc{}) {
      out.texts.back() += name[i++];
      continue;
    }
    out.numbers.push_back(number);
    out.texts.emplace_back();
    i = static_cast<std::size_t>(end - name.data());
  }
  return out;
}

// "layers" of "san:layers=", "checkpoint" of "run/checkpoint-".
std::string key_of(std::string_view before) {
  while (!before.empty() && std::string_view("=-_ ").find(before.back()) != std::string_view::npos) {
    before.remove_suffix(1);
  }
  const auto begin = before.find_last_of(",:/ ");
  if (begin != std::string_view::npos) before.remove_prefix(begin + 1);
  return before.empty() ? "number in the name" : std::string(before);
}

struct LastLayer {
  std::string variant;
  std::map<std::string, Point> of;  // by model
};

// The last layer of every model, a curve for each variant.
std::vector<LastLayer> last_layers(const Result& result, std::string_view metric) {
  std::vector<LastLayer> out;
  for (const Row* row : summary_rows(result)) {
    if (row->metric != metric || !is_layer_row(*row) || row->head || !finite(row->mean)) continue;
    auto place = std::ranges::find(out, row->variant, &LastLayer::variant);
    if (place == out.end()) place = out.insert(out.end(), {row->variant, {}});
    Point point = point_of(*row, static_cast<double>(*row->layer), row->variant);
    const auto [found, is_new] = place->of.try_emplace(row->model, point);
    if (!is_new && point.x >= found->second.x) found->second = std::move(point);
  }
  return out;
}

// Whether the values are far enough apart for a logarithmic axis.
bool is_wide(const Sweep& sweep, std::size_t key) {
  const auto [low, high] =
      std::ranges::minmax(sweep.values, {}, [&](const std::vector<double>& values) { return values[key]; });
  return low[key] > 0 && high[key] / low[key] >= 16;
}

Curves over_key(const Sweep& sweep, const MetricInfo& metric) {
  Curves curves;
  curves.x = sweep.keys.front();
  curves.y = metric.words;
  constexpr std::string_view kLog = "log10 of the ";
  if (metric.is_log10() && curves.y.starts_with(kLog)) curves.y.erase(0, kLog.size());
  curves.scale = metric.is_log10() ? Scale::kLog10 : Scale::kBoth;
  curves.precisions = metric.is_log10();
  curves.wide = true;
  curves.log_x = is_wide(sweep, 0);
  return curves;
}

void add_curves(const Sweep& sweep, const std::vector<LastLayer>& layers, const MetricInfo& metric, Figure& figure) {
  Curves curves = over_key(sweep, metric);
  std::vector<std::string> variants;
  for (const LastLayer& layer : layers) {
    variants.push_back(layer.variant);
    for (std::size_t m = 0; m < sweep.models.size(); ++m) {
      const auto found = layer.of.find(sweep.models[m]);
      if (found == layer.of.end()) continue;
      curves.points.push_back(found->second);
      curves.points.back().x = sweep.values[m][0];
    }
  }
  figure.series = variant_series(variants);
  figure.nodes.emplace_back(std::move(curves));
}

// A panel for each variant: a map where both keys are whole numbers, otherwise a curve for each value of the second.
void add_maps(const Sweep& sweep, const std::vector<LastLayer>& layers, const MetricInfo& metric, Figure& figure) {
  const bool whole = std::ranges::all_of(sweep.values, [](const std::vector<double>& values) {
    return std::ranges::all_of(values, [](double value) { return value == std::floor(value) && value < 1e9; });
  });
  std::set<double> seconds;
  for (const auto& values : sweep.values) seconds.insert(values[1]);
  const auto name = [&](double value) { return fmt::format("{} {}", sweep.keys[1], value); };
  std::vector<std::string> names;
  for (const double value : seconds) names.push_back(name(value));
  if (!whole) figure.series = ordered_series(names);
  for (const LastLayer& layer : layers) {
    Heat heat;
    heat.title = layer.variant;
    heat.x = sweep.keys[0];
    heat.y = sweep.keys[1];
    // Some models of a sweep collapse and some do not; only logarithms show both.
    heat.value = metric.is_log10() ? metric.words : metric_info("log10_" + metric.name).words;
    heat.logarithms = true;
    Curves curves = over_key(sweep, metric);
    curves.title = layer.variant;
    curves.series_title = sweep.keys[1];
    curves.wide = false;
    for (std::size_t m = 0; m < sweep.models.size(); ++m) {
      const auto found = layer.of.find(sweep.models[m]);
      if (found == layer.of.end()) continue;
      const std::vector<double>& values = sweep.values[m];
      if (whole) {
        std::optional<double> shown = found->second.value;
        if (!metric.is_log10()) shown = shown && *shown > 0 ? std::optional(std::log10(*shown)) : std::nullopt;
        heat.values.push_back({values[0], values[1], shown});
        continue;
      }
      curves.points.push_back(found->second);
      curves.points.back().x = values[0];
      curves.points.back().series = name(values[1]);
    }
    if (whole) {
      figure.nodes.emplace_back(std::move(heat));
    } else {
      figure.nodes.emplace_back(std::move(curves));
    }
  }
}

std::vector<std::string> models_of(const Result& result) {
  std::vector<std::string> models;
  std::set<std::string_view> seen;
  for (const Row& row : result.rows) {
    if (!row.model.empty() && seen.insert(row.model).second) models.push_back(row.model);
  }
  return models;
}

}  // namespace

std::optional<Sweep> sweep_of(const std::vector<std::string>& models) {
  if (models.size() < 3) return {};
  std::vector<TakenApart> all;
  for (const std::string& model : models) {
    all.push_back(taken_apart(model));
    if (all.back().texts != all.front().texts || all.back().numbers.size() != all.front().numbers.size()) return {};
  }
  Sweep sweep;
  std::vector<std::size_t> places;  // of the numbers that differ
  for (std::size_t k = 0; k < all.front().numbers.size(); ++k) {
    const bool differs =
        std::ranges::any_of(all, [&](const TakenApart& one) { return one.numbers[k] != all.front().numbers[k]; });
    if (!differs) continue;
    places.push_back(k);
    sweep.keys.push_back(key_of(all.front().texts[k]));
  }
  if (places.empty()) return {};
  std::vector<std::size_t> order(models.size());
  std::iota(order.begin(), order.end(), 0);
  const auto values_of = [&](std::size_t m) {
    std::vector<double> values;
    for (const std::size_t k : places) values.push_back(all[m].numbers[k]);
    return values;
  };
  std::ranges::stable_sort(order, {}, values_of);
  for (const std::size_t m : order) {
    sweep.models.push_back(models[m]);
    sweep.values.push_back(values_of(m));
  }
  return sweep;
}

Result in_sweep_order(Result result) {
  const auto sweep = sweep_of(models_of(result));
  if (!sweep) return result;
  std::map<std::string_view, std::size_t> places;
  for (std::size_t m = 0; m < sweep->models.size(); ++m) places.emplace(sweep->models[m], m + 1);
  std::ranges::stable_sort(result.rows, {}, [&](const Row& row) {
    const auto found = places.find(row.model);
    return found == places.end() ? std::size_t{0} : found->second;
  });
  return result;
}

void show_sweep(const Result& result, View& view) {
  const std::vector<std::string> models = models_of(result);
  const auto sweep = sweep_of(models);
  const bool measured = result.command == "measure" || result.command == "collapse";
  if (!measured || !sweep || sweep->keys.size() > 2) return;
  const MetricInfo metric =
      metric_info(result.command == "collapse" ? "log10_relative_residual.composite" : "relative_residual.composite");
  const std::vector<LastLayer> layers = last_layers(result, metric.name);
  if (layers.empty()) return;
  Figure figure;
  figure.id = "sweep";
  figure.title = fmt::format("{} models, by {}", models.size(), joined(sweep->keys));
  figure.caption = fmt::format("{} of the last layer of each model{}.", title_case(metric.words),
                               sweep->keys.size() == 2 ? "; blank where it is exactly zero or missing" : "");
  if (sweep->keys.size() == 1) {
    add_curves(*sweep, layers, metric, figure);
  } else {
    add_maps(*sweep, layers, metric, figure);
  }
  // The study may have a figure over the number in the name already.
  const bool has_own = std::ranges::find(view.figures, "series", &Figure::id) != view.figures.end();
  if (models.size() > kManyModels) {
    for (Figure& other : view.figures) other.detail = other.id != "series";
  }
  if (!has_own) view.figures.insert(view.figures.begin(), std::move(figure));
}

}  // namespace rankfall
