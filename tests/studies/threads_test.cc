#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "io/io_test_util.h"
#include "result/row.h"
#include "studies/capture/capture.h"
#include <rankfall/audit.h>
#include <rankfall/bounds.h>
#include <rankfall/collapse.h>
#include <rankfall/lowrank.h>
#include <rankfall/measure.h>
#include <rankfall/paths.h>
#include <rankfall/process.h>
#include <rankfall/theory.h>

// Every study with one thread and with three: the same rows to the last bit, and, under ThreadSanitizer, no race.

namespace rankfall {
namespace {

void expect_same_rows(const std::function<Result()>& study) {
  const int before = threads();
  set_threads(1);
  const Result one = study();
  set_threads(3);
  const Result three = study();
  set_threads(before);
  ASSERT_GT(one.rows.size(), 0U);
  ASSERT_EQ(one.rows.size(), three.rows.size());
  for (std::size_t i = 0; i < one.rows.size(); ++i) {
    for (const Column& column : columns()) {
      EXPECT_EQ(column.get(one.rows[i]), column.get(three.rows[i]))
          << "row " << i << ", " << one.rows[i].metric << ": " << column.name;
    }
  }
}

template <class Options>
Options with_input(Index n_samples, Index n_tokens) {
  Options options;
  options.input.n_samples = n_samples;
  options.input.n_tokens = n_tokens;
  return options;
}

std::vector<std::string> small(const std::string& rest) {
  return {"san:layers=3,heads=3,dim=12,vocab=30,std=0.5,mlp=8" + rest};
}

TEST(StudyThreads, Measure) {
  auto options = with_input<MeasureOptions>(3, 12);
  options.metrics = {"all", "gradient"};
  options.geometric = options.intervals = true;
  expect_same_rows([&] { return measure(small(",norm=post"), options); });
}

TEST(StudyThreads, TheoryOfGradients) {
  auto options = with_input<TheoryOptions>(2, 9);
  options.metrics = {"gradient"};
  options.draws = 16;
  options.variants = {variant_named("san"), variant_named("full")};
  expect_same_rows([&] { return theory(small(",norm=pre,mask=causal"), options); });
}

// 150 tokens are two blocks of queries.
TEST(StudyThreads, Collapse) {
  auto options = with_input<CollapseOptions>(2, 150);
  options.error_draws = 1;
  options.variants = {variant_named("san"), variant_named("full")};
  expect_same_rows([&] { return collapse(small(",norm=post"), options); });
}

TEST(StudyThreads, Paths) {
  auto options = with_input<PathsOptions>(4, 9);
  options.interference = true;
  options.heads = true;
  options.n_draws = 5;
  options.rerun = true;
  options.n_top = 7;
  options.to = 2;
  expect_same_rows([&] { return paths(small(",norm=pre"), options); });
}

TEST(StudyThreads, Bounds) {
  const auto options = with_input<BoundsOptions>(3, 9);
  expect_same_rows([&] { return bounds(small(",norm=post"), options); });
}

TEST(StudyThreads, Lowrank) {
  auto options = with_input<LowrankOptions>(2, 24);
  options.lengths = {16, 32};
  options.n_trials = 60;
  expect_same_rows([&] { return lowrank(small(",norm=post"), options); });
}

TEST(StudyThreads, Audit) {
  AuditOptions options;
  options.n_trials = 500;
  options.claims = {4, 8};
  expect_same_rows([&] { return audit(options); });
}

TEST(StudyThreads, Capture) {
  const test::TempDir dir;
  auto options = with_input<CaptureOptions>(1, 300);
  options.attention = true;
  const int before = threads();
  set_threads(1);
  capture(small(",norm=post")[0], dir.path() / "one.safetensors", options);
  set_threads(3);
  capture(small(",norm=post")[0], dir.path() / "three.safetensors", options);
  set_threads(before);
  EXPECT_EQ(test::read_all(dir.path() / "one.safetensors"), test::read_all(dir.path() / "three.safetensors"));
}

}  // namespace
}  // namespace rankfall
