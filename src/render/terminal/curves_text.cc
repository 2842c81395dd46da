#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "render/terminal/curve_grid.h"
#include "render/terminal/screen.h"
#include "view/number_text.h"

namespace rankfall {

CurveGrid grid_of(const Curves& curves, const std::vector<Series>& series) {
  CurveGrid grid;
  std::set<double> xs;
  std::map<std::string_view, std::map<double, const Point*>> by_series;
  std::vector<std::string_view> order;
  const auto source = std::ranges::find_if(curves.sources, [&](const std::string& name) {
    return std::ranges::find(curves.points, name, &Point::source) != curves.points.end();
  });
  std::set<std::string_view> references;  // something to compare with, for charts
  for (const Series& one : series) {
    order.emplace_back(one.name);
    if (one.look == Series::Look::kReference) references.insert(one.name);
  }
  for (const Point& point : curves.points) {
    if (references.contains(point.series)) continue;
    if (source != curves.sources.end() && point.source != *source) continue;
    if (!std::isfinite(point.x)) continue;
    xs.insert(point.x);
    if (std::ranges::find(order, point.series) == order.end()) order.emplace_back(point.series);
    by_series[point.series].try_emplace(point.x, &point);
  }
  grid.xs.assign(xs.begin(), xs.end());
  for (const std::string_view name : order) {
    const auto points = by_series.find(name);
    if (points == by_series.end()) continue;
    grid.names.emplace_back(name);
    auto& cells = grid.cells.emplace_back();
    for (const double x : grid.xs) {
      const auto found = points->second.find(x);
      cells.push_back(found == points->second.end() ? nullptr : found->second);
    }
  }
  return grid;
}

namespace {

constexpr int kGap = 2;     // between columns
constexpr int kMinBar = 6;  // as wide as the mark of the rounding floor
constexpr int kMaxBar = 20;
constexpr int kMark = 4;      // in place of bars, which logarithms do not have
constexpr int kMaxName = 28;  // longer names of series, and labels, are cut

// A residual that is rounding has a size and no digits; a rank or a cosine made of such a state is a plain number.
std::string floor_text(double value) { return "~" + significant(value, std::abs(value) < 0.01 ? 1 : 2); }

// Layers and lengths are whole numbers.
std::string x_text(double x) {
  return x == std::floor(x) && std::abs(x) < 1e15 ? fmt::format("{:.0f}", x) : trimmed(x);
}

bool at_floor(const Point* point) { return point && point->value && point->status == Status::kRoundingFloor; }

// The texts of one series' column, all of one width each.
struct SeriesText {
  std::string name;
  std::vector<std::string> values;  // points under each other
  std::vector<std::string> ranges;  // "low..high", or empty
};

int widest(const std::vector<std::string>& texts) {
  int width = 0;
  for (const std::string& text : texts) width = std::max(width, display_width(text));
  return width;
}

// A table of x by series, in several pieces if the series do not fit side by side.
class CurvesWriter {
 public:
  CurvesWriter(const Curves& curves, const CurveGrid& grid, Screen& screen)
      : curves_(curves), grid_(grid), screen_(screen), is_log10_(curves.scale == Scale::kLog10) {
    if (is_log10_) {
      const auto has_floor = [](const std::vector<const Point*>& cells) {
        return std::ranges::any_of(cells, at_floor);
      };
      min_bar_ = max_bar_ = std::ranges::any_of(grid.cells, has_floor) ? kMinBar : kMark;
    }
    for (std::size_t s = 0; s < grid.names.size(); ++s) {
      columns_.push_back(column(s));
      value_width_ = std::max(value_width_, widest(columns_.back().values));
      range_width_ = std::max(range_width_, widest(columns_.back().ranges));
      for (const Point* point : grid.cells[s]) {
        if (point) largest_ = std::max(largest_, std::abs(point->value.value_or(0)));
      }
    }
    if (curves.share) largest_ = std::max(largest_, 1.0);
  }

