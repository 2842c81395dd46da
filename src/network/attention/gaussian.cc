#include "network/attention/kind.h"

namespace rankfall {

const AttentionKind kGaussianKind = {
    .name = "gaussian",
    .make = [](const auto&) { return AttentionChoice{.weights = GaussianWeights{}}; },
    .weights = GaussianWeights{},
    .within = [](const auto&) { return std::vector<std::string>{"gaussian"}; },
};

}  // namespace rankfall
