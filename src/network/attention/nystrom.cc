#include <algorithm>

#include <fmt/format.h>

#include "network/attention/kind.h"

namespace rankfall {

// P = softmax(scale Q K'^T) softmax(scale Q' K'^T)^+ softmax(scale Q' K^T), ' means of runs of tokens.
const AttentionKind kNystromKind = {
    .name = "nystrom",
    .keys = {{{"m", 64, 1}}},
    .make = [](const AttentionKind::Values& v) { return AttentionChoice{.weights = NystromWeights{v[0]}}; },
    .weights = NystromWeights{},
    .within =
        [](const AttentionKind::Budget& budget) { return std::vector{fmt::format("nystrom:m={}", budget.products)}; },
    .theory = {"O(n m d)", "O(n (d+m))"},
    .is_low_rank = true,
    .keeps_causality = false,
    .has_middle = true,
    .thin_width = [](const AttentionWeights& weights,
                     Index n_tokens) { return std::min(std::get<NystromWeights>(weights).landmarks, n_tokens); },
    .has_distributions = [](const AttentionWeights&) { return false; },  // P has negative entries
};

}  // namespace rankfall
