#include <cmath>

#include <fmt/format.h>

#include "network/families/builder.h"
#include "network/families/rotary.h"

namespace rankfall {
namespace {

// Sizes where config.json has none; 0: it must have one. Files on the hub leave out what is the original's default.
struct DefaultSizes {
  Index d = 0, layers = 0, heads = 0, inner = 0, vocab = 0;
};

// Where Llama's relatives differ from Llama. What config.json says counts only where the original reads it.
struct Style {
  std::string_view family;
  DefaultSizes sizes = {};
  Index n_kv_heads = 0;     // where config.json does not mention them; 0: as many as heads
  bool qkv_bias = false;    // biases of queries, keys and values, unless 'attention_bias' says otherwise
  bool output_bias = true;  // 'attention_bias' gives the output one, too
  bool fused = false;       // one tensor for queries, keys and values, one for gate and up
  enum class HeadNorms { kNone, kPerHead, kWhole } head_norms = HeadNorms::kNone;
  bool norm_before = true, norm_behind = false;  // of branches
  bool gain_is_offset = false;                   // norms store w of 1 + w, the embedding is scaled by the root of d
  std::string_view act_key = "hidden_act";
  std::string_view act = "silu";
  double eps = 1e-6;
  Index d_head = 0;  // where config.json has none; 0: d / heads
  Index n_positions = 2048;
  double base = 10000;
  std::string_view share_key = {};                            // of the share of a head that is turned; empty: all of it
  Index original = 0;                                         // what longrope stretches, where config.json has none
  bool yarn_is_longrope = false;                              // in 'rope_scaling'
  std::optional<double> soft_cap = {};                        // where config.json has none; absent: there is no cap
  double query_scalar = 0;                                    // where config.json has none; 0: logits / sqrt(d_head)
  bool may_see_ahead = false;                                 // 'use_bidirectional_attention'
  std::optional<Index> window = {};                           // keys, where config.json does not mention it
  std::string_view window_switch = {};                        // there is a window only where this is true
  bool has_layer_types = false;                               // 'layer_types' says which layers have the window
  bool (*is_windowed)(const Config&, Index layer) = nullptr;  // otherwise; null: no layer has one
  std::string_view local_base_key = {};  // of windowed layers, which are not scaled; empty: as all others
  bool local_scaled = true;
};

Index size(const Config& config, std::string_view key, Index most, Index fallback) {
  return fallback > 0 ? config.integer(key, 1, most, fallback) : config.integer(key, 1, most);
}

// A number that counts where the key does not stand there at all; null means none.
double unless_null(const Config& config, std::string_view key, double low, double high, double fallback) {
  if (!config.has(key)) return config.mentions(key) ? 0 : fallback;
  return config.number(key, low, high, fallback);
}

// Pre-norm decoder with RMSNorm, rotary positions, gated MLP, and keys and values shared by groups of heads.
class LlamaLike {
 public:
  LlamaLike(const Config& config, const Style& style)
      : config_(config),
        style_(style),
        b_(std::string(style.family)),
        d_(size(config, "hidden_size", kMaxWidth, style.sizes.d)),
        n_layers_(size(config, "num_hidden_layers", kMaxLayers, style.sizes.layers)),
        n_heads_(size(config, "num_attention_heads", kMaxHeads, style.sizes.heads)),
        n_kv_heads_(config.integer("num_key_value_heads", 1, n_heads_, n_heads_)),
        inner_(size(config, "intermediate_size", kMaxWidth, style.sizes.inner)),
        n_positions_(config.integer("max_position_embeddings", 1, kMaxPositions, style.n_positions)),
        eps_(config.number("rms_norm_eps", 0, 1, style.eps)),
        init_(normal(config.number("initializer_range", 0, 1e3, 0.02))),
        act_(activation_of(config, style.act_key, style.act)),
        causal_(!(style.may_see_ahead && config.flag("use_bidirectional_attention", false))) {
    if (causal_) check_causal(config);
    constexpr std::string_view kKeyHeads = "num_key_value_heads";
    if (style.n_kv_heads > 0 && !config.mentions(kKeyHeads)) {
      n_kv_heads_ = style.n_kv_heads;
      if (n_heads_ % n_kv_heads_ != 0) {
        config.fail("'{}' is missing, and {}, the default of {}, do not divide {} heads", kKeyHeads, n_kv_heads_,
                    style.family, n_heads_);
      }
    }
    if (n_heads_ % n_kv_heads_ != 0) config.fail("{} key/value heads do not divide {} heads", n_kv_heads_, n_heads_);
    const bool own = config.has("head_dim") || style.d_head > 0;
    if (!own && d_ % n_heads_ != 0) config.fail("{} heads do not divide the width {}", n_heads_, d_);
    d_head_ = config.integer("head_dim", 1, kMaxWidth, style.d_head > 0 ? style.d_head : d_ / n_heads_);
  }

