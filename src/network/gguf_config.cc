#include "network/gguf_config.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/errors.h"
#include "io/dtype.h"
#include "io/utf8.h"

namespace rankfall {
namespace {

using Json = nlohmann::json;

constexpr GgufName kGgufLlama[] = {
    {"embed_tokens", "token_embd"},
    {"layers.#.input_layernorm", "blk.#.attn_norm"},
    {"layers.#.self_attn.q_proj", "blk.#.attn_q", GgufOrder::kNeighbours},
    {"layers.#.self_attn.k_proj", "blk.#.attn_k", GgufOrder::kNeighbours},
    {"layers.#.self_attn.v_proj", "blk.#.attn_v"},
    {"layers.#.self_attn.o_proj", "blk.#.attn_output"},
    {"layers.#.post_attention_layernorm", "blk.#.ffn_norm"},
    {"layers.#.mlp.gate_proj", "blk.#.ffn_gate"},
    {"layers.#.mlp.up_proj", "blk.#.ffn_up"},
    {"layers.#.mlp.down_proj", "blk.#.ffn_down"},
    {"norm", "output_norm"},
};

constexpr GgufName kGgufQwen[] = {
    {"embed_tokens", "token_embd"},
    {"layers.#.input_layernorm", "blk.#.attn_norm"},
    {"layers.#.self_attn.q_proj", "blk.#.attn_q"},
    {"layers.#.self_attn.k_proj", "blk.#.attn_k"},
    {"layers.#.self_attn.v_proj", "blk.#.attn_v"},
    {"layers.#.self_attn.o_proj", "blk.#.attn_output"},
    {"layers.#.self_attn.q_norm", "blk.#.attn_q_norm"},
    {"layers.#.self_attn.k_norm", "blk.#.attn_k_norm"},
    {"layers.#.self_attn.qkv_proj", "blk.#.attn_qkv"},  // Phi-3
    {"layers.#.post_attention_layernorm", "blk.#.ffn_norm"},
    {"layers.#.mlp.gate_proj", "blk.#.ffn_gate"},
    {"layers.#.mlp.up_proj", "blk.#.ffn_up"},
    {"layers.#.mlp.gate_up_proj", "blk.#.ffn_up"},
    {"layers.#.mlp.down_proj", "blk.#.ffn_down"},
    {"norm", "output_norm"},
};

constexpr GgufName kGgufGemma[] = {
    {"embed_tokens", "token_embd"},
    {"layers.#.input_layernorm", "blk.#.attn_norm"},
    {"layers.#.self_attn.q_proj", "blk.#.attn_q"},
    {"layers.#.self_attn.k_proj", "blk.#.attn_k"},
    {"layers.#.self_attn.v_proj", "blk.#.attn_v"},
    {"layers.#.self_attn.o_proj", "blk.#.attn_output"},
    {"layers.#.self_attn.q_norm", "blk.#.attn_q_norm"},
    {"layers.#.self_attn.k_norm", "blk.#.attn_k_norm"},
    {"layers.#.post_attention_layernorm", "blk.#.post_attention_norm"},
    {"layers.#.pre_feedforward_layernorm", "blk.#.ffn_norm"},
    {"layers.#.post_feedforward_layernorm", "blk.#.post_ffw_norm"},
    {"layers.#.mlp.gate_proj", "blk.#.ffn_gate"},
    {"layers.#.mlp.up_proj", "blk.#.ffn_up"},
    {"layers.#.mlp.down_proj", "blk.#.ffn_down"},
    {"norm", "output_norm"},
};

constexpr GgufName kGgufGpt2[] = {
    {"wte", "token_embd"},
    {"wpe", "position_embd"},
    {"h.#.ln_1", "blk.#.attn_norm"},
    {"h.#.attn.c_attn", "blk.#.attn_qkv"},
    {"h.#.attn.c_proj", "blk.#.attn_output"},
    {"h.#.ln_2", "blk.#.ffn_norm"},
    {"h.#.mlp.c_fc", "blk.#.ffn_up"},
    {"h.#.mlp.c_proj", "blk.#.ffn_down"},
    {"ln_f", "output_norm"},
};

constexpr GgufName kGgufGptNeox[] = {
    {"embed_in", "token_embd"},
    {"layers.#.input_layernorm", "blk.#.attn_norm"},
    {"layers.#.attention.query_key_value", "blk.#.attn_qkv", GgufOrder::kHeadsLast},
    {"layers.#.attention.dense", "blk.#.attn_output"},
    {"layers.#.post_attention_layernorm", "blk.#.ffn_norm"},
    {"layers.#.mlp.dense_h_to_4h", "blk.#.ffn_up"},
    {"layers.#.mlp.dense_4h_to_h", "blk.#.ffn_down"},
    {"final_layer_norm", "output_norm"},
};

constexpr GgufName kGgufBloom[] = {
    {"word_embeddings", "token_embd"},
    {"word_embeddings_layernorm", "token_embd_norm"},
    {"h.#.input_layernorm", "blk.#.attn_norm"},
    {"h.#.self_attention.query_key_value", "blk.#.attn_qkv", GgufOrder::kHeadsLast},
    {"h.#.self_attention.dense", "blk.#.attn_output"},
    {"h.#.post_attention_layernorm", "blk.#.ffn_norm"},
    {"h.#.mlp.dense_h_to_4h", "blk.#.ffn_up"},
    {"h.#.mlp.dense_4h_to_h", "blk.#.ffn_down"},
    {"ln_f", "output_norm"},
};

constexpr GgufName kGgufBert[] = {
    {"embeddings.word_embeddings", "token_embd"},
    {"embeddings.position_embeddings", "position_embd"},
    {"embeddings.token_type_embeddings", "token_types"},
    {"embeddings.LayerNorm", "token_embd_norm"},
    {"encoder.layer.#.attention.self.query", "blk.#.attn_q"},
    {"encoder.layer.#.attention.self.key", "blk.#.attn_k"},
    {"encoder.layer.#.attention.self.value", "blk.#.attn_v"},
    {"encoder.layer.#.attention.output.dense", "blk.#.attn_output"},
    {"encoder.layer.#.attention.output.LayerNorm", "blk.#.attn_output_norm"},
    {"encoder.layer.#.intermediate.dense", "blk.#.ffn_up"},
    {"encoder.layer.#.output.dense", "blk.#.ffn_down"},
    {"encoder.layer.#.output.LayerNorm", "blk.#.layer_output_norm"},
};

constexpr GgufName kGgufT5[] = {
    {"shared", "token_embd"},
    {"encoder.block.#.layer.0.SelfAttention.q", "enc.blk.#.attn_q"},
    {"encoder.block.#.layer.0.SelfAttention.k", "enc.blk.#.attn_k"},
    {"encoder.block.#.layer.0.SelfAttention.v", "enc.blk.#.attn_v"},
    {"encoder.block.#.layer.0.SelfAttention.o", "enc.blk.#.attn_o"},
    {"encoder.block.#.layer.0.SelfAttention.relative_attention_bias", "enc.blk.#.attn_rel_b"},
    {"encoder.block.#.layer.0.layer_norm", "enc.blk.#.attn_norm"},
    {"encoder.block.#.layer.1.DenseReluDense.wi", "enc.blk.#.ffn_up"},
    {"encoder.block.#.layer.1.DenseReluDense.wi_0", "enc.blk.#.ffn_gate"},
    {"encoder.block.#.layer.1.DenseReluDense.wi_1", "enc.blk.#.ffn_up"},
    {"encoder.block.#.layer.1.DenseReluDense.wo", "enc.blk.#.ffn_down"},
    {"encoder.block.#.layer.1.layer_norm", "enc.blk.#.ffn_norm"},
    {"encoder.final_layer_norm", "enc.output_norm"},
};

constexpr GgufArchitecture kArchitectures[] = {
    {"llama", "llama", kGgufLlama},
    {"qwen2", "qwen2", kGgufQwen},
    {"qwen3", "qwen3", kGgufQwen},
    {"gemma2", "gemma2", kGgufGemma, false, true},
    {"gemma3", "gemma3_text", kGgufGemma, false, true},
    {"phi3", "phi3", kGgufQwen},
    {"gpt2", "gpt2", kGgufGpt2, true},
    {"gptneox", "gpt_neox", kGgufGptNeox},
    {"bloom", "bloom", kGgufBloom},
    {"bert", "bert", kGgufBert},
    {"t5", "t5", kGgufT5},
    {"t5encoder", "t5", kGgufT5},
};

// The metadata, with errors that name the file and the key.
class Metadata {
 public:
  explicit Metadata(const GgufFile& file) : file_(file) {}

