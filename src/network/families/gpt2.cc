#include <cmath>

#include <fmt/format.h>

#include "network/families/builder.h"

namespace rankfall {

// Pre-norm decoder. Weights are stored [in, out], and query, key and value lie side by side in one tensor.
Network make_gpt2(const Config& config) {
  NetworkBuilder b("gpt2");
  const Index d = config.integer("n_embd", 1, kMaxWidth);
  const Index n_layers = config.integer("n_layer", 1, kMaxLayers);
  const Index n_heads = config.integer("n_head", 1, kMaxHeads);
  const Index inner = config.integer("n_inner", 1, kMaxWidth, 4 * d);
  const Index vocab = config.integer("vocab_size", 1, kMaxVocab);
  const Index n_positions = config.integer("n_positions", 1, kMaxPositions, 1024);
  const double eps = config.number("layer_norm_epsilon", 0, 1, 1e-5);
  const double std = config.number("initializer_range", 0, 1e3, 0.02);
  const Init init = normal(std);
  const Init output_init = normal(std / std::sqrt(2.0 * static_cast<double>(n_layers)));
  const Activation act = activation_of(config, "activation_function", "gelu_new");
  check_causal(config);

  Network& network = b.network();
  network.sizes = {n_layers, n_heads, d, vocab, n_positions};
  network.input.source = TokenInput{.words = b.tensor("wte.weight", {vocab, d}, init),
                                    .positions = b.tensor("wpe.weight", {n_positions, d}, init)};

  for (Index l = 0; l < n_layers; ++l) {
    const std::string prefix = fmt::format("h.{}.", l);
    // Outputs [first, first + n_out) of a tensor that holds n_all of them.
    const auto part = [&](const std::string& name, Index n_in, Index first, Index n_out, Index n_all, Init rule) {
      Linear f{b.tensor(prefix + name + ".weight", {n_in, n_all}, rule),
               b.tensor(prefix + name + ".bias", {n_all}, constant(0))};
      f.w.transposed = true;
      f.w.col = f.b->col = first;
      f.w.cols = f.b->cols = n_out;
      return f;
    };
    Attention attention = plain_attention(n_heads, d, config);
    attention.q = part("attn.c_attn", d, 0, d, 3 * d, init);
    attention.k = part("attn.c_attn", d, d, d, 3 * d, init);
    attention.v = part("attn.c_attn", d, 2 * d, d, 3 * d, init);
    attention.o = part("attn.c_proj", d, 0, d, d, output_init);
    attention.mask.causal = true;
    if (!config.flag("scale_attn_weights", true)) attention.scale = 1;
    if (config.flag("scale_attn_by_inverse_layer_idx", false)) attention.scale /= static_cast<double>(l + 1);
    b.add({.branches = {{.f = attention, .in = b.layer_norm(prefix + "ln_1", d, eps)}}, .block = l});
    const Mlp mlp{act, part("mlp.c_fc", d, 0, inner, inner, init), part("mlp.c_proj", inner, 0, d, d, output_init)};
    b.add({.branches = {{.f = mlp, .in = b.layer_norm(prefix + "ln_2", d, eps)}}, .block = l});
  }
  network.final_norm = b.layer_norm("ln_f", d, eps);
  return std::move(b).finish();
}

}  // namespace rankfall
