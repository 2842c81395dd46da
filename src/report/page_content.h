#pragma once

#include <vector>

#include "render/page/page.h"
#include <rankfall/report.h>

namespace rankfall {

// The page of these results: one section for each command, or for each part of a `reproduce`.
PageContent page_content(const std::vector<NamedResult>& results, const PageOptions& options);

}  // namespace rankfall