  void write() {
    std::vector<std::string> labels;
    for (const double x : grid_.xs) labels.push_back(screen_.text(x_text(x)));
    std::string unit = labelled(screen_.text(curves_.x), labels);
    if (!curves_.labels.empty()) {
      std::vector<std::string> texts;
      for (const double x : grid_.xs) {
        const auto found = std::ranges::find(curves_.labels, x, &std::pair<double, std::string>::first);
        texts.push_back(found == curves_.labels.end() ? "" : screen_.text(found->second));
      }
      unit += std::string(kGap, ' ') + labelled(screen_.text(curves_.label_title), texts);
      for (std::size_t i = 0; i < labels.size(); ++i) labels[i] += std::string(kGap, ' ') + texts[i];
    }
    // As few pieces as possible, of equal numbers of series; then the bars take the room that is left.
    constexpr int kLeastRoom = 30;
    if (screen_.options.width - display_width(unit) < kLeastRoom + range_width_) range_width_ = 0;
    const int beside_bar = value_width_ + 1 + (range_width_ > 0 ? range_width_ + 1 : 0);
    int least = beside_bar + min_bar_;
    for (const SeriesText& c : columns_) least = std::max(least, std::min(display_width(c.name), kMaxName));
    const int room = screen_.options.width - display_width(unit);
    least = std::min(least, room - kGap);
    const int n = static_cast<int>(columns_.size());
    const int fitting = std::max(1, room / (least + kGap));
    const int pieces = (n + fitting - 1) / fitting;
    const int per_piece = (n + pieces - 1) / pieces;
    bar_ = std::clamp(room / per_piece - kGap - beside_bar, min_bar_, max_bar_);
    width_ = std::max(least, beside_bar + bar_);
    for (int first = 0; first < n; first += per_piece) {
      const auto begin = static_cast<std::size_t>(first),
                 end = static_cast<std::size_t>(std::min(n, first + per_piece));
      std::string header = screen_.paint(Colour::kDim, unit);
      for (std::size_t s = begin; s < end; ++s) {
        std::string name = fit(columns_[s].name, width_, Align::kLeft, screen_.options.unicode);
        if (s + 1 == end) name.erase(name.find_last_not_of(' ') + 1);
        header += std::string(kGap, ' ') + screen_.paint(Colour::kBold, name);
      }
      screen_.out += '\n';
      screen_.line(header);
      for (std::size_t i = 0; i < labels.size(); ++i) {
        std::string text = screen_.paint(Colour::kDim, labels[i]);
        for (std::size_t s = begin; s < end; ++s) text += std::string(kGap, ' ') + cell(s, i);
        screen_.line(text);
      }
    }
  }

 private:
  SeriesText column(std::size_t series) const {
    SeriesText text{.name = screen_.text(grid_.names[series]), .values = {}, .ranges = {}};
    const bool ranges =
        curves_.band == Band::kRange || curves_.band == Band::kQuartiles || curves_.band == Band::kInterval;
    const bool powers = std::ranges::any_of(grid_.cells[series], [](const Point* point) {
      return point && std::abs(point->value.value_or(0)) >= kWholeLogarithms;
    });
    for (const Point* point : grid_.cells[series]) {
      text.values.push_back(screen_.text(!point || !point->value ? "-"
                                         : at_floor(point)       ? floor_text(*point->value)
                                         : is_log10_             ? logarithm(*point->value, powers)
                                                                 : significant(*point->value)));
      std::string range;
      if (point && point->value && point->low && point->high && !at_floor(point)) {
        if (ranges) range = fmt::format("{}..{}", significant(*point->low), significant(*point->high));
        if (curves_.deviations) range = "±" + significant(*point->high - *point->value, 2);
      }
      text.ranges.push_back(screen_.text(range));
    }
    align_points(text.values);
    return text;
  }

  // All as wide as the widest of them or of the heading, which is returned.
  std::string labelled(const std::string& heading, std::vector<std::string>& texts) const {
    const int width = std::clamp(widest(texts), display_width(heading), std::min(kMaxName, screen_.options.width - 34));
    for (std::string& text : texts) text = fit(text, width, Align::kRight, screen_.options.unicode);
    return fit(heading, width, Align::kRight, screen_.options.unicode);
  }

