#include "report/page_headline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "result/summary.h"
#include "view/number_text.h"
#include "view/rows.h"

namespace rankfall {
namespace {

constexpr std::string_view kExact = "log10_relative_residual.composite", kMeasured = "relative_residual.composite";

// One variant: log10 of its relative residual by layer, and where plain arithmetic loses it.
struct Fall {
  std::string variant;
  std::map<Index, double> log10;
  std::optional<Index> float32, float64;  // the first layer that each cannot resolve
  double first() const { return log10.begin()->second; }
  double last() const { return log10.rbegin()->second; }
  Index n_layers() const { return log10.rbegin()->first; }
};

struct Story {
  std::string model;
  std::vector<Fall> falls;
  std::size_t n_models = 0;
  std::optional<Index> n_samples;
  bool exact = false, over_seeds = false;
};

std::string variant_name(const std::string& variant) {
  if (variant == "full") return "full transformer";
  if (variant == "san") return "attention alone";
  if (variant == "san+skip") return "attention + skips";
  if (variant == "san+mlp") return "attention + MLPs";
  return variant.empty() ? "network" : shortened(variant);
}

// As the subject of a sentence.
std::string subject(const std::string& variant) {
  if (variant == "full") return "the full transformer";
  if (variant == "san") return "attention alone, without skips and MLPs,";
  if (variant == "san+skip") return "attention with skips, without MLPs,";
  if (variant == "san+mlp") return "attention with MLPs, without skips,";
  return variant.empty() ? "the network" : fmt::format("'{}'", shortened(variant));
}

std::string model_name(const std::string& model) {
  constexpr std::string_view kInit = "@init";
  if (!model.ends_with(kInit)) return shortened(model);
  return fmt::format("{} with random weights", shortened(model.substr(0, model.size() - kInit.size())));
}

Fall& fall_of(Story& story, const std::string& variant) {
  const auto found = std::ranges::find(story.falls, variant, &Fall::variant);
  if (found != story.falls.end()) return *found;
  story.falls.push_back({variant, {}, {}, {}});
  return story.falls.back();
}

void add(const Row& row, bool exact, Story& story) {
  const auto value = finite(row.mean);
  if (exact && row.metric == "rounding_layer" && value && !row.sample) {
    if (row.kind != "f32" && row.kind != "f64") return;
    auto& layer = row.kind == "f32" ? fall_of(story, row.variant).float32 : fall_of(story, row.variant).float64;
    if (!layer && std::abs(*value) < 1e9) layer = static_cast<Index>(*value);
    return;
  }
  if (row.metric != (exact ? kExact : kMeasured) || !is_layer_row(row) || row.head || !value) return;
  if (exact ? row.kind == "f32" || row.kind == "f64" : !(*value > 0)) return;
  fall_of(story, row.variant).log10.try_emplace(*row.layer, exact ? *value : std::log10(*value));
  if (row.n) story.n_samples = row.n;
  story.over_seeds = story.over_seeds || row.kind == "seeds";
}

// Layers at the end that are nothing but rounding: from the first of them on it cannot be resolved.
void find_floors(const Rows& rows, Story& story) {
  for (Fall& fall : story.falls) {
    for (const Row* row : rows) {
      if (row->model != story.model || row->variant != fall.variant || row->metric != kMeasured || !row->layer)
        continue;
      if (row->status != Status::kRoundingFloor) {
        fall.float32.reset();
      } else if (!fall.float32) {
        fall.float32 = *row->layer;
      }
    }
  }
}

std::optional<Story> story_of(const Result& result) {
  Story story;
  story.exact = result.command == "collapse";
  const Rows rows = summary_rows(result);
  Names models;
  for (const Row* row : rows) {
    if (row->metric == (story.exact ? kExact : kMeasured) && row->layer && finite(row->mean)) models.add(row->model);
  }
  if (models.empty()) return {};
  story.model = models.list().front();
  story.n_models = models.size();
  for (const Row* row : rows) {
    if (row->model == story.model) add(*row, story.exact, story);
  }
  // Where the layers end that float32 and float64 show stands in rows of a precision, which do not speak for a result.
  if (story.exact) {
    for (const Row& row : result.rows) {
      if (row.model == story.model && row.metric == "rounding_layer") add(row, true, story);
    }
  } else {
    find_floors(rows, story);
  }
  std::erase_if(story.falls, [](const Fall& fall) { return fall.log10.size() < 2; });
  constexpr std::size_t kMostCurves = 8;
  if (story.falls.empty() || story.falls.size() > kMostCurves) return {};
  return story;
}

// In large type a whole exponent is enough.
std::string headline_number(double log10) {
  return log10 < -10 ? fmt::format("10^{:.0f}", log10) : significant(std::pow(10, log10), 2);
}

std::string samples_words(const Story& story) {
  if (!story.n_samples) return "";
  if (*story.n_samples == 1) return ", one sample";
  return fmt::format(", mean over {} {}", *story.n_samples, story.over_seeds ? "seeds" : "samples");
}

constexpr double kCollapsed = -3;  // log10 of what is left of the first layer's

Curves curves_of(const Story& story) {
  Curves curves;
  curves.y = "relative residual";
  curves.scale = Scale::kLog10;
  curves.precisions = curves.labelled = curves.wide = curves.with_one = true;
  for (const Fall& fall : story.falls) {
    for (const auto& [layer, value] : fall.log10) {
      Point point;
      point.x = static_cast<double>(layer);
      point.series = fall.variant;
      point.value = value;
      curves.points.push_back(std::move(point));
    }
  }
  return curves;
}

std::string title_of(const Fall& lowest, const Fall& highest) {
  const auto name = [](const Fall& fall) {
    return fall.variant == "full" ? "the full transformer" : variant_name(fall.variant);
  };
  if (lowest.last() - lowest.first() > kCollapsed) return "No variant collapses.";
  if (highest.last() - highest.first() <= kCollapsed) return "Every variant collapses.";
  return title_case(fmt::format("{} makes all tokens alike; {} keeps them apart.", name(lowest), name(highest)));
}

std::vector<HeadlineNumber> numbers_of_story(const Story& story, const Fall& lowest, const Fall& highest) {
  std::vector<HeadlineNumber> numbers;
  const bool lost = !story.exact && lowest.float32.has_value();
  numbers.push_back({lost ? "< 10^-6" : headline_number(lowest.last()),
                     fmt::format("is the share of the hidden state that still differs between tokens after {} of {}{}.",
                                 counted(static_cast<std::size_t>(lowest.n_layers()), "layer"),
                                 variant_name(lowest.variant), lost ? "; the measurement resolves no less" : "")});
  if (lowest.float32) {
    const bool both = lowest.float64 == lowest.float32;
    const std::string who = !story.exact ? "the arithmetic of the measurement cannot"
                            : both       ? "neither float32 nor float64 can"
                                         : "float32 cannot";
    numbers.push_back(
        {fmt::format("layer {}", *lowest.float32),
         fmt::format("is the first at which {} resolve the difference between tokens{}{}.", who,
                     story.exact ? " (off by more than 12 %)" : "",
                     lowest.float64 && !both ? fmt::format("; for float64 it is layer {}", *lowest.float64) : "")});
  } else {
    numbers.push_back({fmt::format("{} %", significant(100 * std::pow(10, lowest.last() - lowest.first()), 2)),
                       fmt::format("of its relative residual remains in {}: {} at layer {}, {} at layer {}.",
                                   variant_name(lowest.variant), headline_number(lowest.first()),
                                   lowest.log10.begin()->first, headline_number(lowest.last()), lowest.n_layers())});
  }
  if (&lowest == &highest) return numbers;
  const double kept = std::pow(10, highest.last() - highest.first());
  const std::string values =
      fmt::format("{} at layer {}, {} at layer {}", headline_number(highest.first()), highest.log10.begin()->first,
                  headline_number(highest.last()), highest.n_layers());
  numbers.push_back(
      {fmt::format("{} %", significant(100 * kept, 2)),
       fmt::format("of its relative residual is what {} retains: {}.", subject(highest.variant), values)});
  return numbers;
}

}  // namespace

std::optional<Headline> headline_of(const std::vector<NamedResult>& results) {
  std::optional<Story> story;
  for (const std::string_view command : {"collapse", "measure"}) {
    for (const NamedResult& one : results) {
      if (!story && one.result.command == command) story = story_of(one.result);
    }
  }
  if (!story) return {};
  auto [lowest, highest] = std::ranges::minmax_element(story->falls, {}, [](const Fall& f) { return f.last(); });
  // If several variants survive alike, the full network is named.
  constexpr double kAlike = 0.3;
  const auto full = std::ranges::find(story->falls, "full", &Fall::variant);
  if (full != story->falls.end() && full->last() > highest->last() - kAlike) highest = full;
  Headline out;
  out.figure.id = "headline";
  out.figure.title = title_of(*lowest, *highest);
  std::vector<std::string> variants;
  for (const Fall& fall : story->falls) variants.push_back(fall.variant);
  out.figure.series = variant_series(variants);
  for (Series& series : out.figure.series) {
    series.title = variant_name(series.name);
    series.explanation.clear();
  }
  Curves curves = curves_of(*story);
  curves.title = story->model;
  const bool deep = lowest->last() < -30;
  out.figure.caption = fmt::format(
      "The relative residual is the share of the hidden state that differs between tokens; 0 means that all tokens are "
      "identical (rank 1). Shown: {}{}{}{}.{}{}",
      model_name(story->model), story->n_models > 1 ? fmt::format(", the first of {} models", story->n_models) : "",
      samples_words(*story), story->exact ? ", computed exactly" : "",
      lowest->last() < -7.5 ? " Shaded: below the rounding floors of float32 and float64." : "",
      deep ? " Equal steps of the axis multiply the exponent: a straight fall is doubly exponential." : "");
  out.figure.nodes.emplace_back(std::move(curves));
  out.numbers = numbers_of_story(*story, *lowest, *highest);
  return out;
}

}  // namespace rankfall
