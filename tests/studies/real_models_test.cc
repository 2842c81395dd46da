#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "studies/parity/parity.h"
#include <rankfall/measure.h>

// Trained checkpoints that are not part of the project: set RANKFALL_MODELS to the folder that holds them.

namespace rankfall {
namespace {

std::filesystem::path model(const char* name) {
  const char* folder = std::getenv("RANKFALL_MODELS");
  return folder ? std::filesystem::path(folder) / name : std::filesystem::path();
}

#define SKIP_UNLESS_PRESENT(path) \
  if (path.empty() || !std::filesystem::exists(path)) GTEST_SKIP() << "no trained models: RANKFALL_MODELS is not set"

TEST(RealModels, AgreeWithTheirReferenceStates) {
  for (const char* name : {"kwt1-speech-bert", "llama-babyllama"}) {
    const auto path = model(name);
    SKIP_UNLESS_PRESENT(path);
    const Result result = parity(std::vector<std::string>{path.string()}, {});
    EXPECT_EQ(result.rows.size(), 4U);
    for (const Row& row : result.rows) EXPECT_LT(*row.mean, row.kind == "f64" ? 1e-11 : 1e-4) << row.metric;
  }
}

TEST(RealModels, AreMeasured) {
  const struct {
    const char* name;
    const char* input;
    bool ids;
  } cases[] = {{"kwt1-speech-bert", "hidden.safetensors", false},
               {"albert-rxnmapper", "input.safetensors", true},
               {"llama-babyllama", "input.safetensors", true}};
  for (const auto& c : cases) {
    const auto path = model(c.name);
    SKIP_UNLESS_PRESENT(path);
    MeasureOptions options;
    options.metrics = {"all"};
    options.variants = {variant_named("full"), variant_named("san"), variant_named("san+mlp"),
                        variant_named("san+skip"), variant_named("no-norm")};
    (c.ids ? options.input.ids : options.input.hidden) = (path / c.input).string();
    const Result result = measure(std::vector<std::string>{path.string()}, options);
    for (const Row& row : result.rows) EXPECT_TRUE(row.mean && std::isfinite(*row.mean)) << row.variant << row.metric;
  }
}

}  // namespace
}  // namespace rankfall
