#include "studies/views.h"

namespace rankfall {

View bounds_view(const Result& result, const ViewOptions& options) { return plain_view(result, options); }
View lowrank_view(const Result& result, const ViewOptions& options) { return plain_view(result, options); }

}  // namespace rankfall
