#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "result/manifest.h"
#include "studies/published/published.h"
#include "view/number_text.h"

namespace rankfall {
namespace {

// Curves of Figure 5 were read off a vector drawing.
constexpr double kDrawn = 2e-5;
// The box-plot was read off pixels, to 5 %, and drawn over 100 random paths.
constexpr double kPixels = 1.25;
constexpr double kFloor = 5e-6;   // where a float32 SVD ends depends on the SVD
constexpr Index kAboveFloor = 3;  // lengths whose published values are above the floor of a float32 SVD

struct Comparison {
  std::string claim, criterion, evidence;
  std::optional<bool> met;  // absent: nothing to compare
  std::optional<double> value;
  std::optional<Index> n;
  std::optional<double> worst;  // the largest distance
  std::string worst_words;      // where, and the limit
  bool one_draw = false;        // against one draw: a loose test
};

void add_rows(const Comparison& comparison, std::vector<Row>& rows) {
  const auto add = [&](const char* metric, const std::string& text) -> Row& {
    return rows.emplace_back(Row{.metric = metric, .claim = comparison.claim, .verdict = text});
  };
  add("agreement.criterion", comparison.criterion);
  Row& verdict = add("agreement.verdict", !comparison.met   ? "no number"
                                          : *comparison.met ? "agrees"
                                                            : "does not agree");
  verdict.status = !comparison.met ? Status::kMissing : *comparison.met ? Status::kAgrees : Status::kDiffers;
  verdict.mean = comparison.value;
  verdict.n = comparison.n;
  add("agreement.evidence", comparison.evidence);
  if (!comparison.worst) return;
  Row& worst = add("agreement.worst", comparison.worst_words);
  worst.mean = comparison.worst;
  worst.kind = comparison.one_draw ? "one_draw" : "";
}

std::string model_words(const std::string& model) {
  if (model == "bert-base@init") return "BERT";
  if (model == "albert-base@init") return "ALBERT";
  return model == "xlnet-base@init" ? "XLNet" : model;
}

void compare_curves(const Result& result, std::vector<Comparison>& out) {
  const bool has = std::ranges::any_of(result.rows, [](const Row& row) { return row.metric == "published.agreement"; });
  if (!has) return;
  const bool seeds = std::ranges::any_of(result.rows, [](const Row& row) { return row.kind == "seeds"; });
  for (const Agreement::OfModel& model : compare_with_published(result).models) {
    Comparison comparison;
    comparison.claim = fmt::format("Figure 2, {} at initialisation", model_words(model.model));
    comparison.criterion = criterion_words(seeds);
    comparison.evidence = model.summary;
    comparison.met = model.met;
    comparison.value = model.share;
    comparison.n = model.n;
    if (!model.worst_point.empty()) {
      comparison.worst = model.worst;
      comparison.one_draw = !seeds;
      comparison.worst_words = fmt::format(
          "largest distance {} ({}); {}",
          seeds ? fmt::format("{:.1f} standard deviations over seeds", model.worst) : significant(model.worst),
          model.worst_point, limit_words(seeds));
    }
    out.push_back(std::move(comparison));
  }
}

// Trained checkpoints that stand beside the published curves: of other texts, so that no criterion is fair.
void compare_trained(const Result& result, std::vector<Comparison>& out) {
  std::map<std::tuple<std::string, std::string, Index>, double> ours;
  for (const Row& row : result.rows) {
    if (row.metric == "relative_residual.composite" && row.layer && row.mean && !row.seed) {
      ours[{row.model, row.variant, *row.layer}] = *row.mean;
    }
  }
  struct Distances {
    double sum = 0;
    Index n = 0;
  };
  std::map<std::string, Distances> models;
  for (const Row& row : result.rows) {
    if (row.metric == "published.agreement") return;  // judged by compare_curves
    if (row.metric != "published.value" || !row.layer || !row.mean) continue;
    const auto found = ours.find({row.model, row.variant, *row.layer});
    if (found == ours.end()) continue;
    models[row.model].sum += std::abs(found->second - *row.mean);
    ++models[row.model].n;
  }
  for (const auto& [model, distances] : models) {
    Comparison comparison;
    comparison.claim = fmt::format("Figure 2, trained: {}", model);
    comparison.value = distances.sum / static_cast<double>(distances.n);
    comparison.n = distances.n;
    comparison.evidence = fmt::format(
        "mean distance {:.3f} over {} points; not judged, since the published curves are of "
        "other texts",
        *comparison.value, distances.n);
    out.push_back(std::move(comparison));
  }
}

void compare_counts(const Result& result, std::vector<Comparison>& out) {
  if (result.command != "counts") return;
  double largest = 0;
  Index n = 0, n_points = 0;
  for (const Row& row : result.rows) {
    if (row.metric == "published.proportion") ++n_points;
    if (row.metric != "published.deviation" || !row.mean) continue;
    largest = std::max(largest, *row.mean);
    ++n;
  }
  if (n == 0) return;
  Comparison comparison;
  comparison.claim = "Figure 5, path lengths";
  comparison.criterion =
      fmt::format("every point differs by at most {}, the precision with which the published drawing can be read",
                  significant(kDrawn, 1));
  comparison.evidence =
      fmt::format("largest distance {} over {} points of {} architectures", significant(largest, 2), n_points, n);
  comparison.worst = largest;
  comparison.worst_words =
      fmt::format("largest distance {}; the limit is {}", significant(largest, 2), significant(kDrawn, 1));
  comparison.met = largest <= kDrawn;
  comparison.value = largest;
  comparison.n = n_points;
  out.push_back(std::move(comparison));
}

// Medians by length.
std::map<Index, double> medians(const Result& result, std::string_view metric) {
  std::map<Index, double> out;
  for (const Row& row : result.rows) {
    if (row.metric == metric && row.kind == "median" && row.length && row.mean) out[*row.length] = *row.mean;
  }
  return out;
}

void compare_boxplot(const Result& result, std::vector<Comparison>& out) {
  const auto published = medians(result, "published.rank1_remainder.composite");
  const auto exact = medians(result, "path.attention_reversed.rank1_remainder.composite");
  const auto single = medians(result, "path.attention_reversed.rank1_remainder_f32.composite");
  if (published.empty() || exact.empty()) return;
  double worst = 1, highest = 0;
  Index n = 0, n_floor = 0;
  for (const auto& [length, value] : published) {
    const bool above = length <= kAboveFloor;
    const auto& ours = above ? exact : single;
    const auto found = ours.find(length);
    if (found == ours.end() || !(found->second > 0) || !(value > 0)) continue;
    if (above) {
      worst = std::max(worst, std::exp(std::abs(std::log(found->second / value))));
    } else {
      highest = std::max({highest, found->second, value});
      ++n_floor;
    }
    ++n;
  }
  if (n_floor == 0 || n == n_floor) return;  // not a repetition of the whole figure
  Comparison comparison;
  comparison.claim = "Box-plot of chained attention, BERT at initialisation";
  comparison.criterion = fmt::format(
      "up to length {}, medians agree within a factor of {} (the plot was read to 5 %); for longer paths, where the "
      "published values are the rounding floor of a float32 SVD, both float32 medians are below {}",
      kAboveFloor, kPixels, significant(kFloor, 1));
  comparison.evidence = fmt::format("largest factor {:.2f} up to length {}; at most {} beyond it", worst, kAboveFloor,
                                    significant(highest, 2));
  comparison.worst = worst;
  comparison.worst_words = fmt::format("largest factor {:.2f}; the limit is {}", worst, kPixels);
  comparison.met = worst <= kPixels && highest < kFloor;
  comparison.value = worst;
  comparison.n = n;
  out.push_back(std::move(comparison));
}

void without_numbers(const Result& result, std::vector<Comparison>& out) {
  Comparison comparison;
  if (result.command == "circle") {
    comparison.claim = "Figure 3, trajectories";
    comparison.evidence = "the published figure is a drawing of tracks; no number was published";
  } else if (result.command == "effectiveness") {
    comparison.claim = "Figure 4, accuracy by path length";
    comparison.evidence = "no result file was published, and the lines for whole model and baselines are typed in";
  } else {
    return;
  }
  out.push_back(std::move(comparison));
}

}  // namespace

Result agreement(std::span<const Result* const> results) {
  std::vector<Comparison> comparisons;
  for (const Result* result : results) {
    compare_curves(*result, comparisons);
    compare_trained(*result, comparisons);
    compare_counts(*result, comparisons);
    compare_boxplot(*result, comparisons);
    without_numbers(*result, comparisons);
  }
  Result out{"agreement", base_manifest(), {}};
  for (const Comparison& comparison : comparisons) add_rows(comparison, out.rows);
  return out;
}

}  // namespace rankfall
