#include "studies/effectiveness/effectiveness.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "contract.h"
#include "io/safetensors_writer.h"
#include <rankfall/decompose.h>
#include <rankfall/error.h>
#include <rankfall/forward.h>
#include <rankfall/model.h>
#include <rankfall/report.h>

namespace rankfall {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A random network and sequences whose labels are what it says itself, as a training's directory.
class EffectivenessTest : public testing::Test {
 protected:
  EffectivenessTest() {
    folder_ = fs::temp_directory_path() / ("rankfall_effectiveness_" + std::to_string(getpid()));
    fs::remove_all(folder_);
  }
  ~EffectivenessTest() override { fs::remove_all(folder_); }

  Model make(const std::string& name, std::uint64_t seed, bool with_labels = true,
             const std::string& more = R"("num_attention_heads": 2)") {
    const fs::path place = folder_ / name;
    fs::create_directories(place);
    std::ofstream(place / "config.json") << R"({"model_type": "san", "num_hidden_layers": 3, "hidden_size": 8,
              "vocab_size": 12, "max_position_embeddings": 5, "num_labels": 4, "initializer_range": 0.6,
              "intermediate_size": 6, )" << more
                                         << "}";
    const Model drawn = open_model(place.string() + "@init", seed);
    std::vector<TensorPlan> plan;
    for (const TensorSpec& tensor : drawn.network.tensors) plan.push_back({tensor.name, DType::kF32, tensor.shape});
    SafetensorsWriter weights(place / "model.safetensors", plan);
    for (std::size_t t = 0; t < plan.size(); ++t) {
      const TensorSpec& tensor = drawn.network.tensors[t];
      const TensorData data = drawn.weights->rows(static_cast<int>(t), 0, tensor.matrix_rows());
      weights.write(t, 0,
                    std::span(reinterpret_cast<const float*>(data.bytes.data()), data.bytes.size() / sizeof(float)));
    }
    weights.commit();

    samples_ = random_samples(drawn.network, seed, 6, 5);
    const auto logits =
        apply_head<double>(drawn.network, *drawn.weights, forward<double>(drawn.network, *drawn.weights, samples_, {}));
    std::vector<TensorPlan> arrays = {{"input_ids", DType::kI32, {6, 5}}};
    if (with_labels) {
      arrays.push_back({"labels", DType::kI32, {6, 5}});
      arrays.push_back({"train.labels", DType::kI32, {6, 5}});
    }
    SafetensorsWriter task(place / "task.safetensors", arrays);
    for (std::size_t s = 0; s < samples_.size(); ++s) {
      std::vector<std::int32_t> labels;
      for (Index t = 0; t < 5; ++t) {
        Index best = 0;
        logits[s].row(t).maxCoeff(&best);
        labels.push_back(static_cast<std::int32_t>(best));
      }
      if (s == 2) labels[3] = -1;
      const auto first = static_cast<Index>(5 * s);
      task.write(0, first, std::span<const std::int32_t>(std::get<TokenIds>(samples_[s].content)));
      if (!with_labels) continue;
      task.write(1, first, std::span<const std::int32_t>(labels));
      task.write(2, first, std::span<const std::int32_t>(labels));
    }
    task.commit();
    return open_model(place.string(), 0);
  }

  static double value(const Result& result, const std::string& metric, const std::string& kind,
                      std::optional<Index> length = {}, std::optional<Index> set = {}) {
    for (const Row& row : result.rows) {
      if (row.metric == metric && row.kind == kind && row.length == length && row.k == set && !row.seed) {
        return row.mean.value();
      }
    }
    throw std::runtime_error("no row " + metric + " " + kind);
  }

  fs::path folder_;
  std::vector<Sample> samples_;
};

TEST_F(EffectivenessTest, AllPathsUpToTheLongestAreTheNetwork) {
  make("a", 1);
  const std::vector<std::string> directories = {(folder_ / "a").string()};
  const Result result = effectiveness(directories, {});
  EXPECT_EQ(value(result, "accuracy", "model"), 1);
  EXPECT_EQ(value(result, "accuracy", "cumulative", 3), 1);
  EXPECT_NEAR(value(result, "loss", "cumulative", 3), value(result, "loss", "model"), 1e-12);
  EXPECT_NEAR(value(result, "loss", "cumulative", 0), value(result, "loss", "exact", 0), 1e-15);
  EXPECT_GT(value(result, "accuracy", "baseline.position"), 0.2);
  EXPECT_LE(value(result, "accuracy", "baseline.majority"), value(result, "accuracy", "baseline.position"));
  EXPECT_GT(value(result, "accuracy", "ceiling.without_positions"), 0.5);
  const std::string table = to_table(result);
  EXPECT_THAT(table, HasSubstr("re-run 20"));
  EXPECT_THAT(table, HasSubstr("whole network  1.00 (1 training)"));
}

