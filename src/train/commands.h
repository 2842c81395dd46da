#pragma once

#include <vector>

#include <CLI/CLI.hpp>

#include "train/jobs.h"

namespace rankfall::train {

constexpr int kStopped = 130;  // exit code after SIGINT or SIGTERM

// --resume, --monitor, --threads, --quiet.
struct RunOptions {
  bool resume = false, monitor = false, quiet = false;
  Index n_threads = 0;
};
void add_run_options(CLI::App& app, RunOptions& options);

// run_jobs with a progress line. When stopped it says so and throws CLI::RuntimeError(kStopped).
std::vector<Trained> run_all(const std::vector<TrainJob>& jobs, const RunOptions& options);

void add_train_command(CLI::App& app);
void add_circle_command(CLI::App& app);

}  // namespace rankfall::train
