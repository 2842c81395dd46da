#include <cmath>

#include <fmt/format.h>

#include "network/families/builder.h"

namespace rankfall {
namespace {

// Numbers and choices that all blocks of a san share; docs/formats.md describes each key.
struct SanShape {
  Index d, n_heads, inner;
  bool bias, pre, post;
  double eps, attn_skip, mlp_skip, branch;
  Init init, qk_init, value_init;
  Activation act;
  Mask mask;
  bool xlnet;
};

Mask mask_of(const Config& config) {
  Mask mask;
  const std::string name = config.text("mask", "complete");
  if (name == "causal") {
    mask.causal = true;
  } else if (name == "window" || name == "causal-window") {
    mask.causal = name == "causal-window";
    mask.window = config.integer("window", 1, kMaxPositions);
    mask.global = config.integer("global", 0, kMaxPositions, 0);
  } else if (name != "complete") {
    config.fail("'mask' is '{}', expected complete, causal, window or causal-window", name);
  }
  if (mask.window == 0 && (config.has("window") || config.has("global"))) {
    config.fail("'window' and 'global' go with mask=window or mask=causal-window");
  }
  return mask;
}

SanShape shape_of(const Config& config) {
  SanShape s{};
  s.d = config.integer("hidden_size", 1, kMaxWidth);
  s.n_heads = config.integer("num_attention_heads", 1, kMaxHeads);
  s.inner = config.integer("intermediate_size", 0, kMaxWidth, 0);
  s.bias = config.flag("bias", true);
  const std::string norm = config.text("norm", "post");
  if (norm != "post" && norm != "pre" && norm != "none") {
    config.fail("'norm' is '{}', expected post, pre or none", norm);
  }
  s.pre = norm == "pre";
  s.post = norm == "post";
  s.eps = config.number("layer_norm_eps", 0, 1, 1e-12);
  s.attn_skip = config.number("attn_skip", -1e3, 1e3, 1);
  s.mlp_skip = config.number("mlp_skip", -1e3, 1e3, 1);
  s.branch = config.number("branch_scale", -1e3, 1e3, 1);
  const double stddev = config.number("initializer_range", 0, 1e3, 0.02);
  s.init = normal(stddev);
  s.qk_init = normal(config.number("qk_std", 0, 1e3, stddev));
  const std::string rule = config.text("init", "normal");
  if (rule != "normal" && rule != "published") config.fail("'init' is '{}', expected normal or published", rule);
  // kaiming_uniform(a = sqrt 5) of the published task code: uniform within 1/sqrt(fan in), for value and output.
  s.value_init = rule == "published" ? uniform(1.0 / std::sqrt(static_cast<double>(s.d))) : s.init;
  s.act = activation_of(config, "hidden_act", "gelu");
  s.mask = mask_of(config);
  const std::string relative = config.text("relative_positions", "none");
  if (relative != "none" && relative != "xlnet") {
    config.fail("'relative_positions' is '{}', expected none or xlnet", relative);
  }
  s.xlnet = relative == "xlnet";
  if (s.xlnet && s.d % 2 != 0) config.fail("relative_positions=xlnet needs an even width");
  return s;
}

Attention attention_of(NetworkBuilder& b, const std::string& prefix, const SanShape& s, const Config& config) {
  Attention attention = plain_attention(s.n_heads, s.d, config);
  attention.q = b.linear(prefix + "q", s.d, s.d, s.qk_init, s.bias);
  attention.k = b.linear(prefix + "k", s.d, s.d, s.qk_init, s.bias);
  attention.v = b.linear(prefix + "v", s.d, s.d, s.value_init, s.bias);
  attention.o = b.linear(prefix + "o", s.d, s.d, s.value_init, s.bias);
  attention.mask = s.mask;
  if (s.xlnet) {
    XlnetPositions positions;
    positions.r = b.linear(prefix + "r", s.d, s.d, s.init, false);
    positions.u = b.tensor(prefix + "u", {s.n_heads, attention.d_head}, s.init);
    positions.v = b.tensor(prefix + "position_bias", {s.n_heads, attention.d_head}, s.init);
    positions.s = b.tensor(prefix + "segment_bias", {s.n_heads, attention.d_head}, s.init);
    positions.segment_embedding = b.tensor(prefix + "segments", {2, s.n_heads, attention.d_head}, s.init);
    attention.positions = positions;
  }
  return attention;
}

void add_input(NetworkBuilder& b, const SanShape& s, const Config& config) {
  Network& network = b.network();
  InputMap& input = network.input;
  const Index features = config.integer("features", 0, kMaxWidth, 0);
  for (const char* key : {"vocab_size", "max_position_embeddings", "embedding_size"}) {
    if (features > 0 && config.has(key)) config.fail("'{}' is for tokens; 'features' takes real inputs", key);
  }
  if (features == 0 && config.has("feature_layers")) config.fail("'feature_layers' goes with 'features'");
  if (features > 0) {
    input.source = FeatureInput{features};
    input.stages.emplace_back(b.linear("embeddings.map", features, s.d, s.init));
    if (config.integer("feature_layers", 1, 2, 1) == 2) {
      input.stages.emplace_back(Activation::kGelu);
      input.stages.emplace_back(b.linear("embeddings.map2", s.d, s.d, s.init));
    }
  } else {
    const Index width = config.integer("embedding_size", 1, kMaxWidth, s.d);
    network.sizes.vocab = config.integer("vocab_size", 1, kMaxVocab, 30522);
    network.sizes.max_positions = config.integer("max_position_embeddings", 0, kMaxPositions, 0);
    TokenInput tokens;
    tokens.words = b.tensor("embeddings.words.weight", {network.sizes.vocab, width}, s.init);
    if (network.sizes.max_positions > 0) {
      tokens.positions = b.tensor("embeddings.positions.weight", {network.sizes.max_positions, width}, s.init);
    }
    input.source = tokens;
    input.stages.emplace_back(b.linear("embeddings.map", width, s.d, s.init));
  }
  if (config.flag("input_norm", true)) input.stages.emplace_back(b.layer_norm("embeddings.norm", s.d, s.eps));
}

}  // namespace

// The free-form family: self-attention networks of any shape, for experiments and for rankfall's own training.
Network make_san(const Config& config) {
  NetworkBuilder b("san");
  const SanShape s = shape_of(config);
  const Index n_layers = config.integer("num_hidden_layers", 1, kMaxLayers);
  const bool shared = config.flag("shared_layers", false);
  Network& network = b.network();
  network.sizes = {n_layers, s.n_heads, s.d, 0, 0};
  add_input(b, s, config);
  for (Index l = 0; l < n_layers; ++l) {
    const std::string prefix = fmt::format("layers.{}.", shared ? 0 : l);
    const auto sub_layer = [&](const Function& f, const std::string& norm_name, double skip) {
      SubLayer layer{.branches = {{.f = f, .scale = s.branch}}, .skip = skip, .block = l};
      if (s.pre) layer.branches[0].in = b.layer_norm(prefix + norm_name, s.d, s.eps);
      if (s.post) layer.post = b.layer_norm(prefix + norm_name, s.d, s.eps);
      b.add(layer);
    };
    sub_layer(attention_of(b, prefix + "attention.", s, config), "attention_norm", s.attn_skip);
    if (s.inner > 0) {
      const Mlp mlp{s.act, b.linear(prefix + "mlp.up", s.d, s.inner, s.init, s.bias),
                    b.linear(prefix + "mlp.down", s.inner, s.d, s.init, s.bias)};
      sub_layer(mlp, "mlp_norm", s.mlp_skip);
    }
  }
  if (const Index labels = config.integer("num_labels", 0, kMaxVocab, 0); labels > 0) {
    network.head = b.linear("head", s.d, labels, s.init);
  }
  return std::move(b).finish();
}

}  // namespace rankfall
