#include "render/page/coincidence.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "render/page/panels.h"
#include "view/rows.h"

namespace rankfall {
namespace {

// The curve of a series by x, of the first source.
std::map<double, double> curve_of(const Curves& curves, const std::string& series) {
  std::map<double, double> out;
  for (const Point& point : curves.points) {
    const bool first_source = curves.sources.empty() || point.source == curves.sources.front();
    if (point.series == series && point.value && std::isfinite(*point.value) && first_source) {
      out[point.x] = *point.value;
    }
  }
  return out;
}

constexpr double kLineWidth = 0.008;  // of the height of a chart

// Whether two curves lie on each other: everywhere closer than a line is wide.
bool coincide(const std::map<double, double>& a, const std::map<double, double>& b, double height) {
  if (a.size() < 3 || a.size() != b.size()) return false;
  return std::ranges::equal(a, b, [&](const auto& p, const auto& q) {
    return p.first == q.first && std::abs(p.second - q.second) <= kLineWidth * height;
  });
}

// Pairs of series of a node that coincide, by their places in `names`: each with the first one that it coincides with.
std::vector<std::pair<std::size_t, std::size_t>> coinciding(const Curves& curves,
                                                            const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 40;  // beyond that nobody can tell curves apart anyway
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  const bool boxes = curves.band == Band::kQuartiles && curves.error_bars;
  if (curves.stacked || boxes || curves.points.size() > 20'000 || names.size() > kMost) return pairs;
  SharedRange range;
  range.add(curves);
  if (!range.any()) return pairs;
  // As the chart that is shown first places them.
  const bool deep = curves.scale == Scale::kLog10 && (curves.deep || range.low < kDeepest);
  const auto place = [&](double value) { return deep ? std::copysign(std::log1p(std::abs(value)), value) : value; };
  const double height =
      curves.domain ? curves.domain->second - curves.domain->first : place(range.high) - place(range.low);
  std::vector<std::map<double, double>> all;
  for (const std::string& name : names) {
    all.push_back(curve_of(curves, name));
    for (auto& [x, value] : all.back()) value = place(value);
  }
  for (std::size_t b = 1; b < names.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      if (!coincide(all[a], all[b], height)) continue;
      pairs.emplace_back(a, b);
      break;
    }
  }
  return pairs;
}

std::vector<std::string> names_of(const Figure& figure) {
  std::vector<std::string> names;
  for (const Series& series : figure.series) {
    if (series.look == Series::Look::kNumbered) names.push_back(series.name);
  }
  return names;
}

std::string title_of(const Figure& figure, const std::string& name) {
  const auto found = std::ranges::find(figure.series, name, &Series::name);
  return found == figure.series.end() ? name : found->title;
}

}  // namespace

std::set<std::string> covered_series(const Figure& figure) {
  std::set<std::string> covered;
  const std::vector<std::string> names = names_of(figure);
  for (const Node& node : figure.nodes) {
    const auto* curves = std::get_if<Curves>(&node);
    if (!curves) continue;
    for (const auto& pair : coinciding(*curves, names)) {
      // Series are drawn in the order of their points, so the first one is covered.
      const auto first = std::ranges::find_if(curves->points, [&](const Point& p) {
        return p.series == names[pair.first] || p.series == names[pair.second];
      });
      covered.insert(first->series);
    }
  }
  return covered;
}

std::vector<std::string> coincidences(const Figure& figure) {
  const std::vector<std::string> names = names_of(figure);
  std::map<std::vector<std::size_t>, std::vector<std::string>> where;  // those that coincide, and in which panels
  std::size_t n_curves = 0;
  bool logs = false, by_source = false;
  for (const Node& node : figure.nodes) {
    const auto* curves = std::get_if<Curves>(&node);
    if (!curves || curves->stacked) continue;
    ++n_curves;
    logs = logs || curves->scale == Scale::kBoth;
    by_source = by_source || curves->sources.size() > 1;
    std::map<std::size_t, std::vector<std::size_t>> clusters;  // by their first
    for (const auto& [a, b] : coinciding(*curves, names)) {
      auto& cluster = clusters[a];
      if (cluster.empty()) cluster.push_back(a);
      cluster.push_back(b);
    }
    for (const auto& [first, cluster] : clusters) where[cluster].push_back(curves->title);
  }
  std::vector<std::string> out;
  for (const auto& [cluster, titles] : where) {
    std::vector<std::string> words;
    for (const std::size_t place : cluster) words.push_back(title_of(figure, names[place]));
    out.push_back(fmt::format("The curves of {} coincide{}{}{}.", joined(words), logs ? " on the linear scale" : "",
                              titles.size() == n_curves ? "" : fmt::format(" in {}", joined(titles)),
                              by_source ? "" : "; those below are drawn wider"));
  }
  return out;
}

}  // namespace rankfall
