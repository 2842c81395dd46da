#include "studies/collapse/growth.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/dcheck.h"

namespace rankfall {

std::optional<LineFit> growth_of(std::span<const Index> tokens, std::span<const std::optional<double>> values) {
  constexpr std::size_t kFewest = 3;
  RANKFALL_DCHECK(tokens.size() == values.size());
  const std::size_t n_used = std::min(tokens.size(), std::max(kFewest, (tokens.size() + 1) / 2));
  std::vector<double> x, y;
  for (std::size_t i = tokens.size() - n_used; i < tokens.size(); ++i) {
    if (!values[i] || !(*values[i] > 0)) continue;
    x.push_back(std::log(static_cast<double>(tokens[i])));
    y.push_back(std::log(*values[i]));
  }
  return x.size() < kFewest ? std::nullopt : std::optional(fit_line(x, y));
}

}  // namespace rankfall
