#pragma once

#include <optional>
#include <string>
#include <vector>

#include <rankfall/network.h>
#include <rankfall/result.h>

namespace rankfall {

// Why theory does not carry a network: a curve for it would be wrong.
struct NotCarried {
  Reason reason = Reason::kNone;
  std::string where;  // "block 3"
};
std::optional<NotCarried> not_carried(const Network& network);

// Whether sub-layers write into one stream through the same weights: then a state's Gram matrix does not determine the
// next one, and SharedKernel carries what Kernel does not.
bool shares_weights(const Network& network);

// Names the weights of a function: those of two are equal if and only if the functions read the same tensors.
using FunctionWeights = std::vector<Index>;
FunctionWeights weights_of(const Function& f);

}  // namespace rankfall
