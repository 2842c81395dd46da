#include "network/attention/kind.h"

namespace rankfall {

// The network's own.
const AttentionKind kFullKind = {
    .name = "full",
    .make = [](const auto&) { return AttentionChoice{}; },
    .masked = [](const Mask& mask) { return mask.window == 0; },
    .within = [](const auto&) { return std::vector<std::string>(); },
};

}  // namespace rankfall
