#include "train/batches.h"

#include <algorithm>

namespace rankfall {
namespace {

// To sequence s of a tensor.
void copy(const Matrix<double>& values, std::int64_t s, torch::Tensor& to) {
  std::transform(values.data(), values.data() + values.size(), to.data_ptr<float>() + s * values.size(),
                 [](double value) { return static_cast<float>(value); });
}

}  // namespace

Batch to_batch(const TaskSet& set) {
  Batch out;
  const auto n = static_cast<std::int64_t>(set.samples.size());
  const std::int64_t n_tokens = set.samples.at(0).n_tokens();
  bool is_padded = false;
  torch::Tensor valid = torch::ones({n, n_tokens}, torch::kBool);
  if (std::holds_alternative<TokenIds>(set.samples[0].content)) {
    out.ids = torch::empty({n, n_tokens}, torch::kInt64);
  } else {
    out.features = torch::empty({n, n_tokens, std::get<Features>(set.samples[0].content).values.cols()});
  }
  if (!set.labels.empty()) out.labels = torch::empty({n, n_tokens}, torch::kInt64);
  if (!set.targets.empty()) out.targets = torch::empty({n, n_tokens, set.targets[0].cols()});
  for (std::int64_t s = 0; s < n; ++s) {
    const auto i = static_cast<std::size_t>(s);
    const Sample& sample = set.samples[i];
    if (out.ids.defined()) {
      std::ranges::copy(std::get<TokenIds>(sample.content), out.ids.data_ptr<std::int64_t>() + s * n_tokens);
    } else {
      copy(std::get<Features>(sample.content).values, s, out.features);
    }
    for (std::size_t t = 0; t < sample.valid.size(); ++t) {
      valid[s][static_cast<std::int64_t>(t)] = sample.valid[t] != 0;
      is_padded |= sample.valid[t] == 0;
    }
    if (out.labels.defined()) std::ranges::copy(set.labels[i], out.labels.data_ptr<std::int64_t>() + s * n_tokens);
    if (out.targets.defined()) copy(set.targets[i], s, out.targets);
  }
  if (is_padded) out.valid = valid;
  return out;
}

Batch select(const Batch& all, const torch::Tensor& rows) {
  Batch out;
  const auto take = [&](const torch::Tensor& from, torch::Tensor& to) {
    if (from.defined()) to = from.index_select(0, rows);
  };
  take(all.ids, out.ids);
  take(all.features, out.features);
  take(all.valid, out.valid);
  take(all.labels, out.labels);
  take(all.targets, out.targets);
  return out;
}

void Score::add(double batch_loss, const torch::Tensor& output, const Batch& batch) {
  const auto items = static_cast<double>(output.size(0));
  double weight = items;
  if (batch.labels.defined()) {
    const torch::Tensor is_label = batch.labels.ge(0);
    weight = is_label.sum().item<double>();
    right += output.argmax(-1).eq(batch.labels).logical_and(is_label).sum().item<double>();
    n_labels += weight;
  }
  loss += weight * batch_loss;
  n_items += weight;
}

}  // namespace rankfall
