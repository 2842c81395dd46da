#include "studies/published/published.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/errors.h"
#include "result/statistics.h"
#include "studies/published/published_table.h"
#include "view/number_text.h"

namespace rankfall {
namespace {

// Less than this is agreement, however little the seeds differ.
constexpr double kLeastDistance = 0.02;
// Values below kSmall are compared by their ratio. Below kPublishedFloor they are float32 noise, and ours must be, too.
constexpr double kSmall = 0.05, kFactor = 3, kPublishedFloor = 5e-7, kOurFloor = 1e-6;
constexpr int kAgreeing = 4, kFar = 6;  // standard deviations over seeds
constexpr double kShare = 0.95;         // of the points must agree
constexpr std::string_view kMetric = "relative_residual.composite";

struct Name {
  std::string_view published, ours;
};
constexpr std::array kModels = {Name{"BERT", "bert-base@init"}, Name{"Albert", "albert-base@init"},
                                Name{"XLNet", "xlnet-base@init"}};
constexpr std::array kVariants = {Name{"SAN", "san"}, Name{"SAN+MLP", "san+mlp"}, Name{"SAN+skip", "san+skip"},
                                  Name{"transformer", "full"}};

struct FigurePoint {
  std::string_view model, variant;  // our names
  Index layer = 0;
  double value = 0;
};

template <std::size_t N>
std::optional<std::string_view> our_name(const std::array<Name, N>& names, std::string_view published) {
  for (const Name& name : names) {
    if (name.published == published) return name.ours;
  }
  return std::nullopt;
}

// model,state,variant,layer,mean,std_low,std_high
std::vector<FigurePoint> published_points() {
  std::vector<FigurePoint> points;
  for (const auto& fields : published_table(kPublishedFig2)) {
    const auto model = our_name(kModels, fields[0]);
    const auto variant = our_name(kVariants, fields[2]);
    if (!model || !variant || fields[1] != "init") continue;
    points.push_back({*model, *variant, published_number<Index>(fields[3]), published_number<double>(fields[4])});
  }
  return points;
}

struct Judgement {
  bool agrees = false;
  bool far = false;  // beyond what the criterion allows any point
  double deviation = 0;
  std::string verdict;
};

// Without a deviation one draw is compared with another.
Judgement judge(double published, double mean, std::optional<double> std) {
  Judgement j;
  if (published < kPublishedFloor) {
    j.agrees = mean < kOurFloor;
    j.far = !j.agrees;
    j.deviation = std::log10(mean / published);
    j.verdict = j.agrees ? "both at the float32 floor" : "published at the float32 floor, ours not below 10^-6";
  } else if (published < kSmall) {
    const double ratio = mean / published;
    j.agrees = ratio > 1 / kFactor && ratio < kFactor;
    j.far = !j.agrees;
    j.deviation = std::log10(ratio);
    j.verdict = fmt::format("{} a factor of {}", j.agrees ? "within" : "beyond", kFactor);
  } else if (!std) {
    const double distance = std::abs(mean - published);
    j.deviation = published - mean;
    j.agrees = distance <= kOneDraw;
    j.far = distance > 2 * kOneDraw;
    j.verdict = fmt::format("{:.3f} between two draws, {} {}", distance, j.agrees ? "within" : "beyond", kOneDraw);
  } else {
    const double distance = std::abs(mean - published);
    j.deviation = *std > 0 ? (published - mean) / *std : 0;
    j.agrees = distance <= std::max(kAgreeing * *std, kLeastDistance);
    j.far = distance > std::max(kFar * *std, kLeastDistance);
    j.verdict = j.agrees ? "within 4 standard deviations or 0.02"
                : j.far  ? "beyond 6 standard deviations"
                         : "between 4 and 6 standard deviations";
  }
  return j;
}

struct Tally {
  Index n = 0, agree = 0, far = 0;
  // Of points above 0.05: the largest deviation, in standard deviations over seeds or, of one draw, as it is; and
  // where.
  double worst = 0;
  std::string worst_point;
};

Row row_for(std::string_view model, std::string_view variant, const char* metric, double value) {
  return {.model = std::string(model), .variant = std::string(variant), .metric = metric, .mean = value};
}

void count(Tally& tally, const Judgement& j, const FigurePoint& point, double measured) {
  ++tally.n;
  tally.agree += j.agrees ? 1 : 0;
  tally.far += j.far ? 1 : 0;
  if (point.value < kSmall || (std::abs(j.deviation) <= tally.worst && !tally.worst_point.empty())) return;
  tally.worst = std::abs(j.deviation);
  tally.worst_point = fmt::format("{} {}, layer {}: {} measured, {} published", point.model, point.variant, point.layer,
                                  significant(measured), significant(point.value));
}

double share(const Tally& tally) { return static_cast<double>(tally.agree) / static_cast<double>(tally.n); }

bool met(const Tally& tally) { return share(tally) >= kShare && tally.far == 0; }

// "largest distance 0.083 (albert-base@init full, layer 12: 0.180 measured, 0.263 published)"
std::string worst_words(const Tally& tally, bool over_seeds) {
  if (tally.worst_point.empty()) return "";
  return fmt::format(
      "largest distance {} ({})",
      over_seeds ? fmt::format("{:.1f} standard deviations", tally.worst) : fmt::format("{:.3f}", tally.worst),
      tally.worst_point);
}

std::string words(const Tally& tally, bool over_seeds) {
  const std::string limits = over_seeds
                                 ? fmt::format("{} standard deviations over seeds or {}", kAgreeing, kLeastDistance)
                                 : fmt::format("{}, one draw of the weights compared with another", kOneDraw);
  const std::string worst = worst_words(tally, over_seeds);
  return fmt::format(
      "{}: {} of {} published points agree within {} ({:.1f} %; at least {:.0f} % must), {} beyond {}{}{}",
      met(tally) ? "agrees" : "does not agree", tally.agree, tally.n, limits, 100 * share(tally), 100 * kShare,
      tally.far, over_seeds ? fmt::format("{} standard deviations", kFar) : fmt::format("{}", 2 * kOneDraw),
      worst.empty() ? "" : "; ", worst);
}

using MeasuredCurves = std::map<std::pair<std::string, std::string>, std::map<Index, const Row*>>;

// Over seeds, or of the only one.
MeasuredCurves measured_curves(const Result& result, bool over_seeds) {
  MeasuredCurves curves;
  for (const Row& row : result.rows) {
    if (row.metric != kMetric || !row.layer || row.kind != (over_seeds ? "seeds" : "samples")) continue;
    curves[{row.model, row.variant}][*row.layer] = &row;
  }
  return curves;
}

}  // namespace

std::vector<Row> published_curves(std::string_view published, std::string_view state, const std::string& model) {
  std::vector<Row> rows;
  for (const auto& fields : published_table(kPublishedFig2)) {
    const auto variant = our_name(kVariants, fields[2]);
    if (fields[0] != published || fields[1] != state || !variant) continue;
    Row row = row_for(model, *variant, "published.value", published_number<double>(fields[4]));
    row.layer = published_number<Index>(fields[3]);
    rows.push_back(std::move(row));
  }
  return rows;
}

void check_comparable(std::span<const std::string> models, const MeasureOptions& options) {
  const bool known = std::ranges::any_of(models, [](const std::string& model) {
    return std::ranges::any_of(kModels, [&](const Name& name) { return model == name.ours; });
  });
  if (!known) throw usage_error("nothing to compare; expected bert-base@init, albert-base@init or xlnet-base@init");
  if (options.n_seeds < 3)
    throw usage_error("expected MeasureOptions::n_seeds 3 or more: the deviation over seeds is the unit of comparison");
  if (options.input.is_given() || options.input.n_tokens.value_or(128) != 128 ||
      options.input.n_samples.value_or(32) != 32) {
    throw usage_error("the published samples are 32 of 128 tokens");
  }
}

std::string criterion_words(bool over_seeds) {
  const std::string distance =
      over_seeds ? fmt::format(
                       "at least {:.0f} % of the points lie within {} standard deviations over seeds (or {}) of "
                       "our mean, and none beyond {}",
                       100 * kShare, kAgreeing, kLeastDistance, kFar)
                 : fmt::format(
                       "one random draw of the weights is compared with another, so the limits are wide: at "
                       "least {:.0f} % of the points differ by at most {}, and none by more than {}",
                       100 * kShare, kOneDraw, 2 * kOneDraw);
  return fmt::format(
      "{}; points below {} agree within a factor of {}; where the published value is float32 noise (below "
      "{}), ours is below {}",
      distance, kSmall, kFactor, trimmed(kPublishedFloor), trimmed(kOurFloor));
}

std::string limit_words(bool over_seeds) {
  return over_seeds ? fmt::format(
                          "at least {:.0f} % of the points must lie within {} standard deviations over seeds or {}, "
                          "all within {}",
                          100 * kShare, kAgreeing, kLeastDistance, kFar)
                    : fmt::format("at least {:.0f} % of the points must lie within {}, all within {}", 100 * kShare,
                                  kOneDraw, 2 * kOneDraw);
}

Agreement compare_with_published(const Result& result) {
  const bool over_seeds = std::ranges::any_of(result.rows, [](const Row& row) { return row.kind == "seeds"; });
  const MeasuredCurves ours = measured_curves(result, over_seeds);
  Agreement agreement;
  std::map<std::string, Tally> of_models;
  std::map<std::pair<std::string, std::string>, Tally> tallies;
  Tally all;
  for (const FigurePoint& point : published_points()) {
    const auto curve = ours.find({std::string(point.model), std::string(point.variant)});
    if (curve == ours.end()) continue;
    const auto found = curve->second.find(point.layer);
    if (found == curve->second.end() || !found->second->mean) continue;
    if (over_seeds && !found->second->std) continue;
    const Row& measured = *found->second;
    const Judgement j = judge(point.value, *measured.mean, over_seeds ? measured.std : std::nullopt);
    for (Tally* tally : {&all, &tallies[curve->first], &of_models[curve->first.first]}) {
      count(*tally, j, point, *measured.mean);
    }
    Row value = row_for(point.model, point.variant, "published.value", point.value);
    value.layer = point.layer;
    Row deviation = row_for(point.model, point.variant, "published.deviation", j.deviation);
    deviation.layer = point.layer;
    set_status(deviation, j.agrees ? Status::kAgrees : Status::kDiffers, j.verdict);
    agreement.rows.push_back(std::move(value));
    agreement.rows.push_back(std::move(deviation));
  }
  if (all.n == 0) throw usage_error("the result has nothing that was published");
  for (const auto& [key, tally] : tallies) {
    Row row = row_for(key.first, key.second, "published.agreement", share(tally));
    row.n = tally.n;
    set_status(row, met(tally) ? Status::kAgrees : Status::kDiffers, words(tally, over_seeds));
    agreement.rows.push_back(std::move(row));
  }
  for (const auto& [model, tally] : of_models) {
    agreement.models.push_back(
        {model, met(tally), tally.n, share(tally), words(tally, over_seeds), tally.worst, tally.worst_point});
  }
  agreement.met = met(all);
  agreement.summary = words(all, over_seeds);
  Row row = row_for("", "", "published.agreement", share(all));
  row.n = all.n;
  set_status(row, agreement.met ? Status::kAgrees : Status::kDiffers, agreement.summary);
  agreement.rows.push_back(std::move(row));
  return agreement;
}

}  // namespace rankfall
