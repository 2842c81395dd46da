#include "train/training_files.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/parse_number.h"
#include "io/atomic_file.h"
#include "io/dtype.h"
#include "io/json_file.h"
#include "io/safetensors.h"
#include "io/safetensors_writer.h"
#include <rankfall/report.h>

namespace rankfall {
namespace {

constexpr const char* kSettings = "training.json";
constexpr const char* kState = "state.safetensors";

// A set of sequences as arrays: [samples, tokens] of ids, or [samples, tokens, n] of features; -1 where there is no
// label. `prefix` is of the names.
class SetWriter {
 public:
  SetWriter(const TaskSet& set, std::string prefix) : set_(set), prefix_(std::move(prefix)) {}

  void plan(std::vector<TensorPlan>& tensors) const {
    const Index n = static_cast<Index>(set_.samples.size());
    const Index n_tokens = n > 0 ? set_.samples[0].n_tokens() : 0;
    const auto add = [&](const char* name, DType dtype, std::vector<Index> shape) {
      tensors.push_back({prefix_ + name, dtype, std::move(shape)});
    };
    if (has_ids()) {
      add("input_ids", DType::kI32, {n, n_tokens});
      add("attention_mask", DType::kI32, {n, n_tokens});
    } else {
      add("features", DType::kF64, {n, n_tokens, std::get<Features>(set_.samples[0].content).values.cols()});
    }
    if (!set_.labels.empty()) add("labels", DType::kI32, {n, n_tokens});
    if (!set_.targets.empty()) add("targets", DType::kF64, {n, n_tokens, set_.targets[0].cols()});
  }

  void write(SafetensorsWriter& out, std::size_t& tensor) const {
    const auto each = [&](const auto& values_of) {
      Index first = 0;
      for (std::size_t s = 0; s < set_.samples.size(); ++s) {
        const auto values = values_of(s);
        out.write(tensor, first, std::span(values));
        first += static_cast<Index>(values.size());
      }
      ++tensor;
    };
    if (has_ids()) {
      each([&](std::size_t s) { return std::get<TokenIds>(set_.samples[s].content); });
      each([&](std::size_t s) {
        const Sample& sample = set_.samples[s];
        std::vector<std::int32_t> mask(static_cast<std::size_t>(sample.n_tokens()), 1);
        std::ranges::copy(sample.valid, mask.begin());
        return mask;
      });
    } else {
      each([&](std::size_t s) { return row_major(std::get<Features>(set_.samples[s].content).values); });
    }
    if (!set_.labels.empty()) each([&](std::size_t s) { return set_.labels[s]; });
    if (!set_.targets.empty()) each([&](std::size_t s) { return row_major(set_.targets[s]); });
  }

 private:
  bool has_ids() const { return !set_.samples.empty() && std::holds_alternative<TokenIds>(set_.samples[0].content); }
  static std::vector<double> row_major(const Matrix<double>& m) {
    static_assert(Matrix<double>::IsRowMajor);
    return {m.data(), m.data() + m.size()};
  }

  const TaskSet& set_;
  std::string prefix_;
};

Index index_of(const std::map<std::string, std::string>& metadata, const std::string& key, std::string_view where) {
  const auto found = metadata.find(key);
  const Index value = found == metadata.end() ? -1 : parse_number<Index>(found->second).value_or(-1);
  if (value < 0) throw input_error("{}: no number '{}' in its description", where, key);
  return value;
}

}  // namespace

TrainingFiles::TrainingFiles(std::filesystem::path directory) : directory_(std::move(directory)) {
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error) throw input_error("{}: cannot make this directory: {}", directory_.string(), error.message());
  lock_.emplace(directory_);
  if (lock_->held_by_another()) {
    throw usage_error("{}: another training is writing to this directory", directory_.string());
  }
  for (const char* name : {kSettings, kState, "config.json", "model.safetensors", "task.safetensors", "history.json"}) {
    remove_leftovers(directory_ / name);
  }
}

