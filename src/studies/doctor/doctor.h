#pragma once

#include <string>

#include <rankfall/export.h>
#include <rankfall/result.h>

namespace rankfall {

// What this machine and this build are, and whether results made here can be made again. One row a fact: metric
// ("doctor.cpu"), the fact in words (`verdict`), a number where there is one (`mean`), and status passed or failed of
// what was tried just now, warning for what may surprise.  Cost: below a second.
RANKFALL_API Result doctor();

// The kernel of OpenBLAS in use, e.g. "Zen", and one that this CPU runs several times faster; `better` is empty if
// there is none. OpenBLAS fixes its kernel when it is loaded: a library can only report it. To change it, set
// OPENBLAS_CORETYPE before the program starts, as the command rankfall does for itself.
struct BlasKernel {
  std::string name, better;
};
RANKFALL_API BlasKernel loaded_blas_kernel();

}  // namespace rankfall