  std::string cell(std::size_t series, std::size_t i) {
    const Point* point = grid_.cells[series][i];
    const SeriesText& text = columns_[series];
    const int width = widest(text.values);
    std::string out = fit(text.values[i], width);
    const int beside = range_width_ > 0 ? range_width_ + 1 : 0;
    if (at_floor(point)) {
      out = screen_.paint(Colour::kDim, out + ' ' + fit(screen_.mark(point->status), bar_ + beside));
    } else {
      const double fraction = point && point->value && largest_ > 0 ? *point->value / largest_ : 0;
      out += ' ' + (is_log10_ ? screen_.paint(Colour::kDim, fit(point ? screen_.mark(point->status) : "", bar_))
                              : screen_.paint(Colour::kBar, bar(fraction, bar_, screen_.options.unicode)));
      if (range_width_ > 0) out += ' ' + screen_.paint(Colour::kDim, fit(text.ranges[i], range_width_));
    }
    return out + std::string(static_cast<std::size_t>(std::max(0, width_ - width - 1 - bar_ - beside)), ' ');
  }

  const Curves& curves_;
  const CurveGrid& grid_;
  Screen& screen_;
  bool is_log10_;
  std::vector<SeriesText> columns_;
  double largest_ = 0;
  int value_width_ = 0, range_width_ = 0;
  int min_bar_ = kMinBar, max_bar_ = kMaxBar;
  int bar_ = 0, width_ = 0;  // of a bar, of a column
};

// One line for each series: its values from the smallest x to the largest, the highest full.
void draw_small(const CurveGrid& grid, Screen& screen) {
  constexpr std::array<std::string_view, 9> kLevels = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<std::string_view, 9> kAsciiLevels = {" ", ".", ".", ":", "-", "=", "+", "*", "#"};
  int name_width = 0;
  for (const std::string& name : grid.names) name_width = std::max(name_width, display_width(screen.text(name)));
  name_width = std::min(name_width, kMaxName);
  const int room = std::max(8, screen.options.width - name_width - 14);
  for (std::size_t s = 0; s < grid.names.size(); ++s) {
    std::vector<std::pair<double, double>> values;
    for (const Point* point : grid.cells[s]) {
      if (point && point->value) values.emplace_back(point->x, *point->value);
    }
    if (values.empty()) continue;
    std::vector<double> columns(std::min(values.size(), static_cast<std::size_t>(room)), 0.0);
    double highest = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      double& column = columns[i * columns.size() / values.size()];
      column = std::max(column, values[i].second);
      highest = std::max(highest, column);
    }
    std::string bars;
    for (const double value : columns) {
      const double level = highest > 0 && std::isfinite(value / highest) ? std::clamp(value / highest, 0.0, 1.0) : 0;
      const auto place = static_cast<std::size_t>(std::lround(8 * level));
      bars += screen.options.unicode ? kLevels.at(place) : kAsciiLevels.at(place);
    }
    screen.line(fmt::format(
        "{}  {} {}{}{} {}", fit(screen.text(grid.names[s]), name_width, Align::kLeft, screen.options.unicode),
        screen.text(x_text(values.front().first)), screen.options.unicode ? "▕" : "|", screen.paint(Colour::kBar, bars),
        screen.options.unicode ? "▏" : "|", screen.text(x_text(values.back().first))));
  }
}

}  // namespace

void draw(const Curves& curves, const std::vector<Series>& series, Screen& screen) {
  if (curves.only_drawn && !screen.options.plot) return;
  const CurveGrid grid = grid_of(curves, series);
  if (grid.names.empty() || grid.xs.empty()) return;
  screen.title(curves.title, curves.about.empty() ? curves.y : curves.about, curves.mean);
  if (curves.small) {
    draw_small(grid, screen);
  } else if (!curves.only_drawn) {
    CurvesWriter(curves, grid, screen).write();
  }
  if (screen.options.plot) {
    screen.out += '\n' + plot_of(curves, grid, screen);
    screen.has_plot = true;
  }
  screen.out += '\n';
}

}  // namespace rankfall
