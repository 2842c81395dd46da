#pragma once

#include <functional>
#include <string_view>

namespace rankfall {

// Called from the thread that called the library, now and then: `done` of `total` units of work, and what is being
// done. The units are arbitrary but add up, so done/total is about the share of time gone. Throwing from it ends the
// job.
using Progress = std::function<void(double done, double total, std::string_view what)>;

}  // namespace rankfall