std::optional<TrainSettings> TrainingFiles::settings() const {
  const auto file = directory_ / kSettings;
  if (!is_there(file)) {
    // Somebody else's model is not overwritten.
    for (const char* other : {"config.json", "model.safetensors"}) {
      if (is_there(directory_ / other)) {
        throw usage_error("{}: has a {} but no {}: not a directory of rankfall train; choose another",
                          directory_.string(), other, kSettings);
      }
    }
    return {};
  }
  return settings_from_json(read_json_file(file), file.string());
}

void TrainingFiles::write_settings(const TrainSettings& settings) const {
  // The settings first: a directory with a config.json alone is somebody else's.
  write_file_atomically(without_link(directory_ / kSettings), to_json(settings).dump(2) + '\n');
  write_file_atomically(without_link(directory_ / "config.json"), network_config(settings).dump(2) + '\n');
}

void TrainingFiles::write_data(const TaskData& data) const {
  const SetWriter eval(data.eval, "");
  const SetWriter train(data.train, "train.");
  std::vector<TensorPlan> plan;
  eval.plan(plan);
  train.plan(plan);
  SafetensorsWriter out(without_link(directory_ / "task.safetensors"), plan);
  std::size_t tensor = 0;
  eval.write(out, tensor);
  train.write(out, tensor);
  out.commit();
}

void TrainingFiles::write_model(const Network& network, std::span<const float> parameters,
                                const Result& history) const {
  std::vector<TensorPlan> plan;
  for (const TensorSpec& spec : network.tensors) plan.push_back({spec.name, DType::kF32, spec.shape});
  SafetensorsWriter out(without_link(directory_ / "model.safetensors"), plan);
  std::size_t first = 0;
  for (std::size_t t = 0; t < network.tensors.size(); ++t) {
    const auto count = static_cast<std::size_t>(network.tensors[t].matrix_rows() * network.tensors[t].matrix_cols());
    out.write(t, 0, parameters.subspan(first, count));
    first += count;
  }
  out.commit();
  write_file_atomically(without_link(directory_ / "history.json"), to_json(history));
}

std::optional<TrainState> TrainingFiles::state(const TrainSettings& settings, Index n_parameters) const {
  const auto file = directory_ / kState;
  if (!is_there(file)) return {};
  const auto stored = SafetensorsFile::open(file);
  const auto& metadata = stored->metadata();
  const auto of = metadata.find("settings");
  if (of == metadata.end() || of->second != to_json(settings).dump()) {
    throw input_error("{}: not of the training that {} describes", file.string(), kSettings);
  }
  TrainState state;
  state.epoch = index_of(metadata, "epoch", file.string());
  state.n_updates = index_of(metadata, "n_updates", file.string());
  const auto read = [&](const char* name, std::vector<float>& values) {
    const TensorInfo& tensor = stored->at(name);
    if (tensor.dtype != DType::kF32 || tensor.size() != n_parameters) {
      throw input_error("{}: '{}' has {} numbers, expected {} of type F32", file.string(), name, tensor.size(),
                        n_parameters);
    }
    values.resize(static_cast<std::size_t>(n_parameters));
    widen<float>(tensor.dtype, tensor.bytes, values);
    if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
      throw input_error("{}: '{}' has numbers that are not finite", file.string(), name);
    }
  };
  read("parameters", state.parameters);
  read("first_moment", state.first);
  read("second_moment", state.second);
  const auto history = metadata.find("history");
  if (history == metadata.end()) throw input_error("{}: no 'history'", file.string());
  state.history = from_json(history->second, file.string());
  return state;
}

void TrainingFiles::write_state(const TrainSettings& settings, const TrainState& state) const {
  const auto n = static_cast<Index>(state.parameters.size());
  SafetensorsWriter out(
      without_link(directory_ / kState),
      {{"parameters", DType::kF32, {n}}, {"first_moment", DType::kF32, {n}}, {"second_moment", DType::kF32, {n}}},
      {{"settings", to_json(settings).dump()},
       {"epoch", std::to_string(state.epoch)},
       {"n_updates", std::to_string(state.n_updates)},
       {"history", to_json(state.history)}});
  out.write(0, 0, std::span<const float>(state.parameters));
  out.write(1, 0, std::span<const float>(state.first));
  out.write(2, 0, std::span<const float>(state.second));
  out.commit();
}

}  // namespace rankfall
