#include <fmt/format.h>

#include "network/families/builder.h"

namespace rankfall {

// Pre-norm decoder with ALiBi and a norm behind the word table. Query, key and value lie head by head in one tensor.
Network make_bloom(const Config& config) {
  NetworkBuilder b("bloom");
  const auto either = [&](std::string_view name, std::string_view other) { return config.has(other) ? other : name; };
  const Index d = config.integer(either("hidden_size", "n_embed"), 1, kMaxWidth);
  const Index n_layers = config.integer(either("n_layer", "num_hidden_layers"), 1, kMaxLayers);
  const Index n_heads = config.integer(either("n_head", "num_attention_heads"), 1, kMaxHeads);
  const Index vocab = config.integer("vocab_size", 1, kMaxVocab);
  const Index inner = config.integer("n_inner", 1, kMaxWidth, 4 * d);
  const double eps = config.number("layer_norm_epsilon", 0, 1, 1e-5);
  const Init init = normal(config.number("initializer_range", 0, 1e3, 0.02));
  if (config.flag("apply_residual_connection_post_layernorm", false)) {
    config.fail("'apply_residual_connection_post_layernorm' is true, expected false: a skip from behind the norm");
  }
  check_causal(config);

  Network& network = b.network();
  network.sizes = {n_layers, n_heads, d, vocab, 0};
  network.input.source = TokenInput{.words = b.tensor("word_embeddings.weight", {vocab, d}, init)};
  network.input.stages.emplace_back(b.layer_norm("word_embeddings_layernorm", d, eps));
  for (Index l = 0; l < n_layers; ++l) {
    const std::string prefix = fmt::format("h.{}.", l);
    Attention attention = plain_attention(n_heads, d, config);
    const Linear all = b.linear(prefix + "self_attention.query_key_value", d, 3 * d, init);
    attention.q = head_by_head(all, attention.d_head, 0);
    attention.k = head_by_head(all, attention.d_head, 1);
    attention.v = head_by_head(all, attention.d_head, 2);
    attention.o = b.linear(prefix + "self_attention.dense", d, d, init);
    attention.mask.causal = true;
    attention.positions = AlibiPositions{.n_heads = n_heads};
    b.add({.branches = {{.f = attention, .in = b.layer_norm(prefix + "input_layernorm", d, eps)}}, .block = l});
    const Mlp mlp{Activation::kGeluBloom, b.linear(prefix + "mlp.dense_h_to_4h", d, inner, init),
                  b.linear(prefix + "mlp.dense_4h_to_h", inner, d, init)};
    b.add({.branches = {{.f = mlp, .in = b.layer_norm(prefix + "post_attention_layernorm", d, eps)}}, .block = l});
  }
  network.final_norm = b.layer_norm("ln_f", d, eps);
  return std::move(b).finish();
}

}  // namespace rankfall
