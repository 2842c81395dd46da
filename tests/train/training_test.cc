#include "train/training.h"

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "contract.h"
#include "io/safetensors.h"
#include "train/jobs.h"
#include "train/training_files.h"
#include <rankfall/error.h>
#include <rankfall/forward.h>
#include <rankfall/model.h>

namespace rankfall {
namespace {

namespace fs = std::filesystem;

class TrainingTest : public testing::Test {
 protected:
  TrainingTest() {
    folder_ = fs::temp_directory_path() / ("rankfall_training_" + std::to_string(getpid()));
    fs::remove_all(folder_);
  }
  ~TrainingTest() override { fs::remove_all(folder_); }

  static TrainSettings small(const std::string& task = "sort") {
    TrainSettings s = default_settings(task, true);
    s.n_train = 70;
    s.n_eval = 20;
    s.n_blocks = 2;
    s.n_heads = 2;
    s.width = 8;
    s.n_epochs = 4;
    s.batch = 16;
    if (task == "circle") s.n_blocks = 1;
    if (task == "memorize") s.n_eval = 70;
    return s;
  }
  static std::string bytes(const fs::path& file) {
    std::ostringstream out;
    out << std::ifstream(file, std::ios::binary).rdbuf();
    return out.str();
  }
  static std::optional<double> last(const Result& history, std::string_view metric, std::string_view kind) {
    std::optional<double> value;
    for (const Row& row : history.rows) {
      if (row.metric == metric && row.kind == kind) value = row.mean;
    }
    return value;
  }

