#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "io/directory_lock.h"
#include "train/settings.h"
#include "train/task_data.h"
#include <rankfall/model.h>
#include <rankfall/result.h>

namespace rankfall {

// What training leaves between epochs.
struct TrainState {
  Index epoch = 0;      // complete ones
  Index n_updates = 0;  // of the optimiser
  std::vector<float> parameters, first, second;
  Result history;
};

// The files of a training's directory (training.h).
class TrainingFiles {
 public:
  // Makes the directory and keeps others out of it while this lives (Error, kUsage, where one is in).
  explicit TrainingFiles(std::filesystem::path directory);
  TrainingFiles(const TrainingFiles&) = delete;
  TrainingFiles& operator=(const TrainingFiles&) = delete;

  // The settings of the training that is there, if one is.
  std::optional<TrainSettings> settings() const;
  void write_settings(const TrainSettings& settings) const;  // training.json and config.json
  void write_data(const TaskData& data) const;
  // `parameters` of all tensors, one after the other.
  void write_model(const Network& network, std::span<const float> parameters, const Result& history) const;

  std::optional<TrainState> state(const TrainSettings& settings, Index n_parameters) const;
  void write_state(const TrainSettings& settings, const TrainState& state) const;

  const std::filesystem::path& directory() const { return directory_; }

 private:
  std::filesystem::path directory_;
  std::optional<DirectoryLock> lock_;
};

}  // namespace rankfall
