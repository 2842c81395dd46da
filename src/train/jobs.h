#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/training.h"
#include <rankfall/process.h>

namespace rankfall {

struct TrainJob {
  TrainSettings settings;
  std::filesystem::path directory;
  std::string name;  // for progress
};

struct JobOptions {
  bool resume = false, monitor = false;
  Index n_threads = 1;  // trainings at a time
  Progress progress;    // called from the calling thread
};

// All trainings, several at a time, each on one thread: what comes out does not depend on how many. SIGINT and SIGTERM
// stop all of them cleanly: then those without `complete` are to be resumed. A job that fails does
// not stop the others; the first error, with the job's name, is rethrown at the end.
std::vector<Trained> run_jobs(const std::vector<TrainJob>& jobs, const JobOptions& options);

}  // namespace rankfall
