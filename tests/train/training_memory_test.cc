#include "train/training_memory.h"

#include <gmock/gmock.h>

#include <rankfall/error.h>

namespace rankfall {
namespace {

using testing::HasSubstr;

std::string refusal(const TrainSettings& settings) {
  try {
    check_training_memory(settings, 1);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(TrainingMemory, WhatFitsIsNotRefused) {
  for (const std::string& task : task_names()) {
    const TrainSettings settings = default_settings(task, false);
    EXPECT_EQ(refusal(settings), "") << task;
    EXPECT_GT(training_memory(settings), 1e5) << task;
    EXPECT_LT(training_memory(settings), 2e9) << task;
  }
}

TEST(TrainingMemory, WhatCannotFitIsRefusedFromItsSizes) {
  TrainSettings many = default_settings("sort", true);
  many.n_train = 100'000'000;
  many.n_tokens = 10'000;
  EXPECT_THAT(refusal(many), HasSubstr("100000000 sequences of 10000 tokens"));
  TrainSettings longer = default_settings("sort", true);
  longer.n_tokens = 1'000'000;
  EXPECT_THAT(refusal(longer), HasSubstr("GB of memory"));
}

TEST(TrainingMemory, GrowsWithWhatCosts) {
  const TrainSettings base = default_settings("sort", true);
  for (Index TrainSettings::*size : {&TrainSettings::n_train, &TrainSettings::n_tokens, &TrainSettings::n_blocks,
                                     &TrainSettings::batch, &TrainSettings::width}) {
    TrainSettings larger = base;
    larger.*size *= 64;  // beyond what evaluation takes in any case
    EXPECT_GT(training_memory(larger), training_memory(base));
  }
}

}  // namespace
}  // namespace rankfall