  Network make() && {
    const Index vocab = size(config_, "vocab_size", kMaxVocab, style_.sizes.vocab);
    Network& network = b_.network();
    network.sizes = {n_layers_, n_heads_, d_, vocab, n_positions_};
    network.input.source = TokenInput{.words = b_.tensor("embed_tokens.weight", {vocab, d_}, init_)};
    if (style_.gain_is_offset) network.input.stages.emplace_back(Factor{std::sqrt(static_cast<double>(d_))});
    const std::vector<bool> windowed = windowed_layers();
    for (Index l = 0; l < n_layers_; ++l) {
      add_attention(l, windowed[static_cast<std::size_t>(l)]);
      add_mlp(l);
    }
    network.final_norm = norm("norm", d_);
    return std::move(b_).finish();
  }

 private:
  Norm norm(const std::string& prefix, Index width) {
    return style_.gain_is_offset ? b_.offset_rms_norm(prefix, width, eps_) : b_.rms_norm(prefix, width, eps_);
  }

  // The branch with its norms, which Gemma has on both sides and OLMo 2 behind.
  Branch branch(Function f, const std::string& before, const std::string& behind) {
    Branch out{.f = std::move(f)};
    if (style_.norm_before) out.in = norm(before, d_);
    if (style_.norm_behind) out.out = norm(behind, d_);
    return out;
  }

  void add_attention(Index l, bool windowed) {
    const std::string prefix = fmt::format("layers.{}.", l);
    const std::string part = prefix + "self_attn.";
    Attention a;
    a.n_heads = n_heads_;
    a.n_kv_heads = n_kv_heads_;
    a.d_head = d_head_;
    a.scale = 1.0 / std::sqrt(style_.query_scalar > 0
                                  ? config_.number("query_pre_attn_scalar", 1e-6, 1e12, style_.query_scalar)
                                  : static_cast<double>(d_head_));
    const Index q_width = n_heads_ * d_head_;
    const Index kv_width = n_kv_heads_ * d_head_;
    const bool bias = config_.flag("attention_bias", style_.qkv_bias);
    if (style_.fused) {
      const Linear all = b_.linear(part + "qkv_proj", d_, q_width + 2 * kv_width, init_, false);
      a.q = rows_of(all, 0, q_width);
      a.k = rows_of(all, q_width, kv_width);
      a.v = rows_of(all, q_width + kv_width, kv_width);
    } else {
      a.q = b_.linear(part + "q_proj", d_, q_width, init_, bias);
      a.k = b_.linear(part + "k_proj", d_, kv_width, init_, bias);
      a.v = b_.linear(part + "v_proj", d_, kv_width, init_, bias);
    }
    a.o = b_.linear(part + "o_proj", q_width, d_, init_, bias && style_.output_bias);
    if (style_.head_norms != Style::HeadNorms::kNone) {
      const bool per_head = style_.head_norms == Style::HeadNorms::kPerHead;
      a.q_norm = HeadNorm{norm(part + "q_norm", per_head ? d_head_ : q_width), per_head};
      a.k_norm = HeadNorm{norm(part + "k_norm", per_head ? d_head_ : kv_width), per_head};
    }
    if (style_.soft_cap) a.soft_cap = unless_null(config_, "attn_logit_softcapping", 1e-3, 1e6, *style_.soft_cap);
    a.mask.causal = causal_;
    if (windowed) set_window(a.mask, l);
    a.positions = positions(windowed);
    b_.add({.branches = {branch(a, prefix + "input_layernorm", prefix + "post_attention_layernorm")}, .block = l});
  }

