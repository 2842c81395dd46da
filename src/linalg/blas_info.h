#pragma once

#include <string>

namespace rankfall {

// Name, version and kernel of the BLAS in use, e.g. "OpenBLAS 0.3.21 ... Zen".
std::string blas_description();

}  // namespace rankfall
