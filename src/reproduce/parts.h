#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reproduce/reproduce.h"
#include <rankfall/process.h>
#include <rankfall/result.h>

// The figures of the paper, each as something that can be computed by itself.

namespace rankfall {

struct Part {
  std::string name;    // of its files
  std::string figure;  // as ReproduceOptions::only calls it
  std::string title, intro;
  std::string chapter = {};   // the step of the story that it tells
  int place = 0;              // in the report, whose order is that of the story and not that of computing
  std::string settings = {};  // what the result depends on: equal settings, equal result
  double seconds = 1;         // about how long it takes, for the progress line
  bool trains = false;        // needs ReproduceOptions::train
  std::function<Result(const Progress& progress)> compute = {};
};

// In the order in which they are computed best.
std::vector<Part> reproduce_parts(const ReproduceOptions& options);

}  // namespace rankfall
