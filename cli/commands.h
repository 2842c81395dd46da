#pragma once

#include <CLI/CLI.hpp>

// One function per subcommand: it adds the subcommand to the application, bound to an options struct that lives as long
// as the subcommand's callback.

namespace rankfall::cli {

void add_measure_command(CLI::App& app);
void add_collapse_command(CLI::App& app);
void add_paths_command(CLI::App& app);
void add_counts_command(CLI::App& app);
void add_bounds_command(CLI::App& app);
void add_lowrank_command(CLI::App& app);
void add_audit_command(CLI::App& app);
void add_train_commands(CLI::App& app);  // train and circle
void add_effectiveness_command(CLI::App& app);
void add_capture_command(CLI::App& app);
void add_parity_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_reproduce_command(CLI::App& app);
void add_tokens_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_doctor_command(CLI::App& app);
void add_about_commands(CLI::App& app);   // models, help and version
void add_manual_commands(CLI::App& app);  // manual and completion: of all commands added before

}  // namespace rankfall::cli
