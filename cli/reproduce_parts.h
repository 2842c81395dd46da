#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <rankfall/matrix.h>
#include <rankfall/progress.h>
#include <rankfall/result.h>

// The figures of the paper, each as something that can be computed by itself.

namespace rankfall::cli {

struct ReproduceOptions {
  std::filesystem::path directory;
  bool full = false;                // paper scale and ten seeds; otherwise sizes for a first look
  std::vector<std::string> only;    // names of figures; empty: all
  std::string bert, albert, xlnet;  // directories of trained checkpoints; empty: none
  std::string text;                 // for these
  std::uint64_t seed = 0;
};

struct Part {
  std::string name;    // of its files
  std::string figure;  // as --only calls it
  std::string title, intro;
  std::string settings;  // what the result depends on: equal settings, equal result
  double seconds = 1;    // about how long it takes, for the progress line
  bool trains = false;   // needs rankfall-train
  std::function<Result(const Progress& progress)> compute;
};

// In the order of the report.
std::vector<Part> reproduce_parts(const ReproduceOptions& options);

}  // namespace rankfall::cli
