#include <cmath>

#include <fmt/format.h>

#include "network/families/builder.h"
#include "network/families/rotary.h"

namespace rankfall {

// Pre-norm encoder with rotary positions; most layers see a window of keys on both sides. The first layer has no norm
// in front: the embedding is normed already.
Network make_modernbert(const Config& config) {
  NetworkBuilder b("modernbert");
  const Index d = config.integer("hidden_size", 1, kMaxWidth);
  const Index n_layers = config.integer("num_hidden_layers", 1, kMaxLayers);
  const Index n_heads = config.integer("num_attention_heads", 1, kMaxHeads);
  const Index inner = config.integer("intermediate_size", 1, kMaxWidth);
  const Index vocab = config.integer("vocab_size", 1, kMaxVocab);
  const double eps = config.number("norm_eps", 0, 1, 1e-5);
  const double range = config.number("initializer_range", 0, 1e3, 0.02);
  const Init init{Init::Kind::kTruncatedNormal, range};
  const Init out_init{Init::Kind::kTruncatedNormal, range / std::sqrt(2.0 * static_cast<double>(n_layers))};
  const Activation act = activation_of(config, "hidden_activation", "gelu");
  const bool attention_bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  const bool norm_bias = config.flag("norm_bias", false);
  const Index local = config.has("local_attention") ? window_of(config, "local_attention") : 128;
  const Index n_positions = config.integer("max_position_embeddings", 1, kMaxPositions, 8192);
  const auto norm = [&](const std::string& prefix) { return b.layer_norm(prefix, d, eps, norm_bias); };

  Network& network = b.network();
  network.sizes = {n_layers, n_heads, d, vocab, n_positions};
  network.input.source = TokenInput{.words = b.tensor("embeddings.tok_embeddings.weight", {vocab, d}, init)};
  network.input.stages.emplace_back(norm("embeddings.norm"));
  const std::vector<bool> windowed = windowed_layers(config, n_layers, [](const Config& c, Index l) {
    return l % c.integer("global_attn_every_n_layers", 1, kMaxLayers, 3) != 0;
  });
  for (Index l = 0; l < n_layers; ++l) {
    const std::string prefix = fmt::format("layers.{}.", l);
    const bool is_local = windowed[static_cast<std::size_t>(l)];
    Attention attention = plain_attention(n_heads, d, config);
    const Linear all = b.linear(prefix + "attn.Wqkv", d, 3 * d, init, attention_bias);
    attention.q = rows_of(all, 0, d);
    attention.k = rows_of(all, d, d);
    attention.v = rows_of(all, 2 * d, d);
    attention.o = b.linear(prefix + "attn.Wo", d, d, out_init, attention_bias);
    if (is_local) attention.mask.window = local / 2;
    // Without a base of its own a local layer has the global one.
    const bool has_local_base = config.has("local_rope_theta") || !config.mentions("local_rope_theta");
    const bool own_base = is_local && has_local_base;
    attention.positions = rotary_positions(config, {.d_head = attention.d_head,
                                                    .base = own_base ? 10000.0 : 160000.0,
                                                    .base_key = own_base ? "local_rope_theta" : "global_rope_theta",
                                                    .n_positions = n_positions,
                                                    .layer_type = is_local ? "sliding_attention" : "full_attention"});
    Branch of_attention{.f = attention};
    if (l > 0) of_attention.in = norm(prefix + "attn_norm");
    b.add({.branches = {std::move(of_attention)}, .block = l});
    const Linear both = b.linear(prefix + "mlp.Wi", d, 2 * inner, init, mlp_bias);
    const Mlp mlp{act, rows_of(both, inner, inner), b.linear(prefix + "mlp.Wo", inner, d, out_init, mlp_bias),
                  rows_of(both, 0, inner)};
    b.add({.branches = {{.f = mlp, .in = norm(prefix + "mlp_norm")}}, .block = l});
  }
  network.final_norm = norm("final_norm");
  network.final_norm_in_state = false;
  return std::move(b).finish();
}

}  // namespace rankfall
