#include "linalg/blas_info.h"

#include <algorithm>
#include <iterator>

#include <cblas.h>

namespace rankfall {

std::string blas_description() {
  const std::string config = openblas_get_config();
  const std::string core = openblas_get_corename();
  return config.find(core) == std::string::npos ? config + " " + core : config;
}

std::string blas_kernel() { return openblas_get_corename(); }

VectorUnits vector_units() {
#if defined(__x86_64__) || defined(__i386__)
  return {__builtin_cpu_supports("avx2") != 0, __builtin_cpu_supports("avx512vl") != 0};
#else
  return {};
#endif
}

std::string faster_kernel(std::string_view kernel, const VectorUnits& units) {
  // Those without AVX: OpenBLAS's own order, oldest first.
  constexpr std::string_view kOld[] = {"Katmai", "Coppermine", "Northwood", "Prescott", "Banias", "Core2",
                                       "Penryn", "Dunnington", "Atom",      "Nehalem",  "Generic"};
  if (!units.avx2 || std::ranges::find(kOld, kernel) == std::end(kOld)) return "";
  return units.avx512 ? "SkylakeX" : "Haswell";
}

}  // namespace rankfall
