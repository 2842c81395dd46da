#include <cmath>

#include <fmt/format.h>

#include "io/utf8.h"
#include "network/families/builder.h"

namespace rankfall {

namespace {

RotaryPositions rotary_of(const Config& config) {
  RotaryPositions rotary;
  // Newer files have one object for all of it.
  const auto parameters = config.object("rope_parameters");
  rotary.base = config.number("rope_theta", 1, 1e12, 10000);
  if (parameters) rotary.base = parameters->number("rope_theta", 1, 1e12, rotary.base);
  if ((parameters ? *parameters : config).number("partial_rotary_factor", 0, 1, 1) != 1) {
    config.fail("'partial_rotary_factor' is not 1; partly rotated heads are not known");
  }
  const auto scaling = parameters ? parameters : config.object("rope_scaling");
  if (!scaling) return rotary;
  const std::string type = scaling->text("rope_type", scaling->text("type", "default"));
  if (type == "default") return rotary;
  if (type != "linear" && type != "llama3") {
    scaling->fail("positions of type {}, expected default, linear or llama3", in_quotes(type));
  }
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor"}) {
    if (!scaling->has(key) && (type == "llama3" || key == std::string_view("factor"))) {
      scaling->fail("'{}' is missing, expected a number", key);
    }
  }
  rotary.factor = scaling->number("factor", 1e-3, 1e6, 1);
  if (type == "linear") return rotary;
  rotary.original = static_cast<double>(scaling->integer("original_max_position_embeddings", 1, kMaxPositions));
  rotary.low = scaling->number("low_freq_factor", 1e-3, 1e6, 1);
  rotary.high = scaling->number("high_freq_factor", 1e-3, 1e6, 4);
  if (rotary.low >= rotary.high) scaling->fail("'low_freq_factor' is not below 'high_freq_factor'");
  return rotary;
}

}  // namespace

// Pre-norm decoder with RMSNorm, rotary positions, gated MLP, and keys and values shared by groups of heads.
Network make_llama(const Config& config) {
  NetworkBuilder b("llama");
  const Index d = config.integer("hidden_size", 1, kMaxWidth);
  const Index n_layers = config.integer("num_hidden_layers", 1, kMaxLayers);
  const Index n_heads = config.integer("num_attention_heads", 1, kMaxHeads);
  const Index n_kv_heads = config.integer("num_key_value_heads", 1, n_heads, n_heads);
  const Index inner = config.integer("intermediate_size", 1, kMaxWidth);
  const Index vocab = config.integer("vocab_size", 1, kMaxVocab);
  const Index n_positions = config.integer("max_position_embeddings", 1, kMaxPositions, 2048);
  const double eps = config.number("rms_norm_eps", 0, 1, 1e-6);
  const Init init = normal(config.number("initializer_range", 0, 1e3, 0.02));
  const Activation act = activation_of(config, "hidden_act", "silu");
  const bool attention_bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  if (n_heads % n_kv_heads != 0) config.fail("{} key/value heads do not divide {} heads", n_kv_heads, n_heads);

  Network& network = b.network();
  network.sizes = {n_layers, n_heads, d, vocab, n_positions};
  network.input.source = TokenInput{.words = b.tensor("embed_tokens.weight", {vocab, d}, init)};

  for (Index l = 0; l < n_layers; ++l) {
    const std::string prefix = fmt::format("layers.{}.", l);
    Attention attention;
    attention.n_heads = n_heads;
    attention.n_kv_heads = n_kv_heads;
    attention.d_head = config.integer("head_dim", 1, kMaxWidth, d / n_heads);
    if (!config.has("head_dim") && d % n_heads != 0) config.fail("{} heads do not divide the width {}", n_heads, d);
    if (attention.d_head % 2 != 0)
      config.fail("heads of {} channels; rotary positions need an even number", attention.d_head);
    attention.scale = 1.0 / std::sqrt(static_cast<double>(attention.d_head));
    attention.q = b.linear(prefix + "self_attn.q_proj", d, n_heads * attention.d_head, init, attention_bias);
    attention.k = b.linear(prefix + "self_attn.k_proj", d, n_kv_heads * attention.d_head, init, attention_bias);
    attention.v = b.linear(prefix + "self_attn.v_proj", d, n_kv_heads * attention.d_head, init, attention_bias);
    attention.o = b.linear(prefix + "self_attn.o_proj", n_heads * attention.d_head, d, init, attention_bias);
    attention.mask.causal = true;
    attention.positions = rotary_of(config);
    b.add({.f = attention, .pre = b.rms_norm(prefix + "input_layernorm", d, eps), .block = l});
    const Mlp mlp{act, b.linear(prefix + "mlp.up_proj", d, inner, init, mlp_bias),
                  b.linear(prefix + "mlp.down_proj", inner, d, init, mlp_bias),
                  b.linear(prefix + "mlp.gate_proj", d, inner, init, mlp_bias)};
    b.add({.f = mlp, .pre = b.rms_norm(prefix + "post_attention_layernorm", d, eps), .block = l});
  }
  network.final_norm = b.rms_norm("norm", d, eps);
  return std::move(b).finish();
}

}  // namespace rankfall
