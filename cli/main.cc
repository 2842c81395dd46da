#include "cli/app.h"
#include "cli/blas_choice.h"
#include "cli/commands.h"

int main(int argc, char** argv) {
  using namespace rankfall::cli;
  start_with_best_blas(argv);  // rankfall-train, which this program starts, inherits the choice
  run_app(argc, argv, "rankfall", "rankfall: the reference instrument for rank collapse in transformers",
          [](CLI::App& app) {
            add_measure_command(app);
            add_collapse_command(app);
            add_paths_command(app);
            add_counts_command(app);
            add_bounds_command(app);
            add_audit_command(app);
            add_lowrank_command(app);
            add_train_commands(app);
            add_effectiveness_command(app);
            add_reproduce_command(app);
            add_report_command(app);
            add_capture_command(app);
            add_parity_command(app);
            add_tokens_command(app);
            add_bench_command(app);
            add_doctor_command(app);
            add_about_commands(app);
            add_manual_commands(app);
          });
}
