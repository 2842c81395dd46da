#pragma once

#include <string>
#include <string_view>

namespace rankfall {

// Name, version and kernel of the BLAS in use, e.g. "OpenBLAS 0.3.21 ... Zen".
std::string blas_description();

// Name of its kernel, e.g. "Zen".
std::string blas_kernel();

// The vector instructions that this CPU has.
struct VectorUnits {
  bool avx2 = false, avx512 = false;
};
VectorUnits vector_units();

// A kernel that is several times faster on such a CPU than `kernel`, one of those that OpenBLAS falls back to on CPUs
// that are newer than itself; empty if `kernel` is none of them.
std::string faster_kernel(std::string_view kernel, const VectorUnits& units);

}  // namespace rankfall
