#pragma once

#include <rankfall/export.h>
#include <rankfall/result.h>

namespace rankfall {

// What this machine and this build are, and whether results made here can be made again. One row a fact: metric
// ("doctor.cpu"), the fact in words (`verdict`), a number where there is one (`mean`), and kind "check" for what was
// tried just now, "failed" where that went wrong, "warning" for what may surprise.  Cost: below a second.
RANKFALL_API Result doctor();

}  // namespace rankfall
