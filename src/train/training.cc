#include "train/training.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/random.h"
#include "linalg/norms.h"
#include "result/manifest.h"
#include "result/statistics.h"
#include "train/autograd.h"
#include "train/batches.h"
#include "train/optimiser.h"
#include "train/training_files.h"

namespace rankfall {
namespace {

class Training {
 public:
  Training(const TrainSettings& settings, const std::filesystem::path& directory, const TrainOptions& options)
      : settings_(settings),
        options_(options),
        files_(directory),
        data_(make_task(settings)),
        network_(network_from_config(network_config(settings).dump(), "config.json")),
        parameters_(network_, *draw_weights(network_.tensors, settings.seed)),
        optimiser_(settings, with_gradient(parameters_)),
        train_(to_batch(data_.train)),
        eval_(to_batch(data_.eval)),
        n_train_(static_cast<Index>(data_.train.samples.size())),
        steps_per_epoch_((n_train_ + settings.batch - 1) / settings.batch) {
    status_.n_steps = settings.n_epochs * steps_per_epoch_;
    add(history_.manifest, "torch", std::string(TORCH_VERSION));
    add(history_.manifest, "settings", to_json(settings).dump());
  }

  Trained run() {
    begin();
    for (; status_.epoch < settings_.n_epochs; ++status_.epoch) {
      if (!epoch()) return {false, history_};
    }
    return {true, history_};
  }

 private:
  static torch::Tensor with_gradient(const Parameters& parameters) {
    torch::Tensor flat = parameters.flat();
    flat.mutable_grad() = parameters.gradient();
    return flat;
  }

  void begin() {
    const auto there = files_.settings();
    if (there && !options_.resume) {
      throw usage_error("{}: has a training already; --resume continues it", files_.directory().string());
    }
    if (there && *there != settings_) {
      throw usage_error(
          "{}: has a training with other settings ({}); give the same, or another "
          "directory",
          files_.directory().string(), differences(*there, settings_));
    }
    // Also when resuming: whatever is missing or was changed is as it should be again.
    files_.write_settings(settings_);
    files_.write_data(data_);
    const auto state = there ? files_.state(settings_, parameters_.flat().numel()) : std::nullopt;
    if (!state) {
      evaluate();  // before the first step
      return;
    }
    if (state->epoch > settings_.n_epochs) {
      throw input_error("{}: a state after {} epochs of {}", files_.directory().string(), state->epoch,
                        settings_.n_epochs);
    }
    std::ranges::copy(state->parameters, parameters_.flat().data_ptr<float>());
    optimiser_.load(*state);
    status_.epoch = state->epoch;
    status_.step = state->epoch * steps_per_epoch_;
    history_.rows = state->history.rows;
    files_.write_model(network_, state->parameters, history_);
  }

  std::vector<std::int64_t> order() const {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(n_train_));
    std::iota(rows.begin(), rows.end(), 0);
    if (!settings_.shuffle) return rows;
    std::vector<std::uint32_t> keys(rows.size());
    fill_bits(random_key(settings_.seed, fmt::format("order {}", status_.epoch)), 0, keys);
    std::ranges::stable_sort(rows, {}, [&](std::int64_t row) { return keys[static_cast<std::size_t>(row)]; });
    return rows;
  }

  bool epoch() {
    const std::vector<std::int64_t> rows = order();
    // Drawn anew for each epoch, from its number: resuming needs no generator's state.
    const auto generator = at::make_generator<at::CPUGeneratorImpl>(
        random_key(settings_.seed, fmt::format("dropout {}", status_.epoch)).value);
    Autograd domain(parameters_, settings_.dropout, generator);
    Score score;
    for (Index first = 0; first < n_train_; first += settings_.batch) {
      const Index count = std::min(settings_.batch, n_train_ - first);
      const torch::Tensor which =
          torch::from_blob(const_cast<std::int64_t*>(rows.data() + first), {count}, torch::kInt64);
      step(domain, select(train_, which), score);
      status_.loss = score.mean_loss();
      status_.accuracy = score.accuracy().value_or(0);
      ++status_.step;
      if (options_.step && !options_.step(status_)) return false;
    }
    finish_epoch(score);
    return true;
  }

  void step(Autograd& domain, const Batch& batch, Score& score) {
    const torch::Tensor output = domain.forward(network_, batch);
    const torch::Tensor loss = loss_of(output, batch);
    const double value = loss.item<double>();
    if (!std::isfinite(value)) {
      throw numerical_error("loss is {} at step {} (epoch {}); a smaller learning rate may help", value, status_.step,
                            status_.epoch);
    }
    score.add(value, output.detach(), batch);
    parameters_.gradient().zero_();
    loss.backward();
    const torch::NoGradGuard no_gradient;
    if (settings_.as_published && settings_.task == "sort") forget_digit_zero();
    if (options_.monitor) watch_gradients();
    if (settings_.clip > 0) {
      const double norm = parameters_.gradient().norm().item<double>();
      if (norm > settings_.clip) parameters_.gradient().mul_(settings_.clip / norm);
    }
    optimiser_.step(learning_rate(settings_, status_.step, steps_per_epoch_));
  }

