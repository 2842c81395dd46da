#include <cmath>

#include <fmt/format.h>

#include "network/families/builder.h"

namespace rankfall {

// The encoder: pre-norm with RMSNorm, no biases, logits without scale, and a bias by distance that all blocks share.
Network make_t5(const Config& config) {
  NetworkBuilder b("t5");
  const Index d = config.integer("d_model", 1, kMaxWidth);
  const Index n_layers = config.integer("num_layers", 1, kMaxLayers);
  const Index n_heads = config.integer("num_heads", 1, kMaxHeads);
  const Index d_head = config.integer("d_kv", 1, kMaxWidth, 64);
  const Index inner = config.integer("d_ff", 1, kMaxWidth);
  const Index vocab = config.integer("vocab_size", 1, kMaxVocab);
  const Index n_buckets = config.integer("relative_attention_num_buckets", 4, kMaxPositions, 32);
  const Index max_distance = config.integer("relative_attention_max_distance", n_buckets / 4 + 1, kMaxPositions, 128);
  const double eps = config.number("layer_norm_epsilon", 0, 1, 1e-6);
  const double factor = config.number("initializer_factor", 0, 1e3, 1);
  const std::string form = config.text("feed_forward_proj", "relu");
  const bool gated = form.starts_with("gated-");
  // "gated-gelu" means the tanh form, whatever its name says.
  const std::string name = form == "gated-gelu" ? "gelu_new" : gated ? form.substr(6) : form;
  const Activation act = activation_of(config, "dense_act_fn", name);
  const auto root = [&](Index n) { return normal(factor / std::sqrt(static_cast<double>(n))); };

  Network& network = b.network();
  network.sizes = {n_layers, n_heads, d, vocab, 0};
  network.input.source = TokenInput{.words = b.tensor("shared.weight", {vocab, d}, normal(factor))};

  for (Index l = 0; l < n_layers; ++l) {
    const std::string prefix = fmt::format("encoder.block.{}.", l);
    const std::string self = prefix + "layer.0.SelfAttention.";
    Attention attention;
    attention.n_heads = attention.n_kv_heads = n_heads;
    attention.d_head = d_head;
    attention.q =
        b.linear(self + "q", d, n_heads * d_head, normal(factor / std::sqrt(static_cast<double>(d * d_head))), false);
    attention.k = b.linear(self + "k", d, n_heads * d_head, root(d), false);
    attention.v = b.linear(self + "v", d, n_heads * d_head, root(d), false);
    attention.o = b.linear(self + "o", n_heads * d_head, d, root(n_heads * d_head), false);
    attention.positions = T5Positions{
        b.tensor("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", {n_buckets, n_heads}, root(d)),
        max_distance};
    b.add({.branches = {{.f = attention, .in = b.rms_norm(prefix + "layer.0.layer_norm", d, eps)}}, .block = l});

    const std::string dense = prefix + "layer.1.DenseReluDense.";
    Mlp mlp{act, b.linear(dense + (gated ? "wi_1" : "wi"), d, inner, root(d), false),
            b.linear(dense + "wo", inner, d, root(inner), false)};
    if (gated) mlp.gate = b.linear(dense + "wi_0", d, inner, root(d), false);
    b.add({.branches = {{.f = mlp, .in = b.rms_norm(prefix + "layer.1.layer_norm", d, eps)}}, .block = l});
  }
  network.final_norm = b.rms_norm("encoder.final_layer_norm", d, eps);
  return std::move(b).finish();
}

}  // namespace rankfall
