#include "train/settings.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <rankfall/error.h>
#include <rankfall/model.h>

namespace rankfall {
namespace {

TEST(Settings, OfEveryTaskMakeANetworkAndReadBack) {
  for (const std::string& task : task_names()) {
    for (const TrainSettings& s :
         {default_settings(task, false), default_settings(task, true), published_settings(task)}) {
      EXPECT_NO_THROW(check_settings(s)) << task;
      const Network network = network_from_config(network_config(s).dump(), "config.json");
      EXPECT_EQ(network.sizes.n_blocks, s.n_blocks);
      ASSERT_TRUE(network.head.has_value());
      EXPECT_EQ(settings_from_json(to_json(s), "memory"), s);
    }
    EXPECT_FALSE(published_oddities(published_settings(task)).empty());
    EXPECT_TRUE(published_oddities(default_settings(task, false)).empty());
  }
  EXPECT_THROW(default_settings("walk", false), Error);
}

TEST(Settings, RefuseWhatCannotBe) {
  const auto refused = [](const auto& change) {
    TrainSettings s = default_settings("sort", true);
    change(s);
    EXPECT_THROW(check_settings(s), Error);
  };
  refused([](TrainSettings& s) { s.n_heads = 5; });
  refused([](TrainSettings& s) { s.n_epochs = 0; });
  refused([](TrainSettings& s) { s.schedule = "sometimes"; });
  refused([](TrainSettings& s) { s.norm = "after"; });
  refused([](TrainSettings& s) { s.dropout = 1; });
  refused([](TrainSettings& s) { s.learning_rate = -1; });
  refused([](TrainSettings& s) { s.learning_rate = NAN; });
  refused([](TrainSettings& s) { s.text = "text"; });
  refused([](TrainSettings& s) { s.n_train = 100'000'000; });
  refused([](TrainSettings& s) { s.n_tokens = Index{1} << 62; });
  refused([](TrainSettings& s) { s.outer_skip = true; });
  nlohmann::json json = to_json(default_settings("sort", true));
  json["batch"] = "many";
  EXPECT_THROW(settings_from_json(json, "memory"), Error);
  json["batch"] = 32.5;
  EXPECT_THROW(settings_from_json(json, "memory"), Error);
  json.erase("batch");
  EXPECT_THROW(settings_from_json(json, "memory"), Error);
}

// Trainings begun before the choice of special tokens existed have no entry for it.
TEST(Settings, SpecialTokensAreWrittenWhereChosen) {
  TrainSettings s = default_settings("memorize", true);
  EXPECT_FALSE(to_json(s).contains("special_tokens"));
  TrainSettings none = s;
  none.special_tokens = "none";
  EXPECT_EQ(settings_from_json(to_json(none), "memory"), none);
  EXPECT_EQ(differences(s, none), R"(special_tokens "as-stored" there, "none" here)");
  none.special_tokens = "some";
  EXPECT_THROW(check_settings(none), Error);
}

TEST(Settings, Schedules) {
  TrainSettings s = default_settings("sort", true);
  s.n_epochs = 100;
  s.learning_rate = 1;
  s.schedule = "one-cycle";
  EXPECT_NEAR(learning_rate(s, 0, 10), 0.04, 1e-12);
  EXPECT_NEAR(learning_rate(s, 300, 10), 1, 1e-12);
  EXPECT_NEAR(learning_rate(s, 650, 10), 0.5, 1e-3);
  EXPECT_LT(learning_rate(s, 999, 10), 1e-4);
  s.schedule = "linear";
  EXPECT_NEAR(learning_rate(s, 250, 10), 0.75, 1e-12);
  s.schedule = "steps";
  EXPECT_NEAR(learning_rate(s, 149, 10), 1, 1e-12);
  EXPECT_NEAR(learning_rate(s, 300, 10), 0.91 * 0.91, 1e-12);
  s.schedule = "constant";
  EXPECT_EQ(learning_rate(s, 999, 10), 1);
}

}  // namespace
}  // namespace rankfall
