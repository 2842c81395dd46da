#pragma once

#include <optional>

#include "train/autograd.h"
#include "train/task_data.h"

namespace rankfall {

// A whole set as tensors. Requires samples, all of one length.
Batch to_batch(const TaskSet& set);

// Some of its sequences.
Batch select(const Batch& all, const torch::Tensor& rows);

// Loss and accuracy over many batches, weighted by what they have.
struct Score {
  double loss = 0, right = 0, n_labels = 0, n_items = 0;

  void add(double batch_loss, const torch::Tensor& output, const Batch& batch);
  double mean_loss() const { return n_items > 0 ? loss / n_items : 0; }
  std::optional<double> accuracy() const { return n_labels > 0 ? std::optional(right / n_labels) : std::nullopt; }
};

}  // namespace rankfall
