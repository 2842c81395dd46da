#include <fmt/format.h>

#include "network/families/builder.h"
#include "network/families/rotary.h"

namespace rankfall {

// Pythia: attention and MLP side by side on the same state, each with a norm of its own, or one after the other. Query,
// key and value lie head by head in one tensor.
Network make_gpt_neox(const Config& config) {
  NetworkBuilder b("gpt_neox");
  const Index d = config.integer("hidden_size", 1, kMaxWidth);
  const Index n_layers = config.integer("num_hidden_layers", 1, kMaxLayers);
  const Index n_heads = config.integer("num_attention_heads", 1, kMaxHeads);
  const Index inner = config.integer("intermediate_size", 1, kMaxWidth);
  const Index vocab = config.integer("vocab_size", 1, kMaxVocab);
  const double eps = config.number("layer_norm_eps", 0, 1, 1e-5);
  const Init init = normal(config.number("initializer_range", 0, 1e3, 0.02));
  const Activation act = activation_of(config, "hidden_act", "gelu");
  const bool bias = config.flag("attention_bias", true);
  const bool parallel = config.flag("use_parallel_residual", true);
  check_causal(config);

  Network& network = b.network();
  network.sizes = {n_layers, n_heads, d, vocab, config.integer("max_position_embeddings", 1, kMaxPositions, 2048)};
  network.input.source = TokenInput{.words = b.tensor("embed_in.weight", {vocab, d}, init)};
  for (Index l = 0; l < n_layers; ++l) {
    const std::string prefix = fmt::format("layers.{}.", l);
    Attention attention = plain_attention(n_heads, d, config);
    const Linear all = b.linear(prefix + "attention.query_key_value", d, 3 * d, init, bias);
    attention.q = head_by_head(all, attention.d_head, 0);
    attention.k = head_by_head(all, attention.d_head, 1);
    attention.v = head_by_head(all, attention.d_head, 2);
    attention.o = b.linear(prefix + "attention.dense", d, d, init, bias);
    attention.mask.causal = true;
    // Where a file has both, the names of this family win over those of the others.
    const std::string_view base_key = config.has("rotary_emb_base") ? "rotary_emb_base" : "rope_theta";
    attention.positions = rotary_positions(
        config, {.d_head = attention.d_head, .base_key = base_key, .share = 0.25, .share_key = "rotary_pct"});
    const Mlp mlp{act, b.linear(prefix + "mlp.dense_h_to_4h", d, inner, init),
                  b.linear(prefix + "mlp.dense_4h_to_h", inner, d, init)};
    Branch of_attention{.f = attention, .in = b.layer_norm(prefix + "input_layernorm", d, eps)};
    Branch of_mlp{.f = mlp, .in = b.layer_norm(prefix + "post_attention_layernorm", d, eps)};
    if (parallel) {
      b.add({.branches = {std::move(of_attention), std::move(of_mlp)}, .block = l});
    } else {
      b.add({.branches = {std::move(of_attention)}, .block = l});
      b.add({.branches = {std::move(of_mlp)}, .block = l});
    }
  }
  network.final_norm = b.layer_norm("final_layer_norm", d, eps);
  return std::move(b).finish();
}

}  // namespace rankfall
