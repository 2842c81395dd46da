#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/golden_cases.h"
#include "engine/recorder.h"
#include <rankfall/error.h>
#include <rankfall/forward.h>
#include <rankfall/model.h>

namespace rankfall {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(RANKFALL_TEST_DATA) / "gguf";

// Files of llama.cpp's converter; states and attentions by transformers 4.57 in float64 on the dequantised weights.
TEST(GgufModels, StatesAgreeToElevenDigits) {
  for (const char* name : {"llama-f32", "llama-q8_0", "llama-q4_k_m", "gpt2-q4_0", "bert-f16"}) {
    SCOPED_TRACE(name);
    const Model model = open_model((kFolder / name / "model.gguf").string(), 0);
    const std::vector<Sample> samples = read_samples(model.network, kFolder / name / "input.safetensors");
    std::vector<Recorder<double>> recorders(samples.size());
    std::vector<Observer<double>*> observers;
    for (auto& recorder : recorders) observers.push_back(&recorder);
    forward<double>(model.network, *model.weights, samples, observers);
    const auto file = SafetensorsFile::open(kFolder / name / "expected.safetensors");
    const Expected hidden(*file->find("full/hidden_states"));
    const Expected attention(*file->find("full/attentions"));
    const Index n_samples = std::ssize(samples);
    for (Index s = 0; s < n_samples; ++s) {
      const auto& recorder = recorders[static_cast<std::size_t>(s)];
      ASSERT_EQ(std::ssize(recorder.states), hidden.shape[0]);
      for (Index l = 0; l < hidden.shape[0]; ++l) {
        EXPECT_LE(
            (recorder.states[static_cast<std::size_t>(l)] - hidden.slice(l * n_samples + s)).cwiseAbs().maxCoeff(),
            1e-11 * hidden.largest(l * n_samples + s))
            << "state " << l << " sample " << s;
      }
      for (Index l = 0; l < attention.shape[0]; ++l) {
        for (Index h = 0; h < attention.shape[2]; ++h) {
          const auto expected = attention.slice((l * n_samples + s) * attention.shape[2] + h);
          EXPECT_LE((recorder.attentions.at({l, h}) - expected).cwiseAbs().maxCoeff(), 1e-11)
              << "block " << l << " head " << h << " sample " << s;
        }
      }
    }
  }
}

TEST(GgufModels, TheSameNetworkAtRandomInitialisation) {
  const Model model = open_model((kFolder / "llama-f32/model.gguf").string() + "@init", 3);
  EXPECT_TRUE(model.drawn);
  EXPECT_EQ(model.network.sizes.n_blocks, 2);
  EXPECT_EQ(model.network.family, "llama");
}

TEST(GgufModels, WhatIsNotOneIsRefused) {
  try {
    open_model((kFolder / "types/model.gguf").string(), 0);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), testing::HasSubstr("the architecture 'types' is not supported, expected one of llama"));
  }
}

}  // namespace
}  // namespace rankfall
