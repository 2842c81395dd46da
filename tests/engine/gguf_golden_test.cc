#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/golden_cases.h"
#include "engine/recorder.h"
#include "io/io_test_util.h"
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
    observers.reserve(recorders.size());
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

// The error of opening a file whose bytes are those of a sound one with `from` replaced once by `to`.
std::string error_with(const std::string& from, const std::string& to) {
  std::ifstream in(kFolder / "llama-f32/model.gguf", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  const std::size_t at = bytes.find(from);
  if (at == std::string::npos) return "not there: " + from;
  bytes.replace(at, from.size(), to);
  const test::TempDir dir;
  dir.file("model.gguf", bytes);
  return test::input_error([&] { open_model((dir.path() / "model.gguf").string(), 0); });
}

TEST(GgufModels, WhatDoesNotFitIsRefusedByName) {
  using testing::HasSubstr;
  const auto with_number = [](const std::string& key, std::uint32_t n) {
    return key + test::raw(std::uint32_t{4}) + test::raw(n);
  };
  const auto first = [](const std::string& name, std::uint32_t type) {
    return name + test::raw(std::uint32_t{2}) + test::raw(std::uint64_t{32}) + test::raw(std::uint64_t{24}) +
           test::raw(type);
  };
  EXPECT_THAT(error_with("llama", "mamba"),
              HasSubstr("the architecture 'mamba' is not supported, expected one of llama, qwen2"));
  EXPECT_THAT(error_with("blk.0.attn_k.weight", "blk.0.attn_x.weight"),
              HasSubstr("tensor 'blk.0.attn_k.weight' is missing, expected with shape [16, 32]"));
  EXPECT_THAT(error_with("llama.block_count", "llama.clock_count"), HasSubstr("'llama.block_count' is missing"));
  EXPECT_THAT(error_with("llama.attention.key_length", "llama.attention.kex_length"),
              HasSubstr("'llama.attention.value_length' differs from that of keys"));
  EXPECT_THAT(error_with(with_number("llama.feed_forward_length", 48), with_number("llama.feed_forward_length", 47)),
              HasSubstr("is [48, 32], expected [47, 32] as the file's metadata say"));
  EXPECT_THAT(error_with(with_number("llama.block_count", 2), with_number("llama.block_count", 1)),
              HasSubstr("9 tensors inside the layers are not used, 'blk.1.attn_norm.weight' first"));
  EXPECT_THAT(error_with(with_number("llama.block_count", 2), with_number("llama.block_count", 4'000'000'000)),
              HasSubstr("num_hidden_layers"));
  EXPECT_THAT(error_with(first("token_embd.weight", 0), first("token_embd.weight", 17)),
              HasSubstr("tensor 'token_embd.weight' has type IQ2_XS, expected F64, F32"));
  EXPECT_THAT(error_with("GGUF", "GGML"), HasSubstr("does not begin with 'GGUF'"));
}

TEST(GgufModels, PartsOfAModelAreRefused) {
  const test::TempDir dir;
  const std::string key = "split.count";
  dir.file("a-00001-of-00002.gguf", "GGUF" + test::raw(std::uint32_t{3}) + test::raw(std::uint64_t{0}) +
                                        test::raw(std::uint64_t{1}) + test::raw(std::uint64_t{key.size()}) + key +
                                        test::raw(std::uint32_t{2}) + test::raw(std::uint16_t{2}) +
                                        std::string(64, '\0'));
  EXPECT_THAT(test::input_error([&] { open_model((dir.path() / "a-00001-of-00002.gguf").string(), 0); }),
              testing::HasSubstr("is one of 2 parts of a model, expected the whole"));
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
