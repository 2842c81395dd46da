#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "result/prose_format.h"
#include "studies/paths/figures.h"
#include "view/number_text.h"

namespace rankfall {
namespace {

// Blocks and heads beyond this are no network's; a file may say anything.
constexpr Index kMostPlaces = 100'000;
constexpr std::size_t kMostPaths = 50;  // in a terminal

bool is_lane(Index index) { return index >= 0 && index < kMostPlaces; }

struct QuartileSeries {
  std::string_view metric, series;
};

// Adds the quartiles of these metrics over lengths, where there are any.
void add_quartiles(const RowGroup& group, std::initializer_list<QuartileSeries> metrics, Curves curves,
                   Figure& figure) {
  std::optional<Index> n;
  for (const QuartileSeries& drawn : metrics) {
    std::map<Index, Point> points;
    for (const Row* row : with_metric(group.rows, drawn.metric)) {
      if (!row->length) continue;
      Point& point = points[*row->length];
      point.x = static_cast<double>(*row->length);
      point.series = drawn.series;
      if (row->n) n = point.n = row->n;
      if (row->kind == "q1") point.low = finite(row->mean);
      if (row->kind == "q3") point.high = finite(row->mean);
      if (row->kind != "median") continue;
      point.value = finite(row->mean);
      point.status = row->status;
    }
    for (auto& [length, point] : points) curves.points.push_back(std::move(point));
    const std::string name(drawn.series);
    if (points.empty() || std::ranges::find(figure.series, name, &Series::name) != figure.series.end()) continue;
    figure.series.push_back({name, name, figure.series.size()});
  }
  if (curves.points.empty()) return;
  curves.title = group.name() + ": " + curves.title;
  curves.about += n ? fmt::format(" · median and quartiles of {} random paths", *n) : " · median and quartiles";
  curves.x = "length";
  curves.series_title = "quantity";
  curves.band = Band::kQuartiles;
  curves.error_bars = true;
  figure.nodes.emplace_back(std::move(curves));
}

Curves quartile_curves(std::string title, std::string y, std::string about, Scale scale) {
  Curves curves;
  curves.title = std::move(title);
  curves.y = std::move(y);
  curves.about = std::move(about);
  curves.scale = scale;
  return curves;
}

constexpr std::string_view kRemainder = "rank-1 remainder: ‖P − σ₁uvᵀ‖ / ‖P‖, composite norm";
constexpr std::string_view kBothSizes =
    "rank-1 remainder: ‖P − σ₁uvᵀ‖ / ‖P‖; relative residual: ‖P − 1·mean‖ / ‖P‖; composite norms";

void add_published_order(const RowGroup& group, Figure& figure) {
  figure.title = "Chained attention along single paths";
  figure.caption =
      "How far the product of the attention matrices along random paths is from rank 1: median and quartiles by "
      "length.";
  Curves curves = quartile_curves("chained attention as published, P₁P₂…Pₖ", "distance from rank 1",
                                  std::string(kRemainder), Scale::kLog);
  curves.wide = true;
  if (!with_metric(group.rows, "published.rank1_remainder.composite").empty()) {
    figure.notes.emplace_back("From length 4 on the published values are the rounding floor of a float32 SVD.");
  }
  add_quartiles(group,
                {{"path.attention_reversed.rank1_remainder.composite", "exact"},
                 {"path.attention_reversed.rank1_remainder_f32.composite", "float32"},
                 {"published.rank1_remainder.composite", "published"}},
                std::move(curves), figure);
}

std::string length_name(Index length) { return length == 1 ? "1 head" : fmt::format("{} heads", length); }

// Those of a path that can be drawn.
Heads drawn_heads(const Row& row) {
  Heads heads = row.path.value_or(Heads{});
  std::erase_if(heads, [](const Head& head) { return !is_lane(head.block) || !is_lane(head.head); });
  return heads;
}

// Where a path begins: the block whose MLP or bias it comes from, or -1.
Index first_block(const std::optional<Origin>& origin) {
  const Index block = origin ? origin->block.value_or(-1) : -1;
  return is_lane(block) ? block : -1;
}

// A path, and what is known of it.
struct TopPath {
  const Row* row = nullptr;
  std::array<std::optional<double>, 4> values;  // of kTopMetrics
};
constexpr std::array<std::string_view, 4> kTopMetrics = {"path.norm.frobenius", "path.relative_norm.frobenius",
                                                         "path.share.projection", "path.share.residual"};

// By rank, in the order of the rows.
std::vector<TopPath> top_paths(const Rows& rows) {
  std::vector<TopPath> paths;
  std::map<Index, std::size_t> places;
  for (const Row* row : rows) {
    const auto* metric = std::ranges::find(kTopMetrics, row->metric);
    if (!row->k || !row->path || metric == kTopMetrics.end()) continue;
    const auto [place, is_new] = places.try_emplace(*row->k, paths.size());
    if (is_new) paths.push_back({row, {}});
    paths[place->second].values.at(static_cast<std::size_t>(metric - kTopMetrics.begin())) = finite(row->mean);
  }
  return paths;
}

// As the paper's Figure 1: blocks from left to right, heads as lanes, the skips below them.
Tracks path_picture(const RowGroup& group, const std::vector<TopPath>& paths) {
  Tracks tracks;
  tracks.title = group.name() + ": the heaviest paths";
  tracks.x = "block";
  tracks.y = "head";
  tracks.lanes = true;
  tracks.n_heads = 1;
  for (const Row* row : group.rows) {
    if (row->layer && is_lane(*row->layer)) {
      tracks.n_blocks = std::max(tracks.n_blocks, *row->layer + (row->head ? 1 : 0));
    }
    if (row->head && is_lane(*row->head)) tracks.n_heads = std::max(tracks.n_heads, *row->head + 1);
    tracks.n_blocks = std::max(tracks.n_blocks, first_block(row->origin) + 1);
    for (const Head& head : drawn_heads(*row)) {
      tracks.n_blocks = std::max(tracks.n_blocks, head.block + 1);
      tracks.n_heads = std::max(tracks.n_heads, head.head + 1);
    }
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const Row& row = *paths[i].row;
    Tracks::Track& track = tracks.tracks.emplace_back();
    track.series = length_name(row.length.value_or(0));
    track.name = to_string(*row.path);
    track.origin = row.origin ? to_string(*row.origin) : "";
    track.rank = row.k;
    track.weight = paths[i].values.back().value_or(0);
    // Paths on one lane run beside each other.
    const double aside = ((static_cast<double>(i) + 0.5) / static_cast<double>(paths.size()) - 0.5) * 0.6;
    const double skips = -1.5 + aside;
    const double begin = static_cast<double>(first_block(row.origin));
    track.points.emplace_back(begin < 0 ? -0.5 : begin, skips);
    for (const Head& head : drawn_heads(row)) {
      const auto x = static_cast<double>(head.block);
      if (x - 0.5 > begin) track.points.emplace_back(x - 0.45, skips);
      track.points.emplace_back(x, static_cast<double>(head.head) + aside / 2);
      track.points.emplace_back(x + 0.45, skips);
    }
    track.points.emplace_back(static_cast<double>(tracks.n_blocks) - 0.25, skips);
  }
  return tracks;
}

Table path_table(const RowGroup& group, const std::vector<TopPath>& paths) {
  using Kind = TableColumn::Kind;
  Table table;
  table.title = group.name() + ": the heaviest paths";
  table.about =
      "norm of what each path adds to the output, relative to the output's norm; share of the output and of its "
      "residual";
  if (!paths.front().row->verdict.empty()) table.about += fmt::format(" · {}", paths.front().row->verdict);
  table.most = kMostPaths;
  table.columns = {{"rank", Kind::kCount},   {"norm", Kind::kNumber},        {"relative", Kind::kNumber},
                   {"share", Kind::kNumber}, {"of residual", Kind::kNumber}, {"origin"},
                   {"path", Kind::kProse}};
  for (const TopPath& path : paths) {
    auto& line = table.rows.emplace_back();
    line.emplace_back(Number(path.row->k));
    for (const auto& value : path.values) line.emplace_back(Number(value));
    line.emplace_back(path.row->origin ? to_string(*path.row->origin) : "");
    line.emplace_back(to_string(*path.row->path));
  }
  return table;
}

}  // namespace

std::optional<Figure> random_paths(const RowGroup& group, std::size_t number) {
  Figure figure;
  figure.id = fmt::format("random-{}", number);
  const bool reversed = std::ranges::any_of(
      group.rows, [](const Row* row) { return row->metric.starts_with("path.attention_reversed.rank1_remainder"); });
  if (reversed) {
    add_published_order(group, figure);
  } else {
    const bool rerun = !with_metric(group.rows, "rerun.relative_residual.composite").empty();
    figure.title = "Random paths of each length";
    figure.caption = "Median and quartiles over random paths of each length.";
    add_quartiles(group,
                  {{"path.attention.rank1_remainder.composite", "rank-1 remainder"},
                   {"path.attention.relative_residual.composite", "relative residual"}},
                  quartile_curves("chained attention Pₖ…P₂P₁", "relative size", std::string(kBothSizes), Scale::kLog),
                  figure);
    add_quartiles(group,
                  {{"path.term.rank1_remainder.composite", "rank-1 remainder"},
                   {"path.term.relative_residual.composite", "relative residual"},
                   {"rerun.relative_residual.composite", "residual, re-run"}},
                  quartile_curves("terms P X W", "relative size",
                                  rerun ? "what each path adds to the output; re-run: the path as a network of its own"
                                        : "what each path adds to the output",
                                  Scale::kLog),
                  figure);
  }
  add_quartiles(
      group, {{"rerun.cosine_residual", "cosine of residuals"}, {"rerun.attention_distance", "distance of attention"}},
      quartile_curves("re-run paths beside frozen ones", "cosine, distance",
                      "cosine of their residuals (1: the same) and relative distance of their attention (0: the same)",
                      Scale::kLinear),
      figure);
  if (figure.nodes.empty()) return {};
  return figure;
}

std::optional<Figure> heaviest_paths(const RowGroup& group, std::size_t number) {
  const std::vector<TopPath> paths = top_paths(group.rows);
  if (paths.empty()) return {};
  Figure figure;
  figure.id = fmt::format("heaviest-{}", number);
  figure.title = "The heaviest paths";
  figure.caption =
      "Paths through the network, as in the paper's Figure 1: in each block a path goes through one head (a lane) or "
      "past all of them (the skip, below). Width: the size of the path's share of the output's residual; the table "
      "says which are negative.";
  std::map<Index, std::string> lengths;
  for (const TopPath& path : paths) {
    const Index length = path.row->length.value_or(0);
    lengths.try_emplace(length, length_name(length));
  }
  for (const auto& [length, name] : lengths) figure.series.push_back({name, name, static_cast<std::size_t>(length)});
  figure.nodes.emplace_back(path_picture(group, paths));
  figure.nodes.emplace_back(path_table(group, paths));
  return figure;
}

std::optional<Answer> heaviest_answer(const RowGroup& group) {
  const std::vector<TopPath> paths = top_paths(group.rows);
  if (paths.empty()) return {};
  const TopPath& first = paths.front();
  std::string text = fmt::format("{}: the heaviest path is {}", shortened(group.name()), to_string(*first.row->path));
  if (first.row->origin) text += fmt::format(" from {}", to_string(*first.row->origin));
  if (first.values[1]) text += fmt::format("; its norm is {} of the output's", significant(*first.values[1], 2));
  return Answer{Question::kPaths, text + ".", Tone::kNeutral};
}

std::optional<Answer> random_answer(const RowGroup& group) {
  constexpr std::array<std::string_view, 2> kProducts = {"path.attention.rank1_remainder.composite",
                                                         "path.attention_reversed.rank1_remainder.composite"};
  for (const std::string_view metric : kProducts) {
    const Row *shortest = nullptr, *longest = nullptr;
    for (const Row* row : with_metric(group.rows, metric)) {
      if (row->kind != "median" || !row->length || *row->length < 1 || !finite(row->mean)) continue;
      if (!shortest || *row->length < *shortest->length) shortest = row;
      if (!longest || *row->length > *longest->length) longest = row;
    }
    if (!longest || shortest == longest) continue;
    return Answer{
        Question::kPaths,
        fmt::format(
            "{}: the product of a path's attention matrices {} rank 1 with length: the median distance "
            "is {} at length {} and {} at length {}.",
            shortened(group.name()), *longest->mean < *shortest->mean ? "comes closer to" : "does not come closer to",
            significant(*shortest->mean, 2), *shortest->length, significant(*longest->mean, 2), *longest->length),
        Tone::kNeutral};
  }
  return {};
}

}  // namespace rankfall