  std::string architecture() const {
    const auto text = text_of("general.architecture");
    if (!text) throw input_error("{}: has no 'general.architecture', which says what the weights mean", file_.where());
    return *text;
  }
  const GgufFile& file() const { return file_; }

  // Of keys of the architecture: "llama." in front.
  std::optional<std::int64_t> integer(std::string_view key) const {
    const GgufValue* value = own(key);
    if (!value) return std::nullopt;
    if (const auto* number = std::get_if<std::int64_t>(value)) return *number;
    if (const auto* list = std::get_if<GgufList>(value)) {  // one for each layer
      const std::vector<std::int64_t> numbers = list->integers();
      if (!numbers.empty() && std::ranges::all_of(numbers, [&](std::int64_t n) { return n == numbers[0]; })) {
        return numbers[0];
      }
      fail(key, "differs between layers, which is not supported");
    }
    fail(key, "is no whole number");
  }
  std::optional<double> number(std::string_view key) const {
    const GgufValue* value = own(key);
    if (!value) return std::nullopt;
    if (const auto* number = std::get_if<double>(value); number && std::isfinite(*number)) return *number;
    if (const auto* number = std::get_if<std::int64_t>(value)) return static_cast<double>(*number);
    fail(key, "is no number");
  }
  std::optional<bool> flag(std::string_view key) const {
    const GgufValue* value = own(key);
    if (!value) return std::nullopt;
    if (const auto* flag = std::get_if<bool>(value)) return *flag;
    fail(key, "is not true or false");
  }
  std::optional<std::string> text(std::string_view key) const { return text_of(prefixed(key)); }
  std::int64_t needed(std::string_view key) const {
    const auto value = integer(key);
    if (!value) fail(key, "is missing");
    return *value;
  }
  [[noreturn]] void fail(std::string_view key, std::string_view problem) const {
    throw input_error("{}: {} {}", file_.where(), in_quotes(prefixed(key)), problem);
  }

