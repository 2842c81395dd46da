#include <fmt/format.h>

#include "network/families/builder.h"

namespace rankfall {

// BERT with narrow embeddings and shared layers: block l uses the layers of group l * groups / blocks.
Network make_albert(const Config& config) {
  NetworkBuilder b("albert");
  const Index d = config.integer("hidden_size", 1, kMaxWidth);
  const Index n_layers = config.integer("num_hidden_layers", 1, kMaxLayers);
  const Index n_groups = config.integer("num_hidden_groups", 1, n_layers, 1);
  if (const Index n = config.integer("inner_group_num", 1, kMaxLayers, 1); n != 1) {
    config.fail("'inner_group_num' is {}, expected 1: groups of several layers are not known", n);
  }
  check_absolute_positions(config);
  const Index n_heads = config.integer("num_attention_heads", 1, kMaxHeads);
  const Index inner = config.integer("intermediate_size", 1, kMaxWidth);
  const Index width = config.integer("embedding_size", 1, kMaxWidth, 128);
  const Index vocab = config.integer("vocab_size", 1, kMaxVocab);
  const Index n_positions = config.integer("max_position_embeddings", 1, kMaxPositions);
  const Index n_segments = config.integer("type_vocab_size", 1, kMaxVocab, 2);
  const double eps = config.number("layer_norm_eps", 0, 1, 1e-12);
  const Init init = normal(config.number("initializer_range", 0, 1e3, 0.02));
  const Activation act = activation_of(config, "hidden_act", "gelu_new");

  Network& network = b.network();
  network.sizes = {n_layers, n_heads, d, vocab, n_positions};
  network.input.source =
      TokenInput{.words = b.tensor("embeddings.word_embeddings.weight", {vocab, width}, init),
                 .positions = b.tensor("embeddings.position_embeddings.weight", {n_positions, width}, init),
                 .segments = b.tensor("embeddings.token_type_embeddings.weight", {n_segments, width}, init)};
  network.input.stages.emplace_back(b.layer_norm("embeddings.LayerNorm", width, eps));
  network.input.stages.emplace_back(b.linear("encoder.embedding_hidden_mapping_in", width, d, init));

  for (Index l = 0; l < n_layers; ++l) {
    const std::string prefix = fmt::format("encoder.albert_layer_groups.{}.albert_layers.0.", l * n_groups / n_layers);
    Attention attention = plain_attention(n_heads, d, config);
    attention.q = b.linear(prefix + "attention.query", d, d, init);
    attention.k = b.linear(prefix + "attention.key", d, d, init);
    attention.v = b.linear(prefix + "attention.value", d, d, init);
    attention.o = b.linear(prefix + "attention.dense", d, d, init);
    b.add({.branches = {{.f = attention}}, .post = b.layer_norm(prefix + "attention.LayerNorm", d, eps), .block = l});
    const Mlp mlp{act, b.linear(prefix + "ffn", d, inner, init), b.linear(prefix + "ffn_output", inner, d, init)};
    b.add({.branches = {{.f = mlp}}, .post = b.layer_norm(prefix + "full_layer_layer_norm", d, eps), .block = l});
  }
  return std::move(b).finish();
}

}  // namespace rankfall
