#include "cli/blas_choice.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <unistd.h>

#include "studies/doctor/doctor.h"

namespace rankfall::cli {

void start_with_best_blas(char** argv) {
  constexpr const char* kKernel = "OPENBLAS_CORETYPE";
  constexpr const char* kReplaced = "RANKFALL_BLAS_REPLACED";  // read by blas_choice(), for manifests
  if (std::getenv(kKernel) != nullptr) return;                 // the user's choice, or ours the second time
  unsetenv(kReplaced);
  const BlasKernel kernel = loaded_blas_kernel();
  if (kernel.better.empty()) return;
  // By its name, not as /proc/self/exe, so that `ps` and error messages show what was started.
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  setenv(kKernel, kernel.better.c_str(), 1);
  setenv(kReplaced, kernel.name.c_str(), 1);
  execv(program.c_str(), argv);
  unsetenv(kKernel);
  unsetenv(kReplaced);
}

}  // namespace rankfall::cli
