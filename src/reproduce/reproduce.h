#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/index.h>
#include <rankfall/process.h>
#include <rankfall/result.h>

// The figures of the paper as one report, in a directory: results/NAME.json and .csv, training/, report.html.

namespace rankfall {

// A training that a figure needs.
struct TrainingRun {
  std::string task;                 // sort, hull, memorize, or circle: the recurrence of Figure 3
  std::filesystem::path directory;  // where its network goes; of several seeds each has a directory in it
  std::uint64_t seed = 0;
  Index n_seeds = 1;
  bool quick = false;
};

struct ReproduceOptions {
  std::filesystem::path directory;
  bool full = false;                // paper scale and ten seeds; otherwise sizes for a first look
  std::vector<std::string> only;    // some of reproduced_figures(); empty: all
  std::string bert, albert, xlnet;  // directories of trained checkpoints; empty: none
  std::string text;                 // for these
  std::uint64_t seed = 0;
  bool again = false;            // parts that an earlier call finished are computed again
  std::filesystem::path charts;  // a folder for each chart by itself, as Vega-Lite; empty: none
  std::string date, command;     // for the page; empty: not shown

  // Trains a network, unless it is there already; libtorch is no part of this library. Calls `waiting` now and then
  // with the seconds gone. Empty: parts that need it are skipped.
  std::function<void(const TrainingRun& run, const std::function<void(double seconds)>& waiting)> train;
  std::string no_training;  // why there is none
  Progress progress;
  std::function<void(std::string_view line)> report;  // what became of each part
};

struct Reproduction {
  Result agreement;  // with the published numbers
  std::filesystem::path page;
  std::string broken;  // proved bounds and recorded verdicts that do not hold, in words; empty: none
};

// Names of figures, in the order of the report.
RANKFALL_API std::vector<std::string> reproduced_figures();

// Computes what is missing, keeps each part as it is finished, and makes the page of all. Throws Error: kUsage on
// unknown figures, or while another process does the same in this directory.
RANKFALL_API Reproduction reproduce(const ReproduceOptions& options);

}  // namespace rankfall
