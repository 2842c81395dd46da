#include "cli/app.h"
#include "cli/commands.h"
#include "studies/bounds/bounds_rows.h"

// `rankfall` in a world where every bound is wrong by a factor 10^20.
int main(int argc, char** argv) {
  using namespace rankfall;
  log_bound_shift_for_tests = -46;
  cli::run_app(argc, argv, "rankfall", "rankfall with bounds that do not hold", cli::add_commands);
}
