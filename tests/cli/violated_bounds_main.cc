#include "analysis/bounds_rows.h"
#include "cli/app.h"
#include "cli/commands.h"

// `rankfall bounds` and `rankfall report` in a world where every bound is wrong by a factor 10^20.
int main(int argc, char** argv) {
  using namespace rankfall;
  log_bound_shift_for_tests = -46;
  cli::run_app(argc, argv, "rankfall", "rankfall with bounds that do not hold", [](CLI::App& app) {
    cli::add_bounds_command(app);
    cli::add_report_command(app);
  });
}
