#pragma once

#include <filesystem>
#include <functional>

#include "train/settings.h"
#include <rankfall/result.h>

namespace rankfall {

// Where a training stands.
struct TrainStatus {
  Index step = 0, n_steps = 0;
  Index epoch = 0;                // complete ones
  double loss = 0, accuracy = 0;  // of the last epoch, or of the steps of this one so far
};

struct TrainOptions {
  bool resume = false;   // go on from what the directory has; otherwise it must have no training
  bool monitor = false;  // residuals, cosines and gradient norms by layer, every epoch
  // After each step; false stops the training, which --resume continues from the last complete epoch.
  std::function<bool(const TrainStatus&)> step;
};

struct Trained {
  bool complete = true;
  Result history;  // by epoch (`step`): loss and accuracy, of kind train and eval, learning_rate; with monitor more
};

// Trains on the calling thread alone and writes to the directory, made if need be:
//   config.json, model.safetensors   the network, for every other command; after each epoch
//   task.safetensors                 the data: input_ids or features, labels or targets, and the same as train.*
//   training.json                    the settings
//   history.json                     the result above; after each epoch
//   state.safetensors                what resuming needs: parameters, moments, epoch, history
// Each file appears whole or not at all; state.safetensors is what counts when they disagree. The result depends on the
// settings only, also when it was stopped and resumed in between.
// Throws Error: kUsage when the directory's training is another one, kInput on files, kNumerical when the loss is no
// number.
Trained run_training(const TrainSettings& settings, const std::filesystem::path& directory,
                     const TrainOptions& options);

}  // namespace rankfall
