#include "studies/audit/audit_runs.h"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include <rankfall/collapse.h>
#include <rankfall/sample.h>

namespace rankfall {
namespace {

constexpr Index kTrackedSamples = 2;

CollapseOptions tracking_options(const std::string& variant) {
  CollapseOptions options;
  options.variants = {variant_named(variant)};
  options.floats = false;
  options.each_sample = false;
  options.error_draws = 1;
  return options;
}

struct SmallConfig {
  std::string_view family, format;
};
// {0}: the number of layers.
constexpr std::array kSmallConfigs = {
    SmallConfig{"bert",
                R"({{"model_type": "bert", "hidden_size": 32, "num_hidden_layers": {0}, "num_attention_heads": 4,
                       "intermediate_size": 128, "vocab_size": 200, "max_position_embeddings": 64,
                       "initializer_range": 0.098}})"},
    SmallConfig{"gpt2", R"({{"model_type": "gpt2", "n_embd": 32, "n_layer": {0}, "n_head": 4, "vocab_size": 200,
                       "n_positions": 64, "initializer_range": 0.098}})"},
    SmallConfig{"llama",
                R"({{"model_type": "llama", "hidden_size": 32, "num_hidden_layers": {0}, "num_attention_heads": 4,
                        "num_key_value_heads": 2, "intermediate_size": 88, "vocab_size": 200,
                        "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "initializer_range": 0.098}})"},
    SmallConfig{"t5", R"({{"model_type": "t5", "d_model": 32, "d_kv": 8, "d_ff": 128, "num_layers": {0}, "num_heads": 4,
                     "vocab_size": 200, "relative_attention_num_buckets": 32}})"},
    SmallConfig{"xlnet", R"({{"model_type": "xlnet", "d_model": 32, "n_layer": {0}, "n_head": 4, "d_inner": 128,
                        "vocab_size": 200, "initializer_range": 0.098}})"},
};

}  // namespace

Result tracked(const std::string& spec, const std::string& variant, std::uint64_t seed, Index n_tokens) {
  CollapseOptions options = tracking_options(variant);
  options.seed = seed;
  options.input.n_samples = kTrackedSamples;
  options.input.n_tokens = n_tokens;
  return collapse(std::vector<std::string>{spec}, options);
}

Result tracked(const Model& model, const std::string& variant, std::uint64_t seed, Index n_tokens) {
  return collapse(model, random_samples(model.network, seed, kTrackedSamples, n_tokens), tracking_options(variant));
}

const Row* find_row(const Result& result, std::string_view metric, std::optional<Index> layer, std::string_view kind) {
  const auto found = std::ranges::find_if(
      result.rows, [&](const Row& row) { return row.metric == metric && row.layer == layer && row.kind == kind; });
  return found == result.rows.end() ? nullptr : &*found;
}

double value_of(const Result& result, std::string_view metric, std::optional<Index> layer, std::string_view kind) {
  const Row* row = find_row(result, metric, layer, kind);
  return row && row->mean ? *row->mean : std::numeric_limits<double>::quiet_NaN();
}

double log10_change(const Result& result, Index from, Index to) {
  constexpr const char* kMetric = "log10_relative_residual.composite";
  return value_of(result, kMetric, to) - value_of(result, kMetric, from);
}

Model small_model(std::string_view family, Index n_layers, std::uint64_t seed) {
  const auto* config = std::ranges::find(kSmallConfigs, family, &SmallConfig::family);
  if (config == kSmallConfigs.end()) throw std::logic_error("no small model of this family");
  Model model;
  model.name = fmt::format("{} of width 32", family);
  model.network = network_from_config(fmt::format(fmt::runtime(config->format), n_layers), model.name);
  model.weights = draw_weights(model.network.tensors, seed);
  model.drawn = true;
  return model;
}

}  // namespace rankfall
