#include "cli/app.h"
#include "cli/blas_choice.h"
#include "cli/commands.h"

int main(int argc, char** argv) {
  using namespace rankfall::cli;
  start_with_best_blas(argv);  // rankfall-train, which this program starts, inherits the choice
  run_app(argc, argv, "rankfall",
          "How fast do token representations become identical with depth, and what prevents it?", add_commands);
}