  std::optional<Index> n_window_keys() const {
    const bool off = !style_.window_switch.empty() && !config_.flag(style_.window_switch, false);
    return off ? std::nullopt : sliding_window(config_, style_.window);
  }

  std::vector<bool> windowed_layers() const {
    std::vector<bool> windowed(static_cast<std::size_t>(n_layers_), false);
    if (style_.has_layer_types) return rankfall::windowed_layers(config_, n_layers_, style_.is_windowed);
    for (std::size_t l = 0; l < windowed.size(); ++l) {
      windowed[l] = style_.is_windowed && style_.is_windowed(config_, static_cast<Index>(l));
    }
    return windowed;
  }

  void set_window(Mask& mask, Index l) const {
    const auto n_keys = n_window_keys();
    if (!n_keys) config_.fail("layer {} has a window, and 'sliding_window' is not set or switched off", l);
    mask.window = mask.causal ? *n_keys - 1 : *n_keys / 2;
  }

  Positions positions(bool windowed) const {
    RotaryRule rule{.d_head = d_head_, .base = style_.base};
    rule.share_key = style_.share_key;
    rule.n_positions = style_.n_positions;
    rule.original = style_.original;
    rule.yarn_is_longrope = style_.yarn_is_longrope;
    rule.layer_type = windowed ? "sliding_attention" : "full_attention";
    if (windowed && !style_.local_base_key.empty()) {
      rule.base_key = style_.local_base_key;
      rule.base = 10000;
      rule.own_base = true;
    }
    rule.scaled = !windowed || style_.local_scaled;
    return rotary_positions(config_, rule);
  }

  void add_mlp(Index l) {
    const std::string prefix = fmt::format("layers.{}.", l);
    const std::string part = prefix + "mlp.";
    const bool bias = config_.flag("mlp_bias", false);
    Mlp mlp;
    mlp.act = act_;
    if (style_.fused) {
      const Linear both = b_.linear(part + "gate_up_proj", d_, 2 * inner_, init_, false);
      mlp.gate = rows_of(both, 0, inner_);
      mlp.up = rows_of(both, inner_, inner_);
    } else {
      mlp.up = b_.linear(part + "up_proj", d_, inner_, init_, bias);
      mlp.gate = b_.linear(part + "gate_proj", d_, inner_, init_, bias);
    }
    mlp.down = b_.linear(part + "down_proj", inner_, d_, init_, bias && !style_.fused);
    const bool both_sides = style_.norm_before && style_.norm_behind;
    const std::string before = prefix + (both_sides ? "pre_feedforward_layernorm" : "post_attention_layernorm");
    b_.add({.branches = {branch(mlp, before, prefix + "post_feedforward_layernorm")}, .block = l});
  }

