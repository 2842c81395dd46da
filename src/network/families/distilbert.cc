#include <fmt/format.h>

#include "network/families/builder.h"

namespace rankfall {

// BERT without segments, under other names.
Network make_distilbert(const Config& config) {
  NetworkBuilder b("distilbert");
  const Index d = config.integer("dim", 1, kMaxWidth);
  const Index n_layers = config.integer("n_layers", 1, kMaxLayers);
  const Index n_heads = config.integer("n_heads", 1, kMaxHeads);
  const Index inner = config.integer("hidden_dim", 1, kMaxWidth);
  const Index vocab = config.integer("vocab_size", 1, kMaxVocab);
  const Index n_positions = config.integer("max_position_embeddings", 1, kMaxPositions, 512);
  const double eps = 1e-12;
  const Init init = normal(config.number("initializer_range", 0, 1e3, 0.02));
  const Activation act = activation_of(config, "activation", "gelu");

  Network& network = b.network();
  network.sizes = {n_layers, n_heads, d, vocab, n_positions};
  network.input.source =
      TokenInput{.words = b.tensor("embeddings.word_embeddings.weight", {vocab, d}, init),
                 .positions = b.tensor("embeddings.position_embeddings.weight", {n_positions, d}, init)};
  network.input.stages.emplace_back(b.layer_norm("embeddings.LayerNorm", d, eps));

  for (Index l = 0; l < n_layers; ++l) {
    const std::string prefix = fmt::format("transformer.layer.{}.", l);
    Attention attention = plain_attention(n_heads, d, config);
    attention.q = b.linear(prefix + "attention.q_lin", d, d, init);
    attention.k = b.linear(prefix + "attention.k_lin", d, d, init);
    attention.v = b.linear(prefix + "attention.v_lin", d, d, init);
    attention.o = b.linear(prefix + "attention.out_lin", d, d, init);
    b.add({.branches = {{.f = attention}}, .post = b.layer_norm(prefix + "sa_layer_norm", d, eps), .block = l});
    const Mlp mlp{act, b.linear(prefix + "ffn.lin1", d, inner, init), b.linear(prefix + "ffn.lin2", inner, d, init)};
    b.add({.branches = {{.f = mlp}}, .post = b.layer_norm(prefix + "output_layer_norm", d, eps), .block = l});
  }
  return std::move(b).finish();
}

}  // namespace rankfall
