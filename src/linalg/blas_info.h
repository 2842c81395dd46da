#pragma once

#include <string>
#include <string_view>

namespace rankfall {

// The command sets it to the kernel that OpenBLAS had chosen, when it starts itself again with another.
constexpr const char* kBlasReplaced = "RANKFALL_BLAS_REPLACED";

// Name, version and kernel of the BLAS in use, e.g. "OpenBLAS 0.3.21 ... Zen".
std::string blas_description();

// Name of its kernel, e.g. "Zen".
std::string blas_kernel();

// The vector instructions that a CPU has and the system lets programs use. avx512: F, CD, BW, DQ and VL together.
struct VectorUnits {
  bool ssse3 = false, sse42 = false, avx = false, avx2_fma = false, avx512 = false;
};
VectorUnits vector_units();

// The kernel of OpenBLAS for such a CPU: SkylakeX, Haswell, Sandybridge, Nehalem, Core2 or Prescott.
std::string best_kernel(const VectorUnits& units);

// best_kernel, if it uses wider vectors than `kernel`; else empty. OpenBLAS goes by the CPU's model number, and on CPUs
// that are newer than itself takes a kernel without AVX, several times slower than need be.
std::string better_kernel(std::string_view kernel, const VectorUnits& units);

// Who chose the kernel, for manifests: "OpenBLAS", "OPENBLAS_CORETYPE" (the user), or "rankfall instead of Prescott",
// where the command has started itself again with a better one.
std::string blas_choice();

}  // namespace rankfall
