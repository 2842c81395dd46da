#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/settings.h"
#include <rankfall/matrix.h>
#include <rankfall/sample.h>

namespace rankfall {

// Sequences and what is to be said of each of their tokens.
struct TaskSet {
  std::vector<Sample> samples;
  std::vector<std::vector<std::int32_t>> labels;  // of each token; -1: none (padding)
  std::vector<Matrix<double>> targets;            // numbers instead of labels: circle
};

// Sequences that are evaluated at a time.
inline constexpr Index kEvalBatch = 250;

struct TaskData {
  TaskSet train, eval;
  Index n_symbols = 0;  // as in the settings, or more if a text has larger ids
};

// Depends on the settings only (and, for memorize, on the text). Training and evaluation sequences are drawn apart;
// memorize is evaluated on what it learned.
TaskData make_task(const TrainSettings& settings);

// SHA-256 of the token ids of a set.
std::string digest_of(const TaskSet& set);

// The corners of the convex hull of points in the plane (x, y in a row each), by orientation. Points on an edge between
// two corners are none.
std::vector<bool> hull_corners(const Matrix<double>& points);

}  // namespace rankfall
