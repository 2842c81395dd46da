#pragma once

#include <optional>
#include <string>

#include <rankfall/network.h>
#include <rankfall/result.h>

namespace rankfall {

// Why theory does not carry a network: a curve for it would be wrong.
struct NotCarried {
  Reason reason = Reason::kNone;
  std::string where;  // "block 3"
};
std::optional<NotCarried> not_carried(const Network& network);

}  // namespace rankfall
