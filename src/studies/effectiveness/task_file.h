#pragma once

#include <cstdint>
#include <vector>

#include <rankfall/model.h>
#include <rankfall/sample.h>

namespace rankfall {

// task.safetensors of a training (docs/formats.md): evaluation sequences, and the labels of training.
struct TaskFile {
  std::vector<Sample> samples;
  std::vector<std::vector<std::int32_t>> labels;        // of each token; -1: none
  std::vector<std::vector<std::int32_t>> train_labels;  // may be empty
};

// Of a model's directory. Throws Error(kInput) on what does not fit the network, kUsage when there are no labels.
TaskFile read_task(const Model& model);

}  // namespace rankfall
