#include "network/presets.h"

#include <algorithm>
#include <array>

#include "base/mapped.h"

namespace rankfall {
namespace {

struct Preset {
  const char* name;
  const char* hub;  // where the trained weights are released
  const char* config;
};

// Each configuration is the released model's config.json, as far as it matters.
constexpr std::array kPresets = {
    Preset{"bert-tiny", "google/bert_uncased_L-2_H-128_A-2",
           R"({"model_type": "bert", "hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2,
           "intermediate_size": 512, "vocab_size": 30522, "max_position_embeddings": 512})"},
    Preset{"bert-mini", "google/bert_uncased_L-4_H-256_A-4",
           R"({"model_type": "bert", "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4,
           "intermediate_size": 1024, "vocab_size": 30522, "max_position_embeddings": 512})"},
    Preset{"bert-small", "google/bert_uncased_L-4_H-512_A-8",
           R"({"model_type": "bert", "hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8,
           "intermediate_size": 2048, "vocab_size": 30522, "max_position_embeddings": 512})"},
    Preset{"bert-medium", "google/bert_uncased_L-8_H-512_A-8",
           R"({"model_type": "bert", "hidden_size": 512, "num_hidden_layers": 8, "num_attention_heads": 8,
           "intermediate_size": 2048, "vocab_size": 30522, "max_position_embeddings": 512})"},
    Preset{"bert-base", "google-bert/bert-base-cased",
           R"({"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
           "intermediate_size": 3072, "vocab_size": 28996, "max_position_embeddings": 512})"},
    Preset{"bert-large", "google-bert/bert-large-cased",
           R"({"model_type": "bert", "hidden_size": 1024, "num_hidden_layers": 24,
           "num_attention_heads": 16, "intermediate_size": 4096, "vocab_size": 28996, "max_position_embeddings": 512})"},
    Preset{"albert-base", "albert/albert-base-v2",
           R"({"model_type": "albert", "hidden_size": 768, "num_hidden_layers": 12,
           "num_attention_heads": 12, "intermediate_size": 3072, "embedding_size": 128, "vocab_size": 30000,
           "max_position_embeddings": 512, "hidden_act": "gelu_new"})"},
    Preset{"xlnet-base", "xlnet/xlnet-base-cased",
           R"({"model_type": "xlnet", "d_model": 768, "n_layer": 12, "n_head": 12, "d_inner": 3072,
           "vocab_size": 32000, "ff_activation": "gelu"})"},
    Preset{"distilbert", "distilbert/distilbert-base-uncased",
           R"({"model_type": "distilbert", "dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072,
           "vocab_size": 30522, "max_position_embeddings": 512})"},
    Preset{"roberta-base", "FacebookAI/roberta-base",
           R"({"model_type": "roberta", "hidden_size": 768, "num_hidden_layers": 12,
           "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 50265, "max_position_embeddings": 514,
           "type_vocab_size": 1, "layer_norm_eps": 1e-05, "pad_token_id": 1})"},
    Preset{"electra-base", "google/electra-base-discriminator",
           R"({"model_type": "electra", "hidden_size": 768, "num_hidden_layers": 12,
           "num_attention_heads": 12, "intermediate_size": 3072, "embedding_size": 768, "vocab_size": 30522,
           "max_position_embeddings": 512})"},
    Preset{"gpt2", "openai-community/gpt2",
           R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257,
           "n_positions": 1024})"},
    Preset{"gpt2-medium", "openai-community/gpt2-medium",
           R"({"model_type": "gpt2", "n_embd": 1024, "n_layer": 24, "n_head": 16, "vocab_size": 50257,
           "n_positions": 1024})"},
    Preset{"vit-base", "google/vit-base-patch16-224",
           R"({"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
           "intermediate_size": 3072, "image_size": 224, "patch_size": 16})"},
    Preset{"t5-small", "google-t5/t5-small",
           R"({"model_type": "t5", "d_model": 512, "num_layers": 6, "num_heads": 8, "d_kv": 64, "d_ff": 2048,
           "vocab_size": 32128})"},
    Preset{"t5-base", "google-t5/t5-base",
           R"({"model_type": "t5", "d_model": 768, "num_layers": 12, "num_heads": 12, "d_kv": 64,
           "d_ff": 3072, "vocab_size": 32128})"},
    Preset{"tinyllama", "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
           R"({"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 22,
           "num_attention_heads": 32, "num_key_value_heads": 4, "intermediate_size": 5632, "vocab_size": 32000,
           "rms_norm_eps": 1e-05})"},
    Preset{"llama-3.2-1b", "meta-llama/Llama-3.2-1B",
           R"({"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
           "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 8192, "vocab_size": 128256,
           "max_position_embeddings": 131072, "rms_norm_eps": 1e-05, "rope_theta": 500000.0,
           "rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
           "original_max_position_embeddings": 8192}})"},
    Preset{"mistral-7b", "mistralai/Mistral-7B-v0.1",
           R"({"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
           "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000,
           "max_position_embeddings": 32768, "rms_norm_eps": 1e-05, "sliding_window": 4096})"},
    Preset{"qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B",
           R"({"model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14,
           "num_key_value_heads": 2, "intermediate_size": 4864, "vocab_size": 151936,
           "max_position_embeddings": 32768, "rope_theta": 1000000.0})"},
    Preset{"qwen3-0.6b", "Qwen/Qwen3-0.6B",
           R"({"model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16,
           "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072, "vocab_size": 151936,
           "max_position_embeddings": 40960, "rope_theta": 1000000.0})"},
    Preset{"gemma-2-2b", "google/gemma-2-2b",
           R"({"model_type": "gemma2", "hidden_size": 2304, "num_hidden_layers": 26, "num_attention_heads": 8,
           "num_key_value_heads": 4, "head_dim": 256, "intermediate_size": 9216, "vocab_size": 256000,
           "attn_logit_softcapping": 50.0, "query_pre_attn_scalar": 256, "sliding_window": 4096})"},
    Preset{"gemma-3-270m", "google/gemma-3-270m",
           R"({"model_type": "gemma3_text", "hidden_size": 640, "num_hidden_layers": 18, "num_attention_heads": 4,
           "num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 2048, "vocab_size": 262144,
           "max_position_embeddings": 32768, "query_pre_attn_scalar": 256, "sliding_window": 512,
           "sliding_window_pattern": 6, "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0})"},
    Preset{"olmo2-1b", "allenai/OLMo-2-0425-1B",
           R"({"model_type": "olmo2", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16,
           "intermediate_size": 8192, "vocab_size": 100352, "max_position_embeddings": 4096, "rms_norm_eps": 1e-06,
           "rope_theta": 500000.0})"},
    Preset{"phi-3-mini", "microsoft/Phi-3-mini-4k-instruct",
           R"({"model_type": "phi3", "hidden_size": 3072, "num_hidden_layers": 32, "num_attention_heads": 32,
           "intermediate_size": 8192, "vocab_size": 32064, "max_position_embeddings": 4096,
           "original_max_position_embeddings": 4096, "sliding_window": 2047})"},
    Preset{"pythia-70m", "EleutherAI/pythia-70m",
           R"({"model_type": "gpt_neox", "hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8,
           "intermediate_size": 2048, "vocab_size": 50304, "rotary_pct": 0.25})"},
    Preset{"pythia-160m", "EleutherAI/pythia-160m",
           R"({"model_type": "gpt_neox", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
           "intermediate_size": 3072, "vocab_size": 50304, "rotary_pct": 0.25})"},
    Preset{"pythia-410m", "EleutherAI/pythia-410m",
           R"({"model_type": "gpt_neox", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
           "intermediate_size": 4096, "vocab_size": 50304, "rotary_pct": 0.25})"},
    Preset{"pythia-1.4b", "EleutherAI/pythia-1.4b",
           R"({"model_type": "gpt_neox", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16,
           "intermediate_size": 8192, "vocab_size": 50304, "rotary_pct": 0.25})"},
    Preset{"opt-125m", "facebook/opt-125m",
           R"({"model_type": "opt", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
           "ffn_dim": 3072, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 768})"},
    Preset{"bloom-560m", "bigscience/bloom-560m",
           R"({"model_type": "bloom", "hidden_size": 1024, "n_layer": 24, "n_head": 16, "vocab_size": 250880})"},
    Preset{"modernbert-base", "answerdotai/ModernBERT-base",
           R"({"model_type": "modernbert", "hidden_size": 768, "num_hidden_layers": 22, "num_attention_heads": 12,
           "intermediate_size": 1152, "vocab_size": 50368, "max_position_embeddings": 8192, "local_attention": 128,
           "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0})"},
};

std::optional<std::string_view> entry_of(std::string_view name, const char* Preset::*entry) {
  const auto* found = std::ranges::find(kPresets, name, &Preset::name);
  return found == kPresets.end() ? std::nullopt : std::optional<std::string_view>(found->*entry);
}

}  // namespace

std::vector<std::string> preset_names() { return mapped<std::string>(kPresets, &Preset::name); }

std::optional<std::string_view> preset_config(std::string_view name) { return entry_of(name, &Preset::config); }

std::optional<std::string_view> preset_hub_name(std::string_view name) { return entry_of(name, &Preset::hub); }

}  // namespace rankfall
