#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "result/prose_format.h"
#include "studies/lowrank/parts.h"
#include "studies/views.h"
#include "view/number_text.h"

namespace rankfall {

std::string titled(const RowGroup& group, std::string_view what) { return fmt::format("{}: {}", group.name(), what); }

Table exponent_table(const Rows& rows, std::string title, std::string kind_title,
                     std::string (*kind_words)(const std::string& kind)) {
  using Kind = TableColumn::Kind;
  Table table;
  table.title = std::move(title);
  table.columns = {{std::move(kind_title)}, {"exponent of n", Kind::kNumber}, {"finding", Kind::kProse}};
  for (const Row* row : rows) {
    if (!finite(row->mean) && row->verdict.empty()) continue;
    Number exponent(finite(row->mean));
    exponent.error = finite(row->std);
    table.rows.push_back({kind_words(row->kind), std::move(exponent), fmt::to_string(row->verdict)});
  }
  return table;
}

namespace {

constexpr std::size_t kMostCurves = 12;  // of blocks; more cannot be told apart
constexpr const char* kSlope = "slope -1/2";

// Mean and range of the values of several heads.
struct Spread {
  double sum = 0, low = 0, high = 0;
  Index n = 0;
  bool at_least = false;  // some of them are lower bounds

  void add(const Row& row) {
    if (!finite(row.mean)) return;
    low = n == 0 ? *row.mean : std::min(low, *row.mean);
    high = n == 0 ? *row.mean : std::max(high, *row.mean);
    sum += *row.mean;
    ++n;
    at_least = at_least || row.status == Status::kAtLeast;
  }
  std::optional<double> mean() const { return n == 0 ? std::nullopt : finite(sum / static_cast<double>(n)); }
  Number number() const {
    Number out(mean());
    if (n > 1) out.low = low, out.high = high;
    out.at_least = at_least && out.value;
    return out;
  }
  std::string text(int digits = 3) const {
    return mean() ? (at_least ? ">=" : "") + significant(*mean(), digits) : "no number of";
  }
};

// A column of the table of spectra.
struct SpectrumMeasure {
  std::string metric, kind, name;
  std::optional<Index> k;
  std::map<Index, Spread> by_block;
  Spread all;
};

std::vector<SpectrumMeasure> spectrum_measures(const Rows& rows) {
  std::vector<SpectrumMeasure> measures = {{"attention.sigma2", "", "σ₂", {}, {}, {}},
                                           {"attention.gap", "", "gap", {}, {}, {}},
                                           {"attention.entropy", "", "entropy", {}, {}, {}}};
  for (const Row* row : with_metric(rows, "attention.rank.numerical")) {
    const auto same = [&](const SpectrumMeasure& m) { return m.metric == row->metric && m.kind == row->kind; };
    if (std::ranges::any_of(measures, same) || measures.size() == kMostKinds) continue;
    measures.push_back({row->metric, row->kind, "rank " + shortened(row->kind), {}, {}, {}});
  }
  for (const Index k : {1, 4, 16}) measures.push_back({"attention.energy", "", fmt::format("top {}", k), k, {}, {}});
  for (SpectrumMeasure& measure : measures) {
    for (const Row* row : with_metric(rows, measure.metric)) {
      if (!row->layer || row->kind != measure.kind || row->k != measure.k) continue;
      measure.by_block[*row->layer].add(*row);
      measure.all.add(*row);
    }
  }
  std::erase_if(measures, [](const SpectrumMeasure& measure) { return measure.all.n == 0; });
  return measures;
}

Table spectrum_table(const RowGroup& group, const std::vector<SpectrumMeasure>& measures) {
  using Kind = TableColumn::Kind;
  std::set<Index> blocks;
  for (const SpectrumMeasure& measure : measures) {
    for (const auto& [block, spread] : measure.by_block) blocks.insert(block);
  }
  Table table;
  table.title = group.name();
  table.about =
      "singular values σ₁ ≥ σ₂ ≥ … of every attention matrix P by block: mean over heads, lowest..highest; gap: 1 − σ₂ "
      "/ "
      "σ₁; rank: number of them above eps σ₁; top k: share of ‖P‖_F² in the first k";
  table.columns = {{"block", Kind::kCount}};
  for (const SpectrumMeasure& measure : measures) table.columns.push_back({measure.name, Kind::kNumber});
  for (const Index block : blocks) {
    std::vector<Cell> cells = {Number(static_cast<double>(block))};
    for (const SpectrumMeasure& measure : measures) {
      const auto found = measure.by_block.find(block);
      cells.emplace_back(found == measure.by_block.end() ? Number() : found->second.number());
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// "eps=0.1" as people say it.
std::string threshold_words(const std::string& kind) {
  constexpr std::string_view kEps = "eps=";
  return kind.starts_with(kEps) ? shortened(kind.substr(kEps.size())) + " σ₁" : shortened(kind);
}

// All heads together: "4.75 singular values lie above 0.01 σ₁ (at most 5 in a head), the first holds 0.999 of ‖P‖_F²".
std::vector<std::string> spectrum_words(const std::vector<SpectrumMeasure>& measures, int digits) {
  std::vector<std::string> parts;
  for (const SpectrumMeasure& measure : measures) {
    const std::string mean = measure.all.text(digits);
    if (measure.metric == "attention.rank.numerical") {
      parts.push_back(fmt::format("{}{} above {} (at most {} in a head)", mean,
                                  parts.empty() ? " singular values lie" : "", threshold_words(measure.kind),
                                  trimmed(measure.all.high)));
    }
    if (measure.k) {
      parts.push_back(*measure.k == 1 ? fmt::format("the first holds {} of ‖P‖_F²", mean)
                                      : fmt::format("the first {} hold {} of it", *measure.k, mean));
    }
  }
  return parts;
}

Sentences spectrum_sentences(const RowGroup& group, const std::vector<SpectrumMeasure>& measures) {
  Sentences out;
  if (const auto parts = spectrum_words(measures, 3); !parts.empty()) {
    out.list.push_back({group.name(), Tone::kNeutral, fmt::format("mean over all heads: {}", joined(parts))});
  }
  double error = 0;
  for (const Row* row : with_metric(group.rows, "attention.singular.error")) {
    error = std::max(error, finite(row->mean).value_or(0));
  }
  if (error > 0) {
    out.list.push_back(
        {group.name(), Tone::kNeutral, fmt::format("no singular value is off by more than {}", significant(error, 2))});
  }
  return out;
}

// Means over heads against k, a curve for each block.
Curves spectrum_curves(const RowGroup& group, const std::vector<Index>& blocks, bool energy) {
  constexpr double kRounding = 1e-15;  // beside the largest: no singular value but its rounding
  std::map<Index, std::map<Index, Spread>> means;
  for (const Row* row : with_metric(group.rows, energy ? "attention.energy" : "attention.singular")) {
    if (row->layer && row->k.value_or(0) >= 1) means[*row->layer][*row->k].add(*row);
  }
  Curves curves;
  for (const Index block : blocks) {
    double largest = 0;
    for (const auto& [k, spread] : means[block]) {
      const double value = spread.mean().value_or(0);
      largest = std::max(largest, value);
      if (!(value > kRounding * largest)) continue;
      Point& point = curves.points.emplace_back();
      point.x = static_cast<double>(k);
      point.series = fmt::format("block {}", block);
      point.value = value;
      point.n = spread.n;
    }
  }
  curves.title = titled(group, energy ? "share in the first k" : "singular values");
  curves.x = "k";
  curves.y = energy ? "share of ‖P‖_F²" : "σₖ(P)";
  curves.series_title = "block";
  curves.scale = energy ? Scale::kLinear : Scale::kLog;
  if (energy) curves.domain = {0, 1.02};
  curves.log_x = curves.only_drawn = true;
  return curves;
}

// Evenly spread over those there are, the first and the last among them.
std::vector<Index> some_blocks(const std::set<Index>& blocks) {
  std::vector<Index> all(blocks.begin(), blocks.end());
  if (all.size() <= kMostCurves) return all;
  std::vector<Index> out;
  for (std::size_t i = 0; i < kMostCurves; ++i) out.push_back(all[i * (all.size() - 1) / (kMostCurves - 1)]);
  return out;
}

Figure spectrum_figure(const std::vector<RowGroup>& groups, std::vector<Answer>& answers) {
  Figure figure;
  figure.id = "spectra";
  figure.title = "Singular values of attention";
  figure.caption =
      "Singular values σₖ of the attention matrices P, one curve for each block, mean over its heads; and the share of "
      "‖P‖_F² in the first k of them, (σ₁² + … + σₖ²) / ‖P‖_F². A matrix of low rank has its curve down, and its share "
      "up, at a small k.";
  std::set<Index> blocks;
  for (const RowGroup& group : groups) {
    for (const Row* row : group.rows) {
      const bool spectrum = row->metric == "attention.singular" || row->metric == "attention.energy";
      if (spectrum && row->layer && row->k.value_or(0) >= 1 && row->mean) blocks.insert(*row->layer);
    }
  }
  const std::vector<Index> shown = some_blocks(blocks);
  std::vector<std::string> names;
  for (const Index block : shown) names.push_back(fmt::format("block {}", block));
  figure.series = ordered_series(names);
  if (shown.size() < blocks.size()) {
    figure.notes.push_back(fmt::format("{} of {} blocks are drawn.", shown.size(), blocks.size()));
  }
  for (const RowGroup& group : groups) {
    const std::vector<SpectrumMeasure> measures = spectrum_measures(group.rows);
    Table table = spectrum_table(group, measures);
    if (!table.rows.empty()) figure.nodes.emplace_back(std::move(table));
    Sentences sentences = spectrum_sentences(group, measures);
    if (!sentences.list.empty()) figure.nodes.emplace_back(std::move(sentences));
    for (const bool energy : {false, true}) {
      Curves curves = spectrum_curves(group, shown, energy);
      if (!curves.points.empty()) figure.nodes.emplace_back(std::move(curves));
    }
    std::vector<std::string> parts = spectrum_words(measures, 2);
    for (const Row* row : with_metric(group.rows, "scaling.exponent")) {
      if (row->kind != "model" || !finite(row->mean)) continue;
      parts.push_back(
          fmt::format("σ₂ scales as n^{} (the theorem for independent entries: n^-0.5)", significant(*row->mean, 2)));
    }
    if (parts.empty() || answers.size() >= 3) continue;
    answers.push_back(
        {Question::kLowRank, fmt::format("{}, mean over heads: {}.", shortened(group.name()), joined(parts))});
  }
  return figure;
}

std::string matrix_words(const std::string& kind) { return shortened(kind); }

Curves scaling_curves(const RowGroup& group) {
  Curves curves;
  Names kinds;
  std::map<double, double> theorem;  // σ₂ of the theorem's matrices
  std::optional<Index> block;
  for (const Row* row : with_metric(group.rows, "scaling.sigma2")) {
    if (row->tokens.value_or(0) < 1 || !(finite(row->mean).value_or(0) > 0)) continue;
    const bool full = kinds.size() == kMostKinds;
    if (full && std::ranges::find(kinds.list(), row->kind) == kinds.list().end()) continue;
    kinds.add(row->kind);
    block = row->layer;
    curves.points.push_back(point_of(*row, static_cast<double>(*row->tokens), row->kind));
    if (row->kind == "independent") theorem[static_cast<double>(*row->tokens)] = *row->mean;
  }
  if (theorem.size() > 1) {
    const auto [n0, sigma0] = *theorem.begin();
    for (const double n : {n0, theorem.rbegin()->first}) {
      Point& point = curves.points.emplace_back();
      point.x = n;
      point.series = kSlope;
      point.value = sigma0 * std::sqrt(n0 / n);
    }
  }
  curves.title = group.name();
  curves.about = fmt::format(
      "second singular value σ₂ of P{} against the number of tokens n, mean over heads; independent: softmax of "
      "independent normal logits as large as the model's, for which the theorem says σ₂ = O(n^(−1/2))",
      block ? fmt::format(" of block {}", *block) : "");
  curves.x = "tokens";
  curves.y = "σ₂(P)";
  curves.series_title = "matrices";
  curves.scale = Scale::kLog;
  curves.band = Band::kDeviation;
  curves.log_x = true;
  return curves;
}

Figure scaling_figure(const std::vector<RowGroup>& groups) {
  Figure figure;
  figure.id = "scaling";
  figure.title = "The second singular value against the number of tokens";
  figure.caption =
      "σ₂(P) of n tokens, mean over the heads of a block: of the model, and of the theorem's matrices, softmax of "
      "independent normal logits as large as the model's.";
  Names kinds;
  for (const RowGroup& group : groups) {
    Curves curves = scaling_curves(group);
    for (const Point& point : curves.points) {
      if (point.series != kSlope) kinds.add(point.series);
    }
    curves.wide = groups.size() == 1;
    if (!curves.points.empty()) figure.nodes.emplace_back(std::move(curves));
    Table table = exponent_table(with_metric(group.rows, "scaling.exponent"), titled(group, "how σ₂ scales with n"),
                                 "matrices", matrix_words);
    if (!table.rows.empty()) figure.nodes.emplace_back(std::move(table));
  }
  figure.series = numbered_series(kinds.list());
  for (Series& series : figure.series) {
    if (series.name == "model") series.explanation = "its states, put side by side";
    if (series.name == "independent") series.explanation = "normal logits";
  }
  figure.series.push_back(reference_series(kSlope, "slope −1/2"));
  return figure;
}

Figure rank_figure(const std::vector<RowGroup>& groups) {
  Figure figure;
  figure.id = "ranks";
  figure.title = "Numerical rank by head";
  figure.caption =
      "Number of singular values of each head's P above eps σ₁, mean over samples; block and head count from zero.";
  figure.detail = true;
  bool lower = false;
  for (const RowGroup& group : groups) {
    std::map<std::string, Heat> maps;
    for (const Row* row : with_metric(group.rows, "attention.rank.numerical")) {
      lower = lower || row->status == Status::kAtLeast;
      if (row->layer && row->head)
        maps[row->kind].values.push_back(
            {static_cast<double>(*row->layer), static_cast<double>(*row->head), finite(row->mean)});
    }
    for (auto& [eps, heat] : maps) {
      heat.title = titled(group, shortened(eps));
      heat.value = "numerical rank";
      figure.nodes.emplace_back(std::move(heat));
    }
  }
  if (lower) figure.notes.emplace_back("Of samples whose spectrum was computed in part these are lower bounds.");
  return figure;
}

}  // namespace

View lowrank_view(const Result& result, const ViewOptions& /*options*/) {
  std::vector<RowGroup> groups = by_variant(result);
  // Kinds of attention are variants of their own, and have a figure of their own.
  std::erase_if(groups, [](const RowGroup& group) {
    return std::ranges::all_of(group.rows, [](const Row* row) { return row->metric.starts_with("state."); });
  });
  View view;
  view.figures.push_back(spectrum_figure(groups, view.answers));
  view.figures.push_back(scaling_figure(groups));
  for (Figure& figure : sketch_figures(groups)) view.figures.push_back(std::move(figure));
  for (Answer& answer : sketch_answers(groups)) view.answers.push_back(std::move(answer));
  view.figures.push_back(kinds_figure(result));
  view.figures.push_back(rank_figure(groups));
  return view;
}

}  // namespace rankfall