  fs::path folder_;
};

TEST_F(TrainingTest, LearnsAndIsReadByTheEngine) {
  for (const std::string& task : task_names()) {
    TrainSettings s = small(task);
    s.n_epochs = 12;
    s.learning_rate = 1e-2;
    const Trained trained = run_training(s, folder_ / task, {});
    EXPECT_TRUE(trained.complete);
    double first = NAN;
    for (const Row& row : trained.history.rows) {
      if (row.metric == "loss" && row.kind == "eval" && std::isnan(first)) first = row.mean.value();
    }
    EXPECT_LT(last(trained.history, "loss", "train").value(), 0.98 * first) << task;
    const Model model = open_model((folder_ / task).string(), 0);
    EXPECT_EQ(model.network.sizes.d_model, 8);
    for (const char* file : {"training.json", "history.json", "task.safetensors", "state.safetensors"}) {
      EXPECT_TRUE(fs::exists(folder_ / task / file)) << file;
    }
  }
}

TEST_F(TrainingTest, EqualSettingsGiveEqualModels) {
  run_training(small(), folder_ / "a", {});
  run_training(small(), folder_ / "b", {});
  EXPECT_EQ(bytes(folder_ / "a/model.safetensors"), bytes(folder_ / "b/model.safetensors"));
  TrainSettings other = small();
  other.seed = 1;
  run_training(other, folder_ / "c", {});
  EXPECT_NE(bytes(folder_ / "a/model.safetensors"), bytes(folder_ / "c/model.safetensors"));
}

// Stopped anywhere and resumed, it ends at the same bits; also with Adam and without dropout.
TEST_F(TrainingTest, ResumesToTheIdenticalResult) {
  for (const bool adam : {false, true}) {
    TrainSettings s = small();
    if (adam) s.optimiser = "adam";
    const fs::path whole = folder_ / (adam ? "adam" : "adamw");
    run_training(s, whole, {.resume = false, .monitor = true, .step = {}});
    for (const Index stop : {1, 7, 13}) {  // five steps an epoch
      const fs::path parts = whole.string() + "_" + std::to_string(stop);
      const Trained half = run_training(
          s, parts, {.resume = false, .monitor = true, .step = [&](const TrainStatus& at) { return at.step < stop; }});
      EXPECT_FALSE(half.complete);
      const Trained rest = run_training(s, parts, {.resume = true, .monitor = true, .step = {}});
      EXPECT_TRUE(rest.complete);
      expect_contract(rest.history);
      EXPECT_EQ(bytes(whole / "model.safetensors"), bytes(parts / "model.safetensors")) << stop;
      EXPECT_EQ(bytes(whole / "state.safetensors"), bytes(parts / "state.safetensors")) << stop;
      EXPECT_EQ(bytes(whole / "history.json"), bytes(parts / "history.json")) << stop;
    }
  }
}

TEST_F(TrainingTest, RefusesOtherDirectories) {
  run_training(small(), folder_ / "a", {});
  EXPECT_THROW(run_training(small(), folder_ / "a", {}), Error);
  TrainSettings other = small();
  other.learning_rate = 0.5;
  EXPECT_THROW(run_training(other, folder_ / "a", {.resume = true, .monitor = false, .step = {}}), Error);
  fs::create_directories(folder_ / "b");
  std::ofstream(folder_ / "b/config.json") << "{}";
  EXPECT_THROW(run_training(small(), folder_ / "b", {.resume = true, .monitor = false, .step = {}}), Error);
  EXPECT_EQ(bytes(folder_ / "b/config.json"), "{}");
  {
    const TrainingFiles inside(folder_ / "a");
    EXPECT_THROW(run_training(small(), folder_ / "a", {.resume = true, .monitor = false, .step = {}}), Error);
  }
  // A state that is broken is said, not used.
  fs::resize_file(folder_ / "a/state.safetensors", 100);
  EXPECT_THROW(run_training(small(), folder_ / "a", {.resume = true, .monitor = false, .step = {}}), Error);
}

// What was lost or changed beside the state is there again.
TEST_F(TrainingTest, ResumingMendsTheDirectory) {
  run_training(small(), folder_ / "a", {});
  const std::string config = bytes(folder_ / "a/config.json");
  const std::string task = bytes(folder_ / "a/task.safetensors");
  const std::string model = bytes(folder_ / "a/model.safetensors");
  std::ofstream(folder_ / "a/config.json") << "{}";
  fs::remove(folder_ / "a/task.safetensors");
  fs::resize_file(folder_ / "a/model.safetensors", 10);
  run_training(small(), folder_ / "a", {.resume = true, .monitor = false, .step = {}});
  EXPECT_EQ(bytes(folder_ / "a/config.json"), config);
  EXPECT_EQ(bytes(folder_ / "a/task.safetensors"), task);
  EXPECT_EQ(bytes(folder_ / "a/model.safetensors"), model);
}

TEST_F(TrainingTest, DivergenceIsAnError) {
  TrainSettings s = small();
  s.learning_rate = 1e30;
  s.clip = 0;
  s.schedule = "constant";
  s.norm = "none";
  s.n_epochs = 20;
  try {
    run_training(s, folder_ / "a", {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNumerical) << error.what();
  }
}

TEST_F(TrainingTest, SeveralAtATimeAreTheSame) {
  std::vector<TrainJob> jobs;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    TrainSettings s = small();
    s.seed = seed;
    jobs.push_back({s, folder_ / ("one" + std::to_string(seed)), "job"});
  }
  JobOptions options;
  run_jobs(jobs, options);
  for (TrainJob& job : jobs) job.directory = folder_ / ("many" + std::to_string(job.settings.seed));
  options.n_threads = 3;
  double done = 0;
  options.progress = [&](double now, double /*total*/, std::string_view /*what*/) { done = std::max(done, now); };
  run_jobs(jobs, options);
  for (int seed = 0; seed < 3; ++seed) {
    EXPECT_EQ(bytes(folder_ / ("one" + std::to_string(seed)) / "model.safetensors"),
              bytes(folder_ / ("many" + std::to_string(seed)) / "model.safetensors"));
  }
  jobs[1].settings.n_heads = 3;  // does not divide the width
  jobs[1].directory = folder_ / "wrong";
  jobs[2].directory = folder_ / "after";
  jobs[0].directory = folder_ / "before";
  EXPECT_THROW(run_jobs(jobs, options), Error);
  EXPECT_TRUE(fs::exists(folder_ / "after/model.safetensors"));  // the others are trained
}

// The published code takes digit 0 for padding.
TEST_F(TrainingTest, PublishedSortingNeverLearnsDigitZero) {
  TrainSettings s = published_settings("sort");
  s.n_train = 60;
  s.n_eval = 10;
  s.n_epochs = 2;
  s.learning_rate = 1e-3;
  run_training(s, folder_ / "a", {});
  const auto trained = SafetensorsFile::open(folder_ / "a/model.safetensors");
  const Model start = open_model((folder_ / "a").string() + "@init", 0);
  for (std::size_t t = 0; t < start.network.tensors.size(); ++t) {
    if (start.network.tensors[t].name != "embeddings.words.weight") continue;
    const auto& after = trained->at("embeddings.words.weight");
    const TensorData before = start.weights->rows(static_cast<int>(t), 0, 2);
    const std::size_t row = 48 * sizeof(float);
    EXPECT_TRUE(std::ranges::equal(before.bytes.first(row), after.bytes.first(row)));
    EXPECT_FALSE(std::ranges::equal(before.bytes.subspan(row, row), after.bytes.subspan(row, row)));
  }
}

// Noci et al. 2022: where tokens have collapsed, queries and keys get no gradient. Exactly so in a deep network without
// skips; not with them.
TEST_F(TrainingTest, MonitorShowsVanishingGradientsOfQueriesAndKeys) {
  const auto gradient = [&](bool skip, const char* which) {
    TrainSettings s = small();
    s.n_blocks = 8;
    s.n_epochs = 1;
    s.attn_skip = skip;
    s.dropout = 0;
    const Trained trained = run_training(s, folder_ / (std::string(which) + (skip ? "1" : "0")),
                                         {.resume = false, .monitor = true, .step = {}});
    double value = NAN;
    for (const Row& row : trained.history.rows) {
      if (row.metric == std::string("gradient.") + which && row.layer == 6) value = row.mean.value();
      if (row.metric == "relative_residual.composite" && row.layer == 8) {
        EXPECT_EQ(row.mean.value() > 0.1, skip);
        EXPECT_EQ(row.mean.value() < 1e-4, !skip);
      }
    }
    return value;
  };
  EXPECT_GT(gradient(true, "q"), 1e-7);
  EXPECT_LT(gradient(false, "q"), 1e-6 * gradient(false, "v"));
}

}  // namespace
}  // namespace rankfall
