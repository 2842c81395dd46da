#pragma once

#include "model/config.h"
#include <rankfall/network.h>

namespace rankfall {

// The network a configuration describes, by its model_type; fails on unknown families, listing the known ones.
Network make_network(const Config& config);

}  // namespace rankfall
