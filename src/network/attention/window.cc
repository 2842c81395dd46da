#include <algorithm>

#include <fmt/format.h>

#include "network/attention/kind.h"
#include "network/seen_keys.h"

namespace rankfall {

Index fitted_window(Mask mask, const AttentionKind::Budget& budget) {
  const auto most = static_cast<double>(budget.products);
  mask.causal = budget.causal;
  const auto keys = [&](Index window) {
    mask.window = window;
    return mean_seen_keys(mask, budget.n_tokens);
  };
  Index low = 1;
  Index high = std::max<Index>(1, budget.n_tokens - 1);
  while (low < high) {  // the first that is not below the budget
    const Index middle = low + (high - low) / 2;
    if (keys(middle) < most) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low > 1 && most - keys(low - 1) < keys(low) - most ? low - 1 : low;
}

// Keys within w tokens, and the first `global` ones.
const AttentionKind kWindowKind = {
    .name = "window",
    .keys = {{{"w", 64, 1}, {"global", 0}}},
    .make =
        [](const AttentionKind::Values& v) {
          return AttentionChoice{"", SoftmaxWeights{}, Mask{.window = v[0], .global = v[1]}};
        },
    .masked = [](const Mask& mask) { return mask.window > 0 && mask.random == 0; },
    .within =
        [](const AttentionKind::Budget& budget) {
          return std::vector{fmt::format("window:w={}", fitted_window({}, budget))};
        },
    .theory = {"O(n w d)", "O(n d)", "O(n (w+g) d)"},
};

}  // namespace rankfall
