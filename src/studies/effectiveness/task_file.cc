#include "studies/effectiveness/task_file.h"

#include <algorithm>

#include "base/errors.h"
#include "io/array_file.h"
#include "io/dtype.h"

namespace rankfall {
namespace {

// Labels from -1 to n_labels - 1.
std::vector<std::vector<std::int32_t>> labels_of(const ArrayFile& file, const char* name, Index n_labels) {
  std::vector<std::vector<std::int32_t>> out;
  const SampleArrays arrays = file.samples_if_present(name, 1);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Array array = arrays[i];
    if (!is_integer(array.dtype)) {
      throw input_error("{}: '{}' of type {}, expected whole numbers", file.where(), name, dtype_name(array.dtype));
    }
    auto& labels = out.emplace_back();
    for (const std::int64_t label : read_integers(array.dtype, array.bytes)) {
      if (label < -1 || label >= n_labels) {
        throw input_error("{}: '{}' has {}, expected -1 to {}", file.where(), name, label, n_labels - 1);
      }
      labels.push_back(static_cast<std::int32_t>(label));
    }
  }
  return out;
}

}  // namespace

TaskFile read_task(const Model& model) {
  if (!model.network.head) throw usage_error("{}: has no task head; expected what rankfall train writes", model.name);
  const auto path = std::filesystem::path(model.directory) / "task.safetensors";
  const ArrayFile file(path);
  TaskFile task;
  task.labels = labels_of(file, "labels", model.network.head->n_out());
  task.train_labels = labels_of(file, "train.labels", model.network.head->n_out());
  if (task.labels.empty()) {
    throw usage_error("{}: no 'labels': this task has no right and wrong answers", path.string());
  }
  InputOptions input;
  (std::holds_alternative<TokenInput>(model.network.input.source) ? input.ids : input.features) = path.string();
  task.samples = open_inputs(model.network, input, 0).samples;
  if (task.samples.size() != task.labels.size()) {
    throw input_error("{}: {} sequences, but labels of {}", path.string(), task.samples.size(), task.labels.size());
  }
  for (std::size_t s = 0; s < task.samples.size(); ++s) {
    const Sample& sample = task.samples[s];
    auto& labels = task.labels[s];
    if (std::ssize(labels) != sample.n_tokens()) {
      throw input_error("{}: sequence {} has {} tokens and {} labels", path.string(), s, sample.n_tokens(),
                        labels.size());
    }
    for (std::size_t t = 0; t < sample.valid.size(); ++t) {
      if (sample.valid[t] == 0) labels[t] = -1;
    }
  }
  const bool any = std::ranges::any_of(task.labels, [](const auto& labels) {
    return std::ranges::any_of(labels, [](auto label) { return label >= 0; });
  });
  if (!any) throw input_error("{}: no token has a label", path.string());
  return task;
}

}  // namespace rankfall
