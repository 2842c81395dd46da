#pragma once

#include <span>
#include <string_view>

#include "view/view.h"
#include <rankfall/result.h>

// The views of all studies, each made from rows alone.

namespace rankfall {

struct StudyView {
  std::string_view name, title, intro;
  View (*view)(const Result& result, const ViewOptions& options);
  bool takes_metrics = false;  // shows those of the options, whichever they are
};

// In the order of a page: what is measured, why, what it means, and the numbers behind.
std::span<const StudyView> study_views();

// The one of that command; nullptr for a command that is not known.
const StudyView* study_view(std::string_view command);

// The view of a result, whatever command made it.
View view_of(const Result& result, const ViewOptions& options);

View measure_view(const Result& result, const ViewOptions& options);
View collapse_view(const Result& result, const ViewOptions& options);
View theory_view(const Result& result, const ViewOptions& options);
View bounds_view(const Result& result, const ViewOptions& options);
View paths_view(const Result& result, const ViewOptions& options);
View counts_view(const Result& result, const ViewOptions& options);
View effectiveness_view(const Result& result, const ViewOptions& options);
View circle_view(const Result& result, const ViewOptions& options);
View train_view(const Result& result, const ViewOptions& options);
View lowrank_view(const Result& result, const ViewOptions& options);
View layer_costs_view(const Result& result, const ViewOptions& options);
View audit_view(const Result& result, const ViewOptions& options);
View agreement_view(const Result& result, const ViewOptions& options);
View tokens_view(const Result& result, const ViewOptions& options);
View parity_view(const Result& result, const ViewOptions& options);
View bench_view(const Result& result, const ViewOptions& options);
View doctor_view(const Result& result, const ViewOptions& options);
// Curves where there are layers, and every other row in a table.
View plain_view(const Result& result, const ViewOptions& options);

}  // namespace rankfall
