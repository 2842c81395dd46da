#pragma once

#include <string>
#include <string_view>

namespace rankfall {

// A metric as people say it. An unknown metric is its own words and has no formula.
struct MetricText {
  std::string words;
  std::string formula;    // may be empty
  bool is_share = false;  // lives on 0..1, so bars are comparable between models
  bool is_relative_residual = false;
  bool is_log10 = false;
};

MetricText metric_text(std::string_view metric);

}  // namespace rankfall