// Computed here without the shared pieces: paths of length 0 are the embedding alone; of length 3 one set of one path.
TEST_F(EffectivenessTest, SetsAreSummedNormalisedAndClassified) {
  const Model model = make("a", 2);
  EffectivenessOptions options;
  options.set_sizes = {1};
  options.n_draws = 1;
  const std::vector<std::string> directories = {(folder_ / "a").string()};
  const Result result = effectiveness(directories, options);
  Network none = model.network;
  none.layers.clear();
  none.sizes.n_blocks = 0;
  auto states = forward<double>(none, *model.weights, samples_, {});
  for (auto& x : states) {
    for (Index i = 0; i < x.rows(); ++i) {
      const double mean = x.row(i).mean();
      x.row(i).array() -= mean;
      x.row(i) /= std::sqrt(x.row(i).squaredNorm() / static_cast<double>(x.cols()) + 1e-12);
    }
  }
  const auto truth =
      apply_head<double>(model.network, *model.weights, forward<double>(model.network, *model.weights, samples_, {}));
  const auto logits = apply_head<double>(model.network, *model.weights, states);
  double right = 0;
  double loss = 0;
  double n = 0;
  for (std::size_t s = 0; s < samples_.size(); ++s) {
    for (Index t = 0; t < 5; ++t) {
      if (s == 2 && t == 3) continue;
      Index label = 0;
      Index best = 0;
      truth[s].row(t).maxCoeff(&label);
      logits[s].row(t).maxCoeff(&best);
      right += best == label ? 1 : 0;
      loss -= std::log(std::exp(logits[s](t, label)) / logits[s].row(t).array().exp().sum());
      n += 1;
    }
  }
  EXPECT_EQ(value(result, "accuracy", "rerun", 0, 1), right / n);
  EXPECT_NEAR(value(result, "loss", "rerun", 0, 1), loss / n, 1e-12);
}

// Where nothing lies on the skips, the frozen path of length 0 is the embedding, too.
TEST_F(EffectivenessTest, FrozenAndReRunAgreeWhereNothingIsFrozen) {
  make("a", 2, true, R"("num_attention_heads": 2, "norm": "none")");
  const std::vector<std::string> directories = {(folder_ / "a").string()};
  const Result result = effectiveness(directories, {});
  EXPECT_NEAR(value(result, "loss", "frozen", 0, 5), value(result, "loss", "rerun", 0, 5), 1e-12);
  EXPECT_GT(std::abs(value(result, "loss", "frozen", 2, 5) - value(result, "loss", "rerun", 2, 5)), 1e-6);
}

TEST_F(EffectivenessTest, OverSeveralTrainings) {
  make("all/seed-0", 1);
  make("all/seed-1", 2);
  make("all/seed-10", 3);
  EffectivenessOptions options;
  options.set_sizes = {2};
  options.n_draws = 3;
  const std::vector<std::string> directories = {(folder_ / "all").string()};
  const Result result = effectiveness(directories, options);
  expect_contract(result);
  double sum = 0;
  Index n = 0;
  for (const Row& row : result.rows) {
    if (row.metric != "accuracy" || row.kind != "rerun" || row.length != 2 || row.k != 2) continue;
    if (row.seed) {
      sum += row.mean.value();
      EXPECT_EQ(row.n, 3);
    } else {
      EXPECT_NEAR(row.mean.value(), sum / 3, 1e-15);
      EXPECT_EQ(row.n, 3);
    }
    ++n;
  }
  EXPECT_EQ(n, 4);
  const Result again = effectiveness(directories, options);
  EXPECT_EQ(to_json(again), to_json(result));
}

TEST_F(EffectivenessTest, RefusesOtherDirectories) {
  const auto refused = [](const fs::path& directory, ErrorKind kind) {
    const std::vector<std::string> directories = {directory.string()};
    try {
      effectiveness(directories, {});
      ADD_FAILURE() << directory;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
    }
  };
  refused(folder_ / "nothing", ErrorKind::kInput);
  make("unlabelled", 1, false);
  refused(folder_ / "unlabelled", ErrorKind::kUsage);
  make("mixed/seed-0", 1);
  make("mixed/seed-1", 1, true, R"("num_attention_heads": 4)");
  refused(folder_ / "mixed", ErrorKind::kUsage);
  make("broken", 1);
  fs::resize_file(folder_ / "broken/task.safetensors", 50);
  refused(folder_ / "broken", ErrorKind::kInput);
}

}  // namespace
}  // namespace rankfall
