#include "studies/views.h"

#include <algorithm>
#include <iterator>

#include "view/model_names.h"
#include "view/rows.h"

namespace rankfall {
namespace {

constexpr StudyView kViews[] = {
    {"agreement", "Agreement with the paper", "The published numbers beside ours.", agreement_view},
    {"measure", "Residuals by layer", "How much the tokens still differ, layer by layer.", measure_view, true},
    {"collapse", "The exact collapse", "The same residuals, exact at any depth.", collapse_view, true},
    {"theory", "Theory", "What the description of a network predicts, before a weight is drawn.", theory_view, true},
    {"bounds", "Theory against measurement", "Every bound beside the quantity that it bounds.", bounds_view},
    {"paths", "Paths", "The network as a sum over paths, one head or the skip in each block.", paths_view},
    {"counts", "Path lengths", "How many paths of each length there are.", counts_view},
    {"effectiveness", "What paths of each length can do", "Accuracy on the tasks.", effectiveness_view},
    {"circle", "Recurrence", "One block applied recurrently.", circle_view},
    {"train", "Training", "Curves over epochs.", train_view},
    {"lowrank", "Low rank", "How close attention is to low rank, and what cheaper attention does.", lowrank_view},
    {"layer_costs", "Costs of a layer", "Time and memory of each kind of attention.", layer_costs_view},
    {"bench", "Speed", "The speed of rankfall on this machine.", bench_view},
    {"audit", "The audit", "Every claim of the theory, tested.", audit_view},
    {"parity", "Parity", "Hidden states and attention beside those of another implementation.", parity_view},
    {"tokens", "Tokens", "How each text is tokenised.", tokens_view},
    {"doctor", "The machine", "This machine and build.", doctor_view},
};

}  // namespace

std::span<const StudyView> study_views() { return kViews; }

const StudyView* study_view(std::string_view command) {
  const auto* found = std::ranges::find(kViews, command, &StudyView::name);
  return found == std::end(kViews) ? nullptr : found;
}

namespace {

View full_view(const Result& result, const ViewOptions& options) {
  const StudyView* study = study_view(result.command);
  View view;
  if (study && (options.metrics.empty() || study->takes_metrics)) view = study->view(result, options);
  std::erase_if(view.figures, [](const Figure& figure) { return figure.nodes.empty(); });
  // Rows that are not what the study writes.
  if (view.figures.empty()) view = plain_view(result, options);
  if (view.figures.empty()) {
    view.notes.emplace_back(result.rows.empty() ? "The result has no rows."
                                                : "The result has no row of these metrics.");
  }
  if (view.about.empty()) view.about = input_words(result.manifest);
  return view;
}

}  // namespace

View view_of(const Result& result, const ViewOptions& options) {
  const bool any_path =
      std::ranges::any_of(result.rows, [](const Row& row) { return row.model.find('/') != std::string::npos; });
  if (!any_path || options.short_names) return full_view(result, options);
  Result named = result;
  shorten_model_names({&named});
  return full_view(named, options);
}

}  // namespace rankfall
