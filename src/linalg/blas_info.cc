#include "linalg/blas_info.h"

#include <algorithm>
#include <cstdlib>
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
  return {.ssse3 = __builtin_cpu_supports("ssse3") != 0,
          .sse42 = __builtin_cpu_supports("sse4.2") != 0,
          .avx = __builtin_cpu_supports("avx") != 0,
          .avx2_fma = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0,
          .avx512 = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512cd") != 0 &&
                    __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
                    __builtin_cpu_supports("avx512vl") != 0};
#else
  return {};
#endif
}

namespace {

// OpenBLAS's kernels for x86 by the vectors they use, narrow ones first: 128 bits with SSE3 or less, SSSE3, SSE4.2;
// 256 bits with AVX, AVX2; 512 bits.
enum class Width { kSse3, kSsse3, kSse42, kAvx, kAvx2, kAvx512 };
struct KernelWidth {
  std::string_view kernel;
  Width width;
};
constexpr KernelWidth kKernels[] = {
    {"Katmai", Width::kSse3},      {"Coppermine", Width::kSse3},   {"Northwood", Width::kSse3},
    {"Prescott", Width::kSse3},    {"Banias", Width::kSse3},       {"Generic", Width::kSse3},
    {"Athlon", Width::kSse3},      {"Opteron", Width::kSse3},      {"Opteron_SSE3", Width::kSse3},
    {"Nano", Width::kSse3},        {"Core2", Width::kSsse3},       {"Penryn", Width::kSsse3},
    {"Dunnington", Width::kSsse3}, {"Atom", Width::kSsse3},        {"Barcelona", Width::kSsse3},
    {"Bobcat", Width::kSsse3},     {"Nehalem", Width::kSse42},     {"Sandybridge", Width::kAvx},
    {"Bulldozer", Width::kAvx},    {"Piledriver", Width::kAvx},    {"Steamroller", Width::kAvx},
    {"Excavator", Width::kAvx},    {"Haswell", Width::kAvx2},      {"Zen", Width::kAvx2},
    {"SkylakeX", Width::kAvx512},  {"Cooperlake", Width::kAvx512}, {"SapphireRapids", Width::kAvx512},
};

const KernelWidth* find_kernel(std::string_view name) {
  const auto found = std::ranges::find(kKernels, name, &KernelWidth::kernel);
  return found == std::end(kKernels) ? nullptr : found;
}

}  // namespace

std::string best_kernel(const VectorUnits& units) {
  if (units.avx512) return "SkylakeX";
  if (units.avx2_fma) return "Haswell";
  if (units.avx) return "Sandybridge";
  if (units.sse42) return "Nehalem";
  return units.ssse3 ? "Core2" : "Prescott";
}

std::string better_kernel(std::string_view kernel, const VectorUnits& units) {
  const KernelWidth* now = find_kernel(kernel);
  std::string best = best_kernel(units);
  // A kernel that is not in the table belongs to an OpenBLAS that knows more than we do.
  return now && now->width < find_kernel(best)->width ? best : "";
}

std::string blas_choice() {
  if (std::getenv("OPENBLAS_CORETYPE") == nullptr) return "OpenBLAS";
  const char* replaced = std::getenv(kBlasReplaced);
  // Environments are anyone's: only a name of a kernel is repeated.
  if (replaced != nullptr && find_kernel(replaced)) return std::string("rankfall instead of ") + replaced;
  return "OPENBLAS_CORETYPE";
}

}  // namespace rankfall