  const Config& config_;
  Style style_;
  NetworkBuilder b_;
  Index d_, n_layers_, n_heads_, n_kv_heads_, inner_, n_positions_;
  double eps_;
  Init init_;
  Activation act_;
  bool causal_;
  Index d_head_ = 0;
};

bool always(const Config& config, Index) { return sliding_window(config, 4096).has_value(); }
bool where_given(const Config& config, Index) { return config.has("sliding_window"); }

// Qwen: the last layers, where the window is switched on.
bool last_layers(const Config& config, Index l) {
  return config.flag("use_sliding_window", false) && sliding_window(config, 4096).has_value() &&
         l >= config.integer("max_window_layers", 0, kMaxLayers, 28);
}

bool every_other(const Config&, Index l) { return l % 2 == 0; }
bool three_of_four(const Config&, Index l) { return (l + 1) % 4 != 0; }
bool by_pattern(const Config& config, Index l) {
  const std::string_view key =
      config.has("sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern";
  return (l + 1) % config.integer(key, 1, kMaxLayers, 6) != 0;
}

constexpr Style kGemma2 = {.family = "gemma2",
                           .n_kv_heads = 4,
                           .norm_behind = true,
                           .gain_is_offset = true,
                           .act_key = "hidden_activation",
                           .act = "gelu_pytorch_tanh",
                           .d_head = 256,
                           .n_positions = 8192,
                           .soft_cap = 50,
                           .query_scalar = 256,
                           .window = 4096,
                           .has_layer_types = true,
                           .is_windowed = every_other};

constexpr Style kQwen = {.family = "qwen2",
                         .n_kv_heads = 32,
                         .n_positions = 32768,
                         .window = 4096,
                         .window_switch = "use_sliding_window",
                         .has_layer_types = true,
                         .is_windowed = last_layers};

// The part of Gemma 3 that reads text.
constexpr Style gemma3_style() {
  Style style = kGemma2;
  style.family = "gemma3_text";
  style.sizes = {.d = 2304, .layers = 26, .heads = 8, .inner = 9216, .vocab = 262208};
  style.head_norms = Style::HeadNorms::kPerHead;
  style.n_positions = 131072;
  style.base = 1e6;
  style.soft_cap = {};
  style.may_see_ahead = true;
  style.is_windowed = by_pattern;
  style.local_base_key = "rope_local_base_freq";
  style.local_scaled = false;
  return style;
}

}  // namespace

Network make_llama(const Config& config) { return LlamaLike(config, {.family = "llama"}).make(); }

Network make_mistral(const Config& config) {
  Style style{.family = "mistral", .n_kv_heads = 8, .n_positions = 131072};
  style.window = 4096;
  style.is_windowed = always;
  return LlamaLike(config, style).make();
}

Network make_qwen2(const Config& config) {
  Style style = kQwen;
  style.qkv_bias = true;
  style.output_bias = false;
  return LlamaLike(config, style).make();
}

Network make_qwen3(const Config& config) {
  Style style = kQwen;
  style.family = "qwen3";
  style.head_norms = Style::HeadNorms::kPerHead;
  style.d_head = 128;
  return LlamaLike(config, style).make();
}

Network make_gemma2(const Config& config) {
  // The original's kernels disagree about it: some ignore it.
  if (config.flag("use_bidirectional_attention", false)) {
    config.fail("'use_bidirectional_attention' is true, expected false in a gemma2 model");
  }
  return LlamaLike(config, kGemma2).make();
}

Network make_gemma3(const Config& config) {
  // Models that see images, too, have the text's part inside.
  if (const auto text = config.object("text_config")) return LlamaLike(*text, gemma3_style()).make();
  if (config.text("model_type") == "gemma3" && !config.has("hidden_size")) {
    config.fail("'text_config' is missing, expected the part of the model that reads text");
  }
  return LlamaLike(config, gemma3_style()).make();
}

Network make_olmo2(const Config& config) {
  Style style{.family = "olmo2", .head_norms = Style::HeadNorms::kWhole, .norm_before = false, .norm_behind = true};
  style.eps = 1e-5;
  return LlamaLike(config, style).make();
}

Network make_olmo3(const Config& config) {
  Style style{.family = "olmo3", .head_norms = Style::HeadNorms::kWhole, .norm_before = false, .norm_behind = true};
  style.eps = 1e-5;
  style.window = 4096;
  style.has_layer_types = true;
  style.is_windowed = three_of_four;
  style.local_scaled = false;
  return LlamaLike(config, style).make();
}

Network make_phi3(const Config& config) {
  Style style{.family = "phi3", .fused = true};
  style.eps = 1e-5;
  style.n_positions = 4096;
  style.share_key = "partial_rotary_factor";
  style.original = 4096;
  style.yarn_is_longrope = true;
  style.is_windowed = where_given;
  return LlamaLike(config, style).make();
}

}  // namespace rankfall
