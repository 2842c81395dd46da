#include "linalg/blas_info.h"

#include <cblas.h>

namespace rankfall {

std::string blas_description() {
  const std::string config = openblas_get_config();
  const std::string core = openblas_get_corename();
  return config.find(core) == std::string::npos ? config + " " + core : config;
}

}  // namespace rankfall
