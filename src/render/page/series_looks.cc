#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "render/page/coincidence.h"
#include "render/page/panels.h"

namespace rankfall {
namespace {

// Okabe and Ito's colours, darkened where they are too light for lines on white.
constexpr std::array<std::string_view, 8> kColours = {"#0072B2", "#D55E00", "#009E73", "#E69F00",
                                                      "#AA4499", "#56B4E9", "#8C6D1F", "#6B6B6B"};
// Further ones, for figures with many curves; of a lightness that is seen on white and on black.
constexpr std::array<std::string_view, 8> kMoreColours = {"#7B5FD9", "#C2314F", "#5E8F1E", "#2B8F9E",
                                                          "#C46BE0", "#B05A3C", "#4F6E8F", "#E0559A"};
constexpr std::array<std::string_view, 8> kShapes = {"circle",        "square", "triangle-up",   "diamond",
                                                     "triangle-down", "cross",  "triangle-left", "triangle-right"};
const std::array<std::vector<int>, 4> kDashes = {std::vector<int>{}, {6, 3}, {2, 2}, {8, 3, 2, 3}};
const std::array<std::vector<int>, 4> kReferenceDashes = {std::vector<int>{6, 4}, {2, 3}, {10, 4}, {10, 3, 2, 3}};

// A colour from blue to orange, none of them too light or too dark for either background.
std::string ordered_colour(std::size_t i, std::size_t n) {
  constexpr std::array<std::array<double, 3>, 4> kAnchors = {
      {{0x2F, 0x6F, 0xC4}, {0x8E, 0x4F, 0xB8}, {0xCC, 0x47, 0x78}, {0xE0, 0x7B, 0x2E}}};
  const double place = n < 2 ? 0 : 3.0 * static_cast<double>(i) / static_cast<double>(n - 1);
  const auto before = static_cast<std::size_t>(std::min(2.0, std::floor(place)));
  const double share = place - static_cast<double>(before);
  std::array<int, 3> rgb{};
  for (std::size_t c = 0; c < 3; ++c) {
    rgb.at(c) =
        static_cast<int>(std::lround((1 - share) * kAnchors.at(before).at(c) + share * kAnchors.at(before + 1).at(c)));
  }
  return fmt::format("#{:02X}{:02X}{:02X}", rgb[0], rgb[1], rgb[2]);
}

// No two of a figure have the same colour: behind those chosen by hand, hues a golden angle apart.
std::string numbered_colour(std::size_t number) {
  if (number < kColours.size()) return std::string(kColours.at(number));
  number -= kColours.size();
  if (number < kMoreColours.size()) return std::string(kMoreColours.at(number));
  number -= kMoreColours.size();
  const double turn = 0.1 + 0.381966 * static_cast<double>(number), hue = 6 * (turn - std::floor(turn));
  const double light = number % 2 == 0 ? 0.46 : 0.58, chroma = 0.55 * (1 - std::abs(2 * light - 1));
  const auto channel = [&](double from) {
    const double place = std::fmod(from + hue, 6);
    const double share = std::clamp(std::min(place, 4 - place), 0.0, 1.0);
    return static_cast<int>(std::lround(255 * (light + chroma * (share - 0.5))));
  };
  return fmt::format("#{:02X}{:02X}{:02X}", channel(5), channel(3), channel(1));
}

DrawnSeries looks_of(const Series& series, std::size_t n_ordered) {
  const std::size_t number = series.number;
  DrawnSeries out;
  out.name = series.name;
  out.title = series.explanation.empty() ? series.title : fmt::format("{}: {}", series.title, series.explanation);
  switch (series.look) {
    case Series::Look::kNumbered:
      out.colour = numbered_colour(number);
      out.dash = kDashes.at(number / kColours.size() % kDashes.size());
      out.shape = kShapes.at((number + number / kColours.size()) % kShapes.size());
      break;
    case Series::Look::kOrdered:
      out.colour = ordered_colour(number, n_ordered);
      out.shape = kShapes.at(number % kShapes.size());
      break;
    case Series::Look::kTotal:  // not drawn
    case Series::Look::kReference:
      out.colour = kColours.back();
      out.dash = kReferenceDashes.at(number % kReferenceDashes.size());
      out.shape = "stroke";
      break;
  }
  return out;
}

// How a node draws its series.
std::string mark_of(const Node& node) {
  if (const auto* curves = std::get_if<Curves>(&node)) {
    if (curves->stacked) return "bar";
    return curves->band == Band::kQuartiles && curves->error_bars && curves->sources.size() < 2 ? "box" : "line";
  }
  const auto* tracks = std::get_if<Tracks>(&node);
  return tracks && tracks->lanes ? "ribbon" : "line";
}

}  // namespace

std::vector<DrawnSeries> drawn_series(const Figure& figure) {
  std::map<std::string_view, std::string> drawn;  // how
  bool by_source = false;
  for (const Node& node : figure.nodes) {
    if (const auto* curves = std::get_if<Curves>(&node)) {
      by_source = by_source || curves->sources.size() > 1;
      for (const Point& point : curves->points) {
        if (point.value) drawn.try_emplace(point.series, mark_of(node));
      }
    }
    if (const auto* tracks = std::get_if<Tracks>(&node)) {
      for (const Tracks::Track& track : tracks->tracks) drawn.try_emplace(track.series, mark_of(node));
    }
  }
  const std::set<std::string> covered = covered_series(figure);
  const auto n_ordered =
      static_cast<std::size_t>(std::ranges::count(figure.series, Series::Look::kOrdered, &Series::look));
  std::vector<DrawnSeries> out;
  for (const Series& series : figure.series) {
    const auto found = drawn.find(series.name);
    if (found == drawn.end() || series.look == Series::Look::kTotal) continue;
    out.push_back(looks_of(series, n_ordered));
    out.back().mark = found->second;
    if (by_source) out.back().dash.clear();             // dashes say the source
    if (covered.contains(series.name) && !by_source) {  // dashes cannot be seen in wide lines
      out.back().is_covered = true;
      out.back().width = 5;
    }
  }
  return out;
}

}  // namespace rankfall
