#include <fmt/format.h>

#include "network/families/builder.h"

namespace rankfall {

// Pre-norm encoder on image patches, with a class token in front. The last norm belongs to the head, not to state L.
Network make_vit(const Config& config) {
  NetworkBuilder b("vit");
  const Index d = config.integer("hidden_size", 1, kMaxWidth);
  const Index n_layers = config.integer("num_hidden_layers", 1, kMaxLayers);
  const Index n_heads = config.integer("num_attention_heads", 1, kMaxHeads);
  const Index inner = config.integer("intermediate_size", 1, kMaxWidth);
  const Index image = config.side("image_size", 1, 1 << 14, 224);
  const Index patch = config.side("patch_size", 1, image, 16);
  const Index channels = config.integer("num_channels", 1, 1 << 10, 3);
  const double eps = config.number("layer_norm_eps", 0, 1, 1e-12);
  // The original cuts the normal distribution at +-2, which at this scale is nowhere.
  const Init init = normal(config.number("initializer_range", 0, 1e3, 0.02));
  const Activation act = activation_of(config, "hidden_act", "gelu");
  const bool qkv_bias = config.flag("qkv_bias", true);
  if (image % patch != 0) config.fail("patches of {} do not divide an image of {}", patch, image);

  Network& network = b.network();
  const Index side = image / patch;
  // Attention is quadratic in the patches, and nobody who writes 4096 for 224 wants to wait for that.
  constexpr Index kMaxPatches = 1 << 14;
  if (side * side > kMaxPatches) {
    config.fail("'image_size' {} makes {} patches of {}, expected at most {}", image, side * side, patch, kMaxPatches);
  }
  network.sizes = {n_layers, n_heads, d, 0, side * side + 1};
  const std::string projection = "embeddings.patch_embeddings.projection";
  network.input.source = PatchInput{image,
                                    patch,
                                    channels,
                                    {b.tensor(projection + ".weight", {d, channels, patch, patch}, init),
                                     b.tensor(projection + ".bias", {d}, constant(0))},
                                    b.tensor("embeddings.cls_token", {1, 1, d}, init),
                                    b.tensor("embeddings.position_embeddings", {1, side * side + 1, d}, init)};

  for (Index l = 0; l < n_layers; ++l) {
    const std::string prefix = fmt::format("encoder.layer.{}.", l);
    Attention attention = plain_attention(n_heads, d, config);
    attention.q = b.linear(prefix + "attention.attention.query", d, d, init, qkv_bias);
    attention.k = b.linear(prefix + "attention.attention.key", d, d, init, qkv_bias);
    attention.v = b.linear(prefix + "attention.attention.value", d, d, init, qkv_bias);
    attention.o = b.linear(prefix + "attention.output.dense", d, d, init);
    b.add({.branches = {{.f = attention, .in = b.layer_norm(prefix + "layernorm_before", d, eps)}}, .block = l});
    const Mlp mlp{act, b.linear(prefix + "intermediate.dense", d, inner, init),
                  b.linear(prefix + "output.dense", inner, d, init)};
    b.add({.branches = {{.f = mlp, .in = b.layer_norm(prefix + "layernorm_after", d, eps)}}, .block = l});
  }
  network.final_norm = b.layer_norm("layernorm", d, eps);
  network.final_norm_in_state = false;
  return std::move(b).finish();
}

}  // namespace rankfall