  void forget_digit_zero() {
    parameters_.gradient_of(std::get<TokenInput>(network_.input.source).words.tensor)[0].zero_();
  }

  void watch_gradients() {
    for (const SubLayer& layer : network_.layers) {
      const Attention* a = layer.attention();
      if (!a) continue;
      for (const auto& [name, f] : {std::pair("gradient.q", &a->q), {"gradient.k", &a->k}, {"gradient.v", &a->v}}) {
        gradients_[{name, layer.block}].add(parameters_.gradient_of(f->w.tensor).norm().item<double>());
      }
    }
  }

  Row& row(std::string metric, std::string kind, Index epoch) {
    Row& out = history_.rows.emplace_back();
    out.model = settings_.task;
    out.metric = std::move(metric);
    out.kind = std::move(kind);
    out.step = epoch;
    out.seed = settings_.seed;
    return out;
  }

  void add_score(const Score& score, const char* kind, Index epoch) {
    row("loss", kind, epoch).mean = score.mean_loss();
    if (const auto accuracy = score.accuracy()) row("accuracy", kind, epoch).mean = accuracy;
  }

  void finish_epoch(const Score& score) {
    const Index done = status_.epoch + 1;
    add_score(score, "train", done);
    row("learning_rate", "train", done).mean = learning_rate(settings_, status_.step - 1, steps_per_epoch_);
    // What is evaluated on its training data costs a third of an epoch: not every time.
    const Index every = settings_.task == "memorize" ? std::max<Index>(1, settings_.n_epochs / 10) : 1;
    if (done % every == 0 || done == settings_.n_epochs) evaluate(done);
    if (options_.monitor) monitor(done);
    TrainState state;
    state.epoch = done;
    const float* values = parameters_.flat().data_ptr<float>();
    state.parameters.assign(values, values + parameters_.flat().numel());
    optimiser_.save(state);
    state.history = history_;
    files_.write_state(settings_, state);
    files_.write_model(network_, state.parameters, history_);
  }

  void evaluate(Index epoch = 0) {
    const torch::NoGradGuard no_gradient;
    Autograd domain(parameters_, 0, {});
    Score score;
    const auto n = static_cast<std::int64_t>(data_.eval.samples.size());
    for (std::int64_t first = 0; first < n; first += kEvalBatch) {
      const Batch batch = select(eval_, torch::arange(first, std::min<std::int64_t>(n, first + kEvalBatch)));
      const torch::Tensor output = domain.forward(network_, batch);
      score.add(loss_of(output, batch).item<double>(), output, batch);
    }
    add_score(score, "eval", epoch);
  }

  // Of the first evaluation sequences: how alike their tokens are, by hidden state.
  void monitor(Index epoch) {
    const torch::NoGradGuard no_gradient;
    Autograd domain(parameters_, 0, {});
    const auto n = std::min<std::int64_t>(32, static_cast<std::int64_t>(data_.eval.samples.size()));
    std::vector<torch::Tensor> states;
    domain.forward(network_, select(eval_, torch::arange(n)), &states);
    for (std::size_t l = 0; l < states.size(); ++l) {
      Statistics residual;
      Statistics cosine;
      for (std::int64_t s = 0; s < n; ++s) {
        const Matrix<float> x = to_matrix(states[l][s]);
        const auto& valid = data_.eval.samples[static_cast<std::size_t>(s)].valid;
        const CentredNorms norms = centred_norms<float>(x, valid);
        residual.add(norms.residual.composite() / norms.state.composite());
        cosine.add(cosines<float>(x, valid).mean);
      }
      for (const auto& [name, values] :
           {std::pair("relative_residual.composite", &residual), {"cosine.mean", &cosine}}) {
        Row& out = row(name, "eval", epoch);
        out.layer = static_cast<Index>(l);
        set(out, *values);
      }
    }
    for (const auto& [key, values] : gradients_) {
      Row& out = row(key.first, "train", epoch);
      out.layer = key.second;
      set(out, values);
    }
    gradients_.clear();
  }

  TrainSettings settings_;
  const TrainOptions& options_;
  TrainingFiles files_;
  TaskData data_;
  Network network_;
  Parameters parameters_;
  Optimiser optimiser_;
  Batch train_, eval_;
  Index n_train_, steps_per_epoch_;
  TrainStatus status_;
  Result history_{"train", base_manifest(), {}};
  std::map<std::pair<std::string, Index>, Statistics> gradients_;
};

}  // namespace

Trained run_training(const TrainSettings& settings, const std::filesystem::path& directory,
                     const TrainOptions& options) {
  at::set_num_threads(1);  // of this thread
  try {
    return Training(settings, directory, options).run();
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    if (text.find("allocate memory") != std::string::npos) throw std::bad_alloc();
    throw std::runtime_error("libtorch: " + text);
  }
}

}  // namespace rankfall
