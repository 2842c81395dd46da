
#include <fmt/format.h>

#include "io/utf8.h"
#include "network/families/builder.h"

namespace rankfall {

// Post-norm encoder with relative positions inside attention; state 0 is the word embedding alone.
Network make_xlnet(const Config& config) {
  NetworkBuilder b("xlnet");
  const Index d = config.integer("d_model", 1, kMaxWidth);
  const Index n_layers = config.integer("n_layer", 1, kMaxLayers);
  const Index n_heads = config.integer("n_head", 1, kMaxHeads);
  const Index inner = config.integer("d_inner", 1, kMaxWidth);
  const Index vocab = config.integer("vocab_size", 1, kMaxVocab);
  const double eps = config.number("layer_norm_eps", 0, 1, 1e-12);
  const Init init = normal(config.number("initializer_range", 0, 1e3, 0.02));
  const Activation act = activation_of(config, "ff_activation", "gelu");
  if (d % 2 != 0) config.fail("'d_model' is {}, expected an even number", d);
  if (const std::string type = config.text("attn_type", "bi"); type != "bi") {
    config.fail("'attn_type' is {}, expected 'bi'", in_quotes(type));
  }
  if (const Index clamp = config.integer("clamp_len", -1, kMaxPositions, -1); clamp > 0) {
    config.fail("'clamp_len' is {}, expected -1: clamped positions are not supported", clamp);
  }

  if (config.flag("bi_data", false)) config.fail("'bi_data' is true, expected false");
  if (config.integer("d_head", 1, kMaxWidth, d / n_heads) != d / n_heads) {
    config.fail("'d_head' is not {} / {}", d, n_heads);
  }

  Network& network = b.network();
  network.sizes = {n_layers, n_heads, d, vocab, 0};
  network.input.source = TokenInput{.words = b.tensor("word_embedding.weight", {vocab, d}, init)};

  for (Index l = 0; l < n_layers; ++l) {
    const std::string prefix = fmt::format("layer.{}.rel_attn.", l);
    Attention attention = plain_attention(n_heads, d, config);
    const Index d_head = attention.d_head;
    // Stored as [d_model, heads, d_head]: input channels first, except for o, whose first axis is the output.
    const auto projection = [&](const char* name, bool transposed) {
      Linear f{b.tensor(prefix + name, {d, n_heads, d_head}, init)};
      f.w.transposed = transposed;
      return f;
    };
    attention.q = projection("q", true);
    attention.k = projection("k", true);
    attention.v = projection("v", true);
    attention.o = projection("o", false);
    attention.positions =
        XlnetPositions{.r = projection("r", true),
                       .u = b.tensor(prefix + "r_w_bias", {n_heads, d_head}, init),
                       .v = b.tensor(prefix + "r_r_bias", {n_heads, d_head}, init),
                       .s = b.tensor(prefix + "r_s_bias", {n_heads, d_head}, init),
                       .segment_embedding = b.tensor(prefix + "seg_embed", {2, n_heads, d_head}, init)};
    b.add({.branches = {{.f = attention}}, .post = b.layer_norm(prefix + "layer_norm", d, eps), .block = l});

    const std::string ff = fmt::format("layer.{}.ff.", l);
    const Mlp mlp{act, b.linear(ff + "layer_1", d, inner, init), b.linear(ff + "layer_2", inner, d, init)};
    b.add({.branches = {{.f = mlp}}, .post = b.layer_norm(ff + "layer_norm", d, eps), .block = l});
  }
  return std::move(b).finish();
}

}  // namespace rankfall
