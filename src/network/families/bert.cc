#include <fmt/format.h>

#include "network/families/builder.h"

namespace rankfall {

// Post-norm encoder, learned positions. RoBERTa counts positions from pad_token_id + 1; ELECTRA may have embeddings
// narrower than the model, widened after the embedding norm. A vocabulary of 0: no embeddings, states come from
// outside.
Network make_bert(const Config& config) {
  const std::string family = config.text("model_type");
  NetworkBuilder b(family);
  const Index d = config.integer("hidden_size", 1, kMaxWidth);
  const Index n_layers = config.integer("num_hidden_layers", 1, kMaxLayers);
  const Index n_heads = config.integer("num_attention_heads", 1, kMaxHeads);
  const Index inner = config.integer("intermediate_size", 1, kMaxWidth);
  const Index vocab = config.integer("vocab_size", 0, kMaxVocab);
  const Index n_positions = config.integer("max_position_embeddings", 1, kMaxPositions);
  const Index n_segments = config.integer("type_vocab_size", 0, kMaxVocab, 2);
  const Index width = family == "electra" ? config.integer("embedding_size", 1, kMaxWidth, 128) : d;
  const bool counts_padding = family == "roberta" || family == "xlm-roberta" || family == "camembert";
  const Index offset = counts_padding ? config.integer("pad_token_id", 0, n_positions - 2, 1) + 1 : 0;
  const double eps = config.number("layer_norm_eps", 0, 1, 1e-12);
  const Init init = normal(config.number("initializer_range", 0, 1e3, 0.02));
  const Activation act = activation_of(config, "hidden_act", "gelu");
  check_absolute_positions(config);
  if (n_positions <= offset) {
    config.fail("'max_position_embeddings' is {}, of which {} are not for tokens", n_positions, offset);
  }

  Network& network = b.network();
  network.sizes = {n_layers, n_heads, d, vocab, n_positions - offset};
  if (vocab == 0) {
    network.input.source = FeatureInput{d};
  } else {
    TokenInput tokens;
    tokens.words = b.tensor("embeddings.word_embeddings.weight", {vocab, width}, init);
    tokens.positions = b.tensor("embeddings.position_embeddings.weight", {n_positions, width}, init);
    if (n_segments > 0) {
      tokens.segments = b.tensor("embeddings.token_type_embeddings.weight", {n_segments, width}, init);
    }
    tokens.position_offset = offset;
    if (counts_padding) tokens.padding_id = static_cast<std::int32_t>(offset - 1);
    network.input.source = tokens;
    network.input.stages.emplace_back(b.layer_norm("embeddings.LayerNorm", width, eps));
    if (width != d) network.input.stages.emplace_back(b.linear("embeddings_project", width, d, init));
  }

  for (Index l = 0; l < n_layers; ++l) {
    const std::string prefix = fmt::format("encoder.layer.{}.", l);
    Attention attention = plain_attention(n_heads, d, config);
    attention.q = b.linear(prefix + "attention.self.query", d, d, init);
    attention.k = b.linear(prefix + "attention.self.key", d, d, init);
    attention.v = b.linear(prefix + "attention.self.value", d, d, init);
    attention.o = b.linear(prefix + "attention.output.dense", d, d, init);
    attention.mask.causal = config.flag("is_decoder", false);
    b.add({.branches = {{.f = attention}},
           .post = b.layer_norm(prefix + "attention.output.LayerNorm", d, eps),
           .block = l});
    const Mlp mlp{act, b.linear(prefix + "intermediate.dense", d, inner, init),
                  b.linear(prefix + "output.dense", inner, d, init)};
    b.add({.branches = {{.f = mlp}}, .post = b.layer_norm(prefix + "output.LayerNorm", d, eps), .block = l});
  }
  return std::move(b).finish();
}

}  // namespace rankfall
