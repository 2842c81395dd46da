#include "train/training_memory.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/memory.h"
#include "train/task_data.h"
#include <rankfall/model.h>

namespace rankfall {
namespace {

constexpr double kFloat = sizeof(float);

// A sequence as a Sample with labels, and as rows of the tensors of its set.
double sequence_bytes(const TrainSettings& s) {
  constexpr double kSample = 180;  // the structures themselves and what malloc adds
  const double of_ids = 4 + 4 + 8 + 8, of_features = 16 + 8 + 4 + 8;
  return kSample + static_cast<double>(s.n_tokens) * (s.n_symbols > 0 ? of_ids : of_features);
}

double parameter_bytes(const TrainSettings& s) {
  const Network network = network_from_config(network_config(s).dump(), "config.json");
  double n = 0;
  for (const TensorSpec& tensor : network.tensors) {
    double size = 1;
    for (const Index length : tensor.shape) size *= static_cast<double>(length);
    n += size;
  }
  return 6 * n * kFloat;  // drawn, trained, gradient, two moments, and a copy to be saved
}

// Attention matrices of all heads, with their dropout; two of each while the gradient is made.
double attention_bytes(const TrainSettings& s, Index batch) {
  const double n = static_cast<double>(s.n_tokens);
  return 2 * static_cast<double>(batch * s.n_heads) * n * n * kFloat;
}

double step_bytes(const TrainSettings& s) {
  const Index batch = std::min(s.batch, s.n_train);
  const double tokens = static_cast<double>(batch * s.n_tokens);
  const double block = tokens * static_cast<double>(8 * s.width + 2 * s.mlp) * kFloat + attention_bytes(s, batch);
  return block * static_cast<double>(s.n_blocks);
}

}  // namespace

double training_memory(const TrainSettings& s) {
  const bool apart = s.task != "memorize";  // which is evaluated on what it learned
  const double n_sequences = static_cast<double>(s.n_train) + (apart ? static_cast<double>(s.n_eval) : 0);
  const double evaluation = attention_bytes(s, std::min(kEvalBatch, s.n_eval));
  return n_sequences * sequence_bytes(s) + parameter_bytes(s) + std::max(step_bytes(s), evaluation);
}

void check_training_memory(const TrainSettings& s, Index n_at_a_time) {
  check_memory(training_memory(s) * static_cast<double>(n_at_a_time),
               fmt::format("{}training on {} sequences of {} tokens, {} a step,",
                           n_at_a_time > 1 ? fmt::format("{} times ", n_at_a_time) : "", s.n_train, s.n_tokens,
                           std::min(s.batch, s.n_train)),
               "Fewer or shorter sequences (--train, --tokens), a smaller --batch or network, or fewer --threads "
               "fit");
}

}  // namespace rankfall
