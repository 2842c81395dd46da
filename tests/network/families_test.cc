#include <cmath>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "io/io_test_util.h"
#include <rankfall/model.h>
#include <rankfall/sample.h>

// What a config.json means where keys are absent, contradict each other or are not read by the original, transformers
// 4.57.

namespace rankfall {
namespace {

using nlohmann::json;
using test::input_error;
using ::testing::HasSubstr;

// Three layers of four heads of eight channels.
json tiny(const std::string& family, const json& more = json::object()) {
  json config = {{"model_type", family},
                 {"hidden_size", 32},
                 {"num_hidden_layers", 3},
                 {"vocab_size", 9},
                 {"num_attention_heads", 4},
                 {"intermediate_size", 16},
                 {"ffn_dim", 16},
                 {"n_layer", 3},
                 {"n_head", 4},
                 {"n_embd", 32}};
  if (family != "bloom") config["num_key_value_heads"] = 2;
  if (family.starts_with("gemma") || family == "qwen3") config["head_dim"] = 8;
  config.update(more);
  return config;
}

json without(json config, const std::string& key) {
  config.erase(key);
  return config;
}

Network made(const json& config) { return network_from_config(config.dump(), "config.json"); }
std::string error_of(const json& config) {
  return input_error([&] { made(config); });
}

const Attention& attention(const Network& network, Index block = 0) {
  for (const SubLayer& layer : network.layers) {
    if (layer.block == block && layer.attention()) return *layer.attention();
  }
  throw std::logic_error("no attention");
}

RotaryPositions rotary(const Network& network, Index block = 0) {
  return std::get<RotaryPositions>(attention(network, block).positions);
}

template <class Scaling>
Scaling scaling(const Network& network, Index block = 0) {
  return std::get<Scaling>(rotary(network, block).scaling);
}

bool is_scaled(const Network& network, Index block) {
  return !std::holds_alternative<std::monostate>(rotary(network, block).scaling);
}

TEST(Families, Gemma3HasTheSizesThatTheHubLeavesOut) {
  const Network network =
      made({{"model_type", "gemma3"},
            {"text_config", {{"hidden_size", 16}, {"intermediate_size", 8}, {"num_hidden_layers", 1}}}});
  EXPECT_EQ(network.sizes.vocab, 262208);
  EXPECT_EQ(network.sizes.max_positions, 131072);
  EXPECT_EQ(attention(network).n_heads, 8);
  EXPECT_EQ(attention(network).n_kv_heads, 4);
  EXPECT_EQ(attention(network).d_head, 256);
  EXPECT_EQ(attention(network).scale, 1.0 / 16);
  EXPECT_EQ(attention(network).mask.window, 4095);
  const Network all = made({{"model_type", "gemma3_text"}});
  EXPECT_EQ(all.sizes.n_blocks, 26);
  EXPECT_EQ(all.sizes.d_model, 2304);
  EXPECT_THAT(error_of({{"model_type", "gemma3"}}), HasSubstr("'text_config' is missing"));
}

// Not the root of the width of a head.
TEST(Families, GemmasQueriesAreDividedBySixteen) {
  for (const char* family : {"gemma2", "gemma3_text"}) {
    EXPECT_EQ(attention(made(tiny(family))).scale, 1.0 / 16) << family;
    EXPECT_EQ(attention(made(tiny(family, {{"query_pre_attn_scalar", 4}}))).scale, 0.5) << family;
  }
  EXPECT_EQ(attention(made(tiny("llama", {{"query_pre_attn_scalar", 4}}))).scale, 1 / std::sqrt(8.0));
}

TEST(Families, KeyHeadsThatAreNotMentioned) {
  const auto n_kv_heads = [](const char* family, Index n_heads) {
    return attention(made(without(tiny(family, {{"num_attention_heads", n_heads}}), "num_key_value_heads"))).n_kv_heads;
  };
  EXPECT_EQ(n_kv_heads("gemma2", 8), 4);
  EXPECT_EQ(n_kv_heads("gemma3_text", 8), 4);
  EXPECT_EQ(n_kv_heads("mistral", 16), 8);
  EXPECT_EQ(n_kv_heads("qwen3", 32), 32);
  EXPECT_EQ(n_kv_heads("llama", 16), 16);
  EXPECT_EQ(n_kv_heads("phi3", 16), 16);
  EXPECT_EQ(attention(made(tiny("mistral", {{"num_key_value_heads", nullptr}}))).n_kv_heads, 4);
  EXPECT_THAT(error_of(without(tiny("mistral"), "num_key_value_heads")),
              HasSubstr("'num_key_value_heads' is missing, and 8, the default of mistral, do not divide 4 heads"));
}

TEST(Families, DecodersThatSeeAheadAreRefused) {
  for (const char* family : {"llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text", "olmo2", "olmo3", "phi3",
                             "gpt_neox", "gpt2", "opt", "bloom"}) {
    EXPECT_THAT(error_of(tiny(family, {{"is_causal", false}})), HasSubstr("'is_causal' is false")) << family;
    EXPECT_TRUE(attention(made(tiny(family, {{"is_causal", true}}))).mask.causal) << family;
  }
  EXPECT_NO_THROW(made(tiny("modernbert", {{"is_causal", false}})));
}

TEST(Families, SwitchesCountOnlyWhereTheOriginalHasThem) {
  const json cap = {{"attn_logit_softcapping", 0.5}};
  const json ahead = {{"use_bidirectional_attention", true}};
  EXPECT_EQ(attention(made(tiny("gemma2", cap))).soft_cap, 0.5);
  EXPECT_EQ(attention(made(tiny("gemma2"))).soft_cap, 50);
  EXPECT_EQ(attention(made(tiny("gemma2", {{"attn_logit_softcapping", nullptr}}))).soft_cap, 0);
  for (const char* family : {"llama", "mistral", "qwen2", "qwen3", "gemma3_text", "olmo2", "olmo3", "phi3"}) {
    EXPECT_EQ(attention(made(tiny(family, cap))).soft_cap, 0) << family;
    EXPECT_EQ(attention(made(tiny(family, ahead))).mask.causal, family != std::string("gemma3_text")) << family;
  }
  EXPECT_THAT(error_of(tiny("gemma2", ahead)), HasSubstr("'use_bidirectional_attention' is true"));
}

TEST(Families, WindowsAndLayerTypes) {
  const json types = {{"sliding_window", 3},
                      {"layer_types", {"full_attention", "sliding_attention", "full_attention"}}};
  for (const char* family : {"mistral", "phi3"}) {  // all layers, whatever the types
    for (const Index block : {0, 1, 2}) EXPECT_EQ(attention(made(tiny(family, types)), block).mask.window, 2) << family;
  }
  for (const char* family : {"llama", "olmo2"}) EXPECT_EQ(attention(made(tiny(family, types)), 1).mask.window, 0);
  EXPECT_EQ(attention(made(tiny("gemma2", types)), 0).mask.window, 0);
  EXPECT_EQ(attention(made(tiny("gemma2", types)), 1).mask.window, 2);
  for (const char* family : {"qwen2", "qwen3"}) {
    const json on = {{"use_sliding_window", true}, {"max_window_layers", 1}};
    EXPECT_EQ(attention(made(tiny(family, on)), 0).mask.window, 0);
    EXPECT_EQ(attention(made(tiny(family, on)), 1).mask.window, 4095);
    json null = on;
    null["sliding_window"] = nullptr;
    EXPECT_EQ(attention(made(tiny(family, null)), 1).mask.window, 0);
    EXPECT_THAT(error_of(tiny(family, types)), HasSubstr("layer 1 has a window"));
  }
  EXPECT_THAT(error_of(tiny("mistral", {{"sliding_window", 1}})),
              HasSubstr("'sliding_window' is 1, expected 2 or more: tokens that see only themselves"));
  EXPECT_THAT(error_of(tiny("modernbert", {{"local_attention", 1}})), HasSubstr("'local_attention' is 1"));
}

TEST(Families, LengthsOfScaledPositions) {
  const json yarn = {{"rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}}}};
  EXPECT_EQ(scaling<YarnScaling>(made(tiny("llama", yarn))).original, 2048);
  EXPECT_EQ(scaling<YarnScaling>(made(tiny("mistral", yarn))).original, 131072);
  EXPECT_EQ(scaling<YarnScaling>(made(tiny("qwen2", yarn))).original, 32768);
  EXPECT_EQ(scaling<YarnScaling>(made(tiny("gemma2", yarn))).original, 8192);
  EXPECT_EQ(scaling<YarnScaling>(made(tiny("modernbert", yarn))).original, 8192);

  const json factors = {{"type", "longrope"}, {"short_factor", {1, 1, 1, 1}}, {"long_factor", {2, 2, 2, 2}}};
  const Network phi3 = made(tiny("phi3", {{"max_position_embeddings", 131072}, {"rope_scaling", factors}}));
  EXPECT_EQ(scaling<LongScaling>(phi3).original, 4096);
  EXPECT_DOUBLE_EQ(rotary(phi3).magnitude, std::sqrt(1 + std::log(32.0) / std::log(4096.0)));
}

TEST(Families, Phi3sOldNamesOfLongrope) {
  for (const char* name : {"su", "yarn", "longrope"}) {
    const json factors = {{"type", name}, {"short_factor", {1, 2, 3, 4}}, {"long_factor", {2, 3, 4, 5}}};
    const Network network = made(tiny("phi3", {{"original_max_position_embeddings", 8}, {"rope_scaling", factors}}));
    EXPECT_EQ(scaling<LongScaling>(network).original, 8) << name;
    EXPECT_EQ(scaling<LongScaling>(network).short_factors[1], 2) << name;
  }
}

TEST(Families, TurnedShareOfAHead) {
  const json parameters = {{"rope_type", "default"}, {"rope_theta", 500.0}};
  EXPECT_EQ(rotary(made(tiny("phi3", {{"partial_rotary_factor", 0.5}, {"rope_parameters", parameters}}))).channels, 4);
  json own = parameters;
  own["partial_rotary_factor"] = 0.25;
  EXPECT_EQ(rotary(made(tiny("phi3", {{"partial_rotary_factor", 0.5}, {"rope_parameters", own}}))).channels, 2);
  EXPECT_THAT(error_of(tiny("llama", {{"partial_rotary_factor", 0.5}})),
              HasSubstr("'partial_rotary_factor' is 0.5, expected 1"));
  EXPECT_THAT(error_of(tiny("gpt_neox", {{"rotary_pct", 0.4}})),
              HasSubstr("rotary positions turn 3 of the 8 channels of a head, expected an even number"));
}

TEST(Families, GptNeoxsOwnNamesWin) {
  const Network network =
      made(tiny("gpt_neox",
                {{"rotary_emb_base", 50}, {"rope_theta", 7777}, {"rotary_pct", 0.5}, {"partial_rotary_factor", 1.0}}));
  EXPECT_EQ(rotary(network).base, 50);
  EXPECT_EQ(rotary(network).channels, 4);
  EXPECT_EQ(rotary(made(tiny("gpt_neox", {{"rope_theta", 7777}}))).base, 7777);
}

TEST(Families, WindowedLayersAreNotScaled) {
  const json flat = {{"rope_type", "linear"}, {"factor", 4.0}, {"rope_theta", 50.0}};
  const json types = {"full_attention", "sliding_attention", "sliding_attention"};
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const bool newer = key == std::string("rope_parameters");
    const Network olmo3 = made(tiny("olmo3", {{key, flat}, {"layer_types", types}}));
    EXPECT_TRUE(is_scaled(olmo3, 0));
    EXPECT_FALSE(is_scaled(olmo3, 1));
    EXPECT_EQ(rotary(olmo3, 1).base, newer ? 50 : 10000);
    const Network gemma3 =
        made(tiny("gemma3_text", {{key, flat}, {"layer_types", types}, {"rope_local_base_freq", 7.0}}));
    EXPECT_TRUE(is_scaled(gemma3, 0));
    EXPECT_FALSE(is_scaled(gemma3, 1));
    EXPECT_EQ(rotary(gemma3, 0).base, newer ? 50 : 1e6);
    EXPECT_EQ(rotary(gemma3, 1).base, 7);
  }
  // One entry for each type says itself what counts.
  const json nested = {{"full_attention", flat}, {"sliding_attention", {{"rope_type", "linear"}, {"factor", 2.0}}}};
  EXPECT_EQ(scaling<LinearScaling>(made(tiny("olmo3", {{"rope_parameters", nested}})), 0).factor, 2);
  // Three layers, all with a window: what does not count is checked all the same.
  EXPECT_THAT(error_of(tiny("olmo3", {{"rope_scaling", {{"type", "ntk"}}}})), HasSubstr("positions of type 'ntk'"));
  EXPECT_THAT(error_of(tiny("olmo3", {{"rope_parameters", {{"full_attention", flat}}}})),
              HasSubstr("'rope_parameters': 'sliding_attention' is missing"));
}

TEST(Families, ScalingNeedsAType) {
  EXPECT_THAT(error_of(tiny("llama", {{"rope_scaling", {{"factor", 8.0}}}})),
              HasSubstr("'rope_scaling': 'rope_type' is missing, expected default, linear"));
  EXPECT_THAT(error_of(tiny("llama", {{"rope_parameters", {{"factor", 8.0}}}})), HasSubstr("'rope_type' is missing"));
  EXPECT_EQ(rotary(made(tiny("llama", {{"rope_parameters", {{"rope_theta", 70.0}}}}))).base, 70);
}

TEST(Families, DynamicScalingTakesLongerInputs) {
  const json dynamic = {{"max_position_embeddings", 6}, {"rope_scaling", {{"type", "dynamic"}, {"factor", 2.5}}}};
  for (const char* family : {"llama", "gpt_neox", "qwen2"}) {
    const Network network = made(tiny(family, dynamic));
    EXPECT_EQ(network.sizes.max_positions, 15) << family;
    EXPECT_EQ(random_samples(network, 0, 1, 15)[0].n_tokens(), 15);
  }
  EXPECT_EQ(made(tiny("llama", {{"max_position_embeddings", 6}})).sizes.max_positions, 6);
}

TEST(Families, ActivationsByName) {
  const auto act = [](const char* name) {
    for (const SubLayer& layer : made(tiny("llama", {{"hidden_act", name}})).layers) {
      if (const Branch* branch = layer.with<Mlp>()) return std::get<Mlp>(branch->f).act;
    }
    throw std::logic_error("no MLP");
  };
  EXPECT_EQ(act("gelu_fast"), Activation::kGeluFast);
  EXPECT_EQ(act("gelu_new"), Activation::kGeluTanh);
  for (const char* name : {"quick_gelu", "relu2", "relu6", "mish", "gelu_10", "sigmoid"}) {
    EXPECT_THAT(error_of(tiny("llama", {{"hidden_act", name}})),
                HasSubstr("'hidden_act' is '" + std::string(name) + "', an unsupported activation"));
  }
}

TEST(Families, AlibiTakesPaddingAtTheEndsOnly) {
  const Network bloom = made(tiny("bloom"));
  Sample sample;
  sample.content = TokenIds{1, 2, 3, 4, 5};
  sample.valid = {0, 1, 1, 1, 0};
  EXPECT_NO_THROW(check_sample(bloom, sample));
  sample.valid = {1, 1, 0, 1, 0};
  try {
    check_sample(bloom, sample);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("padding at position 2, between tokens"));
  }
  EXPECT_NO_THROW(check_sample(made(tiny("llama")), sample));
}

}  // namespace
}  // namespace rankfall
