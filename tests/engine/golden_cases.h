#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>
#include <sstream>

#include "engine/file_source.h"
#include <rankfall/matrix.h>
#include <rankfall/model.h>
#include <rankfall/sample.h>
#include <rankfall/variants.h>

// Hidden states and attentions of tiny random models, computed in float64 by Hugging Face transformers 4.25, those of
// newer families by 4.57.6 (data/families).

namespace rankfall {

inline const std::filesystem::path kFamilies = std::filesystem::path(RANKFALL_TEST_DATA) / "families";

struct GoldenCase {
  const char* family;
  const char* variant;  // name in expected.safetensors
};

inline void PrintTo(const GoldenCase& c, std::ostream* out) { *out << c.family << " " << c.variant; }

inline Parts parts_of(std::string_view variant) {
  return {.attn_skip = variant == "no_attn_skip" || variant == "san", .mlp = variant == "no_mlp" || variant == "san"};
}

// A tensor [..., rows, cols] of a file as doubles, leading indices flattened.
struct Expected {
  explicit Expected(const TensorInfo& info) : shape(info.shape), values(count(info)) {
    widen<double>(info.dtype, info.bytes, std::span<double>(values));
  }
  static std::size_t count(const TensorInfo& info) {
    std::size_t n = 1;
    for (const Index s : info.shape) n *= static_cast<std::size_t>(s);
    return n;
  }
  Eigen::Map<const Matrix<double>> slice(Index leading) const {
    const Index rows = shape[shape.size() - 2];
    const Index cols = shape[shape.size() - 1];
    return {values.data() + leading * rows * cols, rows, cols};
  }
  double largest(Index leading) const { return slice(leading).cwiseAbs().maxCoeff(); }
  std::vector<Index> shape;
  std::vector<double> values;
};

inline std::vector<Sample> read_samples(const Network& network, const std::filesystem::path& file) {
  const auto input = SafetensorsFile::open(file);
  if (const TensorInfo* pixels = input->find("pixel_values")) {
    const Expected values(*pixels);  // [samples, channels, rows, columns]
    std::vector<Sample> samples(static_cast<std::size_t>(pixels->shape[0]));
    const Index channels = pixels->shape[1];
    const Index area = pixels->shape[2] * pixels->shape[3];
    for (std::size_t s = 0; s < samples.size(); ++s) {
      samples[s].content = Pixels{Eigen::Map<const Matrix<double>>(
                                      values.values.data() + static_cast<Index>(s) * channels * area, channels, area),
                                  std::get<PatchInput>(network.input.source).n_tokens()};
    }
    return samples;
  }
  const TensorInfo* info = input->find("input_ids");
  const std::vector<std::int64_t> ids = read_integers(info->dtype, info->bytes);
  std::vector<Sample> samples(static_cast<std::size_t>(info->shape[0]));
  const auto n = static_cast<std::size_t>(info->shape[1]);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    samples[s].content = TokenIds(ids.begin() + static_cast<std::ptrdiff_t>(s * n),
                                  ids.begin() + static_cast<std::ptrdiff_t>((s + 1) * n));
  }
  return samples;
}

// A case's network, weights and inputs.
struct GoldenModel {
  explicit GoldenModel(const GoldenCase& c, const char* config = "config.json") : folder(kFamilies / c.family) {
    const Model opened = open_model(folder.string(), 0);
    base = read_network(folder, config);
    network = without(base, parts_of(c.variant));
    weights = opened.weights;
    samples = read_samples(network, folder / "input.safetensors");
    expected = SafetensorsFile::open(folder / "expected.safetensors");
  }
  static Network read_network(const std::filesystem::path& folder, const char* name) {
    std::ostringstream config;
    config << std::ifstream(folder / name).rdbuf();
    return network_from_config(config.str(), name);
  }
  // As a model that a command would open, with all its parts.
  Model model() const {
    Model out;
    out.name = folder.filename().string();
    out.network = base;
    out.weights = weights;
    return out;
  }
  std::filesystem::path folder;
  Network base, network;
  std::shared_ptr<const WeightSource> weights;
  std::vector<Sample> samples;
  std::shared_ptr<const SafetensorsFile> expected;
};

inline constexpr const char* kModernFamilies[] = {
    "bloom", "gemma2",   "gemma3", "gpt_neox",      "gpt_neox_seq",        "mistral", "modernbert",   "olmo2", "olmo3",
    "opt",   "opt_350m", "phi3",   "phi3_longrope", "phi3_longrope_short", "qwen2",   "qwen2_window", "qwen3"};

inline std::vector<GoldenCase> golden_cases() {
  std::vector<GoldenCase> all;
  std::vector<const char*> families = {"albert",  "bert", "distilbert", "electra", "gpt2",
                                       "roberta", "t5",   "vit",        "xlnet"};
  families.insert(families.end(), std::begin(kModernFamilies), std::end(kModernFamilies));
  for (const char* family : families) {
    for (const char* variant : {"full", "no_attn_skip", "no_mlp", "san"}) all.push_back({family, variant});
  }
  return all;
}

}  // namespace rankfall
