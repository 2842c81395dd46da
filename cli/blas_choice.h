#pragma once

namespace rankfall::cli {

// Starts the program again with OPENBLAS_CORETYPE set, if OpenBLAS has loaded a kernel that uses narrower vectors than
// this CPU has. Returns if there is nothing to gain, if the user has chosen a kernel, or if it cannot be started again.
void start_with_best_blas(char** argv);

}  // namespace rankfall::cli
