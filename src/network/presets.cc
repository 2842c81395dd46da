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