 private:
  std::string prefixed(std::string_view key) const { return fmt::format("{}.{}", architecture(), key); }
  const GgufValue* own(std::string_view key) const { return file_.value(prefixed(key)); }
  std::optional<std::string> text_of(std::string_view key) const {
    const GgufValue* value = file_.value(key);
    if (!value) return std::nullopt;
    if (const auto* text = std::get_if<std::string_view>(value)) return std::string(*text);
    throw input_error("{}: {} is no text", file_.where(), in_quotes(key));
  }

  const GgufFile& file_;
};

template <class T>
void set(Json& config, const char* key, const std::optional<T>& value) {
  if (value) config[key] = *value;
}

bool has_tensor(const Metadata& of, std::string_view name) { return of.file().find(name) != nullptr; }

// One number for each pair of a head's channels, from a small tensor.
std::vector<double> rope_factors(const Metadata& of, std::string_view name) {
  const GgufTensor& tensor = *of.file().find(name);
  constexpr Index kMost = 4'096;
  if (tensor.shape.size() != 1 || tensor.n_cols() > kMost || tensor.type->name != "F32") {
    throw input_error("{}: tensor {} is no list of factors", of.file().where(), in_quotes(name));
  }
  std::vector<double> out(static_cast<std::size_t>(tensor.n_cols()));
  widen<double>(DType::kF32, tensor.bytes, out);
  return out;
}

// Zero where the file's numbers make no sense, which is refused later.
std::int64_t width_of_head(const Metadata& of) {
  const std::int64_t width = of.needed("embedding_length"), heads = of.needed("attention.head_count");
  return width > 0 && heads > 0 ? width / heads : 0;
}

void add_rotary(const Metadata& of, Json& config) {
  set(config, "rope_theta", of.number("rope.freq_base"));
  const std::int64_t d_head = of.integer("attention.key_length").value_or(width_of_head(of));
  if (const auto n = of.integer("rope.dimension_count"); n && *n != d_head && d_head > 0) {
    config["partial_rotary_factor"] = static_cast<double>(*n) / static_cast<double>(d_head);
  }
  const std::string type = of.text("rope.scaling.type").value_or("none");
  const auto factor = of.number("rope.scaling.factor");
  const auto original = of.integer("rope.scaling.original_context_length");
  if (has_tensor(of, "rope_factors_long.weight") && has_tensor(of, "rope_factors_short.weight")) {
    config["rope_scaling"] = {{"rope_type", "longrope"},
                              {"long_factor", rope_factors(of, "rope_factors_long.weight")},
                              {"short_factor", rope_factors(of, "rope_factors_short.weight")}};
    set(config["rope_scaling"], "attention_factor", of.number("rope.scaling.attn_factor"));
    set(config, "original_max_position_embeddings", original);
  } else if (has_tensor(of, "rope_freqs.weight")) {
    // Llama 3: the converter has worked out by how much each frequency is stretched.
    const std::vector<double> each = rope_factors(of, "rope_freqs.weight");
    config["rope_scaling"] = {
        {"rope_type", "longrope"}, {"long_factor", each},
        {"short_factor", each},    {"attention_factor", 1.0},
        {"factor", 1.0},           {"original_max_position_embeddings", of.needed("context_length")}};
  } else if (type == "linear" || type == "yarn") {
    config["rope_scaling"] = {{"rope_type", type}};
    set(config["rope_scaling"], "factor", factor);
    set(config["rope_scaling"], "original_max_position_embeddings", original);
    if (type == "yarn") {
      set(config["rope_scaling"], "beta_fast", of.number("rope.scaling.yarn_beta_fast"));
      set(config["rope_scaling"], "beta_slow", of.number("rope.scaling.yarn_beta_slow"));
    }
  } else if (type != "none") {
    of.fail("rope.scaling.type", fmt::format("is {}, expected none, linear or yarn", in_quotes(type)));
  }
}

// As most families call them.
Json common_sizes(const Metadata& of) {
  return {{"hidden_size", of.needed("embedding_length")},
          {"num_hidden_layers", of.needed("block_count")},
          {"num_attention_heads", of.needed("attention.head_count")},
          {"intermediate_size", of.needed("feed_forward_length")},
          {"max_position_embeddings", of.needed("context_length")}};
}

Json llama_config(const Metadata& of, std::string_view model_type) {
  Json config = common_sizes(of);
  config["num_key_value_heads"] = of.integer("attention.head_count_kv").value_or(of.needed("attention.head_count"));
  set(config, "head_dim", of.integer("attention.key_length"));
  if (of.integer("attention.value_length") != of.integer("attention.key_length")) {
    of.fail("attention.value_length", "differs from that of keys, which is not supported");
  }
  set(config, "rms_norm_eps", of.number("attention.layer_norm_rms_epsilon"));
  if (of.integer("expert_count").value_or(0) > 0) of.fail("expert_count", "is above 0: experts are not supported");
  add_rotary(of, config);
  if (model_type == "llama") {
    if (has_tensor(of, "blk.0.attn_q.bias")) config["attention_bias"] = true;
    set(config, "sliding_window", of.integer("attention.sliding_window"));
  }
  if (model_type == "phi3") set(config, "sliding_window", of.integer("attention.sliding_window"));
  return config;
}

// Gemma: the width that logits are divided by is not in the file; it follows from the size of the model.
void add_gemma(const Metadata& of, bool third, Json& config) {
  const std::int64_t n_layers = of.needed("block_count");
  const bool largest = n_layers == (third ? 62 : 46);
  const std::int64_t by_heads = width_of_head(of);
  config["query_pre_attn_scalar"] = largest ? by_heads : config.value("head_dim", by_heads);
  const auto window = of.integer("attention.sliding_window");
  if (!window) of.fail("attention.sliding_window", "is missing");
  config["sliding_window"] = *window;
  if (third) {
    config["sliding_window_pattern"] = of.integer("attention.sliding_window_pattern").value_or(6);
    config["rope_local_base_freq"] = of.number("rope.freq_base_swa").value_or(10000);
  } else {
    config["attn_logit_softcapping"] = of.number("attn_logit_softcapping").value_or(50);
  }
}

Json gpt2_config(const Metadata& of) {
  Json config = {{"n_embd", of.needed("embedding_length")},
                 {"n_layer", of.needed("block_count")},
                 {"n_head", of.needed("attention.head_count")},
                 {"n_inner", of.needed("feed_forward_length")},
                 {"n_positions", of.needed("context_length")}};
  set(config, "layer_norm_epsilon", of.number("attention.layer_norm_epsilon"));
  return config;
}

Json gpt_neox_config(const Metadata& of) {
  Json config = common_sizes(of);
  config["use_parallel_residual"] = of.flag("use_parallel_residual").value_or(true);
  config["attention_bias"] = has_tensor(of, "blk.0.attn_qkv.bias");
  set(config, "layer_norm_eps", of.number("attention.layer_norm_epsilon"));
  set(config, "rotary_emb_base", of.number("rope.freq_base"));
  if (const auto n = of.integer("rope.dimension_count")) {
    const std::int64_t d_head = width_of_head(of);
    if (d_head > 0) config["rotary_pct"] = static_cast<double>(*n) / static_cast<double>(d_head);
  }
  return config;
}

Json bloom_config(const Metadata& of) {
  Json config = {{"hidden_size", of.needed("embedding_length")},
                 {"n_layer", of.needed("block_count")},
                 {"n_head", of.needed("attention.head_count")},
                 {"n_inner", of.needed("feed_forward_length")}};
  set(config, "layer_norm_epsilon", of.number("attention.layer_norm_epsilon"));
  return config;
}

Json bert_config(const Metadata& of) {
  Json config = common_sizes(of);
  set(config, "layer_norm_eps", of.number("attention.layer_norm_epsilon"));
  config["is_decoder"] = of.flag("attention.causal").value_or(false);
  const GgufTensor* types = of.file().find("token_types.weight");
  config["type_vocab_size"] = types && types->shape.size() == 2 ? types->shape[0] : 0;
  return config;
}

Json t5_config(const Metadata& of) {
  Json config = {{"d_model", of.needed("embedding_length")},
                 {"num_layers", of.needed("block_count")},
                 {"num_heads", of.needed("attention.head_count")},
                 {"d_ff", of.needed("feed_forward_length")},
                 {"d_kv", of.needed("attention.key_length")},
                 {"relative_attention_num_buckets", of.needed("attention.relative_buckets_count")}};
  set(config, "layer_norm_epsilon", of.number("attention.layer_norm_rms_epsilon"));
  config["feed_forward_proj"] = has_tensor(of, "enc.blk.0.ffn_gate.weight") ? "gated-gelu" : "relu";
  return config;
}

}  // namespace

const GgufArchitecture& gguf_architecture(const GgufFile& file) {
  const std::string name = Metadata(file).architecture();
  const auto* found = std::ranges::find(kArchitectures, name, &GgufArchitecture::name);
  if (found != std::end(kArchitectures)) return *found;
  std::vector<std::string_view> known;
  for (const GgufArchitecture& one : kArchitectures) known.push_back(one.name);
  throw input_error("{}: the architecture {} is not supported, expected one of {}", file.where(), in_quotes(name),
                    fmt::join(known, ", "));
}

Json gguf_config(const GgufFile& file) {
  const GgufArchitecture& architecture = gguf_architecture(file);
  const Metadata of(file);
  const std::string_view type = architecture.model_type;
  Json config;
  if (type == "gpt2") {
    config = gpt2_config(of);
  } else if (type == "gpt_neox") {
    config = gpt_neox_config(of);
  } else if (type == "bloom") {
    config = bloom_config(of);
  } else if (type == "bert") {
    config = bert_config(of);
  } else if (type == "t5") {
    config = t5_config(of);
  } else {
    config = llama_config(of, type);
    if (architecture.whole_gains) add_gemma(of, type == "gemma3_text", config);
  }
  config["model_type"] = type == "llama" && config.contains("sliding_window") ? "mistral" : std::string(type);
  const GgufTensor* words = file.find("token_embd.weight");
  if (!words || words->shape.size() != 2) throw input_error("{}: has no matrix 'token_embd.weight'", file.where());
  config["vocab_size"] = words->shape[0];
  return config;
}

}  // namespace rankfall
