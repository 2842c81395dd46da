#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/measure.h>
#include <rankfall/result.h>

namespace rankfall {

// How a measurement agrees with the published Figure 2 at initialisation.
struct Agreement {
  // metric published.value: the published point; published.deviation: how far it is from ours, in standard deviations
  // over seeds, or log10 of the ratio below 0.05; published.agreement (without layer): the share of points that agree,
  // for each model and variant and, without either, of all. `status`: kAgrees or kDiffers.
  std::vector<Row> rows;
  bool met = false;     // the whole criterion
  std::string summary;  // one sentence

  struct OfModel {
    std::string model;
    bool met = false;  // the criterion, on the points of this model
    Index n = 0;
    double share = 0;  // of the points that agree
    std::string summary;
    double worst = 0;  // largest deviation of a point above 0.05: in standard deviations over seeds, or one draw's own
    std::string worst_point;  // which, in words; empty if there is none
  };
  std::vector<OfModel> models;
};

// `result` is a measurement of bert-base@init, albert-base@init or xlnet-base@init, as published; other models in it
// are left alone. The published curves are one unseeded draw of the weights each. With m and s our mean and standard
// deviation over seeds, a published point p agrees when
//   p < 5e-7:  m < 1e-6;    p < 0.05:  p/3 < m < 3p;    otherwise:  |p - m| <= max(4 s, 0.02).
// Criterion: 95 % of all points agree, none is beyond max(6 s, 0.02), and every point below 0.05 agrees.
// With one seed there is no s, and one draw stands against another: |p - m| <= kOneDraw agrees, twice that is too far.
inline constexpr double kOneDraw = 0.1;
RANKFALL_API Agreement compare_with_published(const Result& result);

// The criterion, and its limits for distances, in words that a reader can check.
std::string criterion_words(bool over_seeds);
std::string limit_words(bool over_seeds);

// Throws Error(kUsage) unless a measurement of these models with these options can be compared: one of the three
// models, at least 3 seeds, and samples of the published size. To be asked before the long computation.
RANKFALL_API void check_comparable(std::span<const std::string> models, const MeasureOptions& options);

// The published curves of Figure 2, as rows published.value with this name of the model. published: "BERT", "Albert" or
// "XLNet"; state: "init" or "pretrained".
RANKFALL_API std::vector<Row> published_curves(std::string_view published, std::string_view state,
                                               const std::string& model);

// The published figures that these results repeat, one `claim` each: agreement.criterion and agreement.evidence in
// words, agreement.verdict with status kAgrees, kDiffers, or kMissing where they cannot be compared; and, where points
// are compared, agreement.worst, the largest distance and in words what it was allowed to be, with `kind` one_draw if
// one draw of the weights stands against another, which is a loose test. Looked at are
// measurements that have published.agreement or published.value rows (trained ones are not judged: other texts),
// counts, and paths as published.
RANKFALL_API Result agreement(std::span<const Result* const> results);

}  // namespace rankfall
