#include <fmt/format.h>

#include "network/families/builder.h"

namespace rankfall {

// Decoder with learned positions, whose table begins with two rows that no real token uses. The norm stands before each
// branch, or, in the model of 350m parameters, behind each sum; there the word table is narrower than the model.
Network make_opt(const Config& config) {
  NetworkBuilder b("opt");
  const Index d = config.integer("hidden_size", 1, kMaxWidth);
  const Index n_layers = config.integer("num_hidden_layers", 1, kMaxLayers);
  const Index n_heads = config.integer("num_attention_heads", 1, kMaxHeads);
  const Index inner = config.integer("ffn_dim", 1, kMaxWidth);
  const Index vocab = config.integer("vocab_size", 1, kMaxVocab);
  const Index n_positions = config.integer("max_position_embeddings", 1, kMaxPositions, 2048);
  const Index width = config.integer("word_embed_proj_dim", 1, kMaxWidth, d);
  const Init init = normal(config.number("init_std", 0, 1e3, 0.02));
  const Activation act = activation_of(config, "activation_function", "relu");
  const bool bias = config.flag("enable_bias", true);
  const bool before = config.flag("do_layer_norm_before", true);
  const bool affine = config.flag("layer_norm_elementwise_affine", true);
  check_causal(config);
  const auto norm = [&](const std::string& prefix) {
    return affine ? b.layer_norm(prefix, d, 1e-5) : Norm{Norm::Kind::kLayer, 1e-5};
  };

  Network& network = b.network();
  network.sizes = {n_layers, n_heads, d, vocab, n_positions};
  constexpr Index kUnused = 2;
  TokenInput input{.words = b.tensor("decoder.embed_tokens.weight", {vocab, width}, init)};
  input.positions = b.tensor("decoder.embed_positions.weight", {n_positions + kUnused, d}, init);
  input.position_offset = kUnused;
  input.skips_padding = true;
  if (width != d) {
    input.projection = b.linear("decoder.project_in", width, d, init, false);
    network.head = b.linear("decoder.project_out", d, width, init, false);
  }
  network.input.source = std::move(input);
  const auto add = [&](Function f, const std::string& norm_name, Index l) {
    SubLayer layer{.branches = {{.f = std::move(f)}}, .block = l};
    (before ? layer.branches[0].in : layer.post) = norm(norm_name);
    b.add(layer);
  };
  for (Index l = 0; l < n_layers; ++l) {
    const std::string prefix = fmt::format("decoder.layers.{}.", l);
    Attention attention = plain_attention(n_heads, d, config);
    attention.q = b.linear(prefix + "self_attn.q_proj", d, d, init, bias);
    attention.k = b.linear(prefix + "self_attn.k_proj", d, d, init, bias);
    attention.v = b.linear(prefix + "self_attn.v_proj", d, d, init, bias);
    attention.o = b.linear(prefix + "self_attn.out_proj", d, d, init, bias);
    attention.mask.causal = true;
    add(attention, prefix + "self_attn_layer_norm", l);
    add(Mlp{act, b.linear(prefix + "fc1", d, inner, init, bias), b.linear(prefix + "fc2", inner, d, init, bias)},
        prefix + "final_layer_norm", l);
  }
  if (before && !config.flag("_remove_final_layer_norm", false)) network.final_norm = norm("decoder.final_layer_norm");
  return std::move(b).finish();
}

}  // namespace rankfall
