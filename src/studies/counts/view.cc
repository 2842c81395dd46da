#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "studies/views.h"
#include "view/number_text.h"
#include "view/rows.h"

namespace rankfall {
namespace {

// The paths of one architecture.
struct Architecture {
  std::string name, shape;
  std::vector<Point> proportions, published, cumulative;  // by length
  std::vector<std::pair<double, std::string>> counts;
  const Row* total = nullptr;
  std::optional<double> mean_length, deviation;
  std::vector<std::string> modes;

  std::optional<double> largest_share() const {
    std::optional<double> largest;
    for (const Point& point : proportions) largest = std::max(largest, point.value);
    return largest;
  }
};

Architecture architecture_of(const RowGroup& group) {
  Architecture out;
  out.name = group.model.empty() ? group.variant : group.model;
  out.shape = group.variant;
  for (const Row* row : group.rows) {
    if (row->metric == "paths.total") out.total = row;
    if (row->metric == "paths.mean_length") out.mean_length = finite(row->mean);
    if (row->metric == "published.deviation") out.deviation = finite(row->mean);
    if (row->metric == "paths.mode" && row->mean) out.modes.push_back(significant(*row->mean, 1));
    if (!row->length) continue;
    const auto length = static_cast<double>(*row->length);
    if (row->metric == "paths.count") out.counts.emplace_back(length, whole_text(*row, 24));
    if (row->metric == "paths.proportion") out.proportions.push_back(point_of(*row, length, out.name));
    if (row->metric == "published.proportion") out.published.push_back(point_of(*row, length, out.name));
    if (row->metric == "paths.cumulative") out.cumulative.push_back(point_of(*row, length, out.name));
  }
  return out;
}

void add_count_points(const std::vector<Point>& points, const std::string& series, const std::string& source,
                      Curves& curves) {
  for (Point point : points) {
    point.series = series;
    point.source = source;
    curves.points.push_back(std::move(point));
  }
}

Curves share_of_paths(bool published) {
  Curves curves;
  curves.x = "length";
  curves.y = "share of all paths";
  curves.scale = Scale::kLinear;
  curves.share = curves.wide = true;
  if (published) {
    curves.sources = {"formula", "published"};
    curves.source_title = "source";
  }
  return curves;
}

Figure one_architecture(const Architecture& one) {
  Figure figure;
  figure.id = "lengths";
  figure.title = fmt::format("Path lengths of {}", one.name);
  figure.caption = "How many paths pass through how many heads: C(L,k) H^k of all (H+1)^L have length k.";
  figure.series = numbered_series({"share", "up to here"});
  Curves curves = share_of_paths(!one.published.empty());
  curves.title = one.name == one.shape ? one.name : fmt::format("{}, {}", one.name, one.shape);
  curves.about = fmt::format("C(L,k) H^k of all (H+1)^L{} paths have length k: L blocks, H heads in each",
                             one.total ? " = " + whole_text(*one.total, 24) : "");
  curves.label_title = "paths";
  curves.labels = one.counts;
  add_count_points(one.proportions, "share", "formula", curves);
  add_count_points(one.cumulative, "up to here", "formula", curves);
  add_count_points(one.published, "share", "published", curves);
  figure.nodes.emplace_back(std::move(curves));
  Sentences found;
  if (one.mean_length) found.list.push_back({"mean length", Tone::kNeutral, significant(*one.mean_length)});
  if (!one.modes.empty()) found.list.push_back({"most frequent length", Tone::kNeutral, joined(one.modes)});
  if (one.deviation) {
    found.list.push_back(
        {"published curve", Tone::kNeutral, fmt::format("at most {} away", significant(*one.deviation, 1))});
  }
  figure.nodes.emplace_back(std::move(found));
  return figure;
}

Table totals_of(const std::vector<Architecture>& all) {
  using Kind = TableColumn::Kind;
  Table table;
  table.title = "Paths of each architecture";
  table.about =
      "(H+1)^L paths; a path's length is the number of heads that it passes through, the mode the most frequent "
      "length. "
      "Figure 5: largest distance from the published curve";
  table.columns = {{"architecture"},
                   {"shape"},
                   {"paths", Kind::kCount},
                   {"mean", Kind::kNumber, "length"},
                   {"mode", Kind::kText, "length"},
                   {"mode", Kind::kNumber, "share of"},
                   {"longest", Kind::kNumber, "share of"},
                   {"Figure 5", Kind::kNumber, "", 1}};
  for (const Architecture& one : all) {
    const auto total = one.total ? finite(one.total->mean) : std::nullopt;
    Cell paths = Number(total);
    if (one.total && !total) paths = whole_text(*one.total, 9);  // beyond what numbers hold
    table.rows.push_back(
        {one.name, one.shape, std::move(paths), Number(one.mean_length), joined(one.modes), Number(one.largest_share()),
         Number(one.proportions.empty() ? std::nullopt : one.proportions.back().value), Number(one.deviation)});
  }
  return table;
}

Figure several_architectures(const std::vector<Architecture>& all) {
  Figure figure;
  figure.id = "lengths";
  figure.title = "Path lengths of known architectures";
  const bool published = std::ranges::any_of(all, [](const Architecture& one) { return !one.published.empty(); });
  figure.caption = fmt::format("Share of all (H+1)^L paths that have each length, C(L,k) H^k / (H+1)^L{}.",
                               published ? ", with the published curves dashed" : "");
  figure.notes.emplace_back("Length 0 is not drawn: the axis is logarithmic, as published.");
  Curves curves = share_of_paths(published);
  curves.title = "Share of all paths by length";
  curves.about = "from length 0 at the left to the longest at the right";
  curves.series_title = "architecture";
  curves.small = curves.log_x = true;
  for (const Architecture& one : all) {
    figure.series.push_back({one.name, one.name, figure.series.size()});
    add_count_points(one.proportions, one.name, "formula", curves);
    add_count_points(one.published, one.name, "published", curves);
  }
  figure.nodes.emplace_back(totals_of(all));
  figure.nodes.emplace_back(std::move(curves));
  return figure;
}

// The most frequent length and the mean length.
std::string length_words(const Architecture& one) {
  const auto share = one.largest_share();
  if (one.modes.empty() || !share) return "";
  return fmt::format("{}: paths through {} heads are the most frequent, {}{} of all{}{}.", shortened(one.name),
                     joined(one.modes), significant(*share, 2), one.modes.size() > 1 ? " each" : "",
                     one.total ? fmt::format(" {} paths", whole_text(*one.total, 9)) : "",
                     one.mean_length ? fmt::format("; the mean length is {}", significant(*one.mean_length)) : "");
}

}  // namespace

View counts_view(const Result& result, const ViewOptions& /*options*/) {
  std::vector<Architecture> all;
  std::set<std::string> names;
  for (const RowGroup& group : by_variant(result)) {
    Architecture one = architecture_of(group);
    if (one.proportions.empty()) continue;
    if (!names.insert(one.name).second) one.name = group.name();
    all.push_back(std::move(one));
  }
  View view;
  if (all.size() == 1) view.figures.push_back(one_architecture(all.front()));
  if (all.size() > 1) view.figures.push_back(several_architectures(all));
  constexpr std::size_t kMostAnswers = 2;
  for (const Architecture& one : all) {
    if (view.answers.size() == kMostAnswers) break;
    if (std::string words = length_words(one); !words.empty()) {
      view.answers.push_back({Question::kLengths, std::move(words), Tone::kNeutral});
    }
  }
  return view;
}

}  // namespace rankfall
