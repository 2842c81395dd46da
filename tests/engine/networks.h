#pragma once

#include <string>
#include <vector>

#include <rankfall/model.h>
#include <rankfall/sample.h>

namespace rankfall {

// Small networks that between them use every sub-layer kind, norm place, mask, activation and position scheme that a
// specification can name.
inline std::vector<std::string> small_networks() {
  const std::string size = "san:layers=3,heads=3,dim=12,std=0.3,vocab=50";
  return {
      size + ",norm=none",
      size + ",norm=post",
      size + ",norm=pre,mlp=20",
      size + ",norm=post,mlp=20,act=relu",
      size + ",norm=post,mlp=20,act=gelu_new,positions=40",
      size + ",norm=none,mask=causal",
      size + ",norm=pre,mask=window,window=2,global=1",
      size + ",norm=post,mask=causal-window,window=3,mlp=7,act=tanh",
      size + ",norm=post,relative=xlnet,mlp=20",
      size + ",norm=none,relative=xlnet,mask=causal",
      size + ",norm=post,mlp=20,shared=1,embed=5,act=silu",
      size + ",norm=none,bias=0,attn_skip=0",
      size + ",norm=post,mlp=20,mlp_skip=0,branch=0.5,attn_skip=0.25",
      "san:layers=2,heads=2,dim=8,features=3,feature_layers=2,norm=post,std=0.5,labels=4",
      "san:layers=1,heads=1,dim=1,features=1,norm=none,std=0.5,input_norm=0",
  };
}

// Families with what no specification has: T5's biases, rotary positions, gated MLPs, shared key heads, RMSNorm, and of
// the newer ones parallel branches, weights in runs, partial and scaled rotary positions, windows by layer, norms of
// queries and keys, soft caps, norms behind branches, gains 1 + w, ALiBi, a projected word table.
inline std::vector<std::string> small_configs() {
  return {
      R"({"model_type": "t5", "d_model": 12, "d_kv": 4, "d_ff": 20, "num_layers": 3, "num_heads": 3, "vocab_size": 50,
          "relative_attention_num_buckets": 8, "relative_attention_max_distance": 20, "feed_forward_proj": "gated-gelu"})",
      R"({"model_type": "llama", "hidden_size": 16, "intermediate_size": 20, "num_hidden_layers": 3,
          "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_act": "silu", "rms_norm_eps": 1e-6,
          "vocab_size": 50, "max_position_embeddings": 64, "initializer_range": 0.2})",
      R"({"model_type": "gpt_neox", "hidden_size": 16, "intermediate_size": 20, "num_hidden_layers": 3,
          "num_attention_heads": 4, "rotary_pct": 0.5, "vocab_size": 50, "initializer_range": 0.2})",
      R"({"model_type": "gemma2", "hidden_size": 12, "intermediate_size": 20, "num_hidden_layers": 3,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4, "query_pre_attn_scalar": 3,
          "attn_logit_softcapping": 2.0, "sliding_window": 3, "vocab_size": 50, "initializer_range": 0.2})",
      R"({"model_type": "qwen3", "hidden_size": 12, "intermediate_size": 20, "num_hidden_layers": 3,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4, "vocab_size": 50,
          "initializer_range": 0.2})",
      R"({"model_type": "olmo3", "hidden_size": 16, "intermediate_size": 20, "num_hidden_layers": 3,
          "num_attention_heads": 4, "num_key_value_heads": 2, "sliding_window": 3, "vocab_size": 50,
          "initializer_range": 0.2})",
      R"({"model_type": "phi3", "hidden_size": 24, "intermediate_size": 20, "num_hidden_layers": 3,
          "num_attention_heads": 3, "partial_rotary_factor": 0.5, "vocab_size": 50, "initializer_range": 0.2,
          "max_position_embeddings": 64, "original_max_position_embeddings": 4,
          "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.5], "long_factor": [2.0, 3.0]}})",
      R"({"model_type": "modernbert", "hidden_size": 12, "intermediate_size": 20, "num_hidden_layers": 3,
          "num_attention_heads": 3, "local_attention": 4, "vocab_size": 50, "initializer_range": 0.2})",
      R"({"model_type": "bloom", "hidden_size": 12, "n_layer": 3, "n_head": 3, "vocab_size": 50,
          "initializer_range": 0.2})",
      R"({"model_type": "opt", "hidden_size": 12, "ffn_dim": 20, "num_hidden_layers": 3, "num_attention_heads": 3,
          "max_position_embeddings": 40, "word_embed_proj_dim": 8, "do_layer_norm_before": false, "vocab_size": 50,
          "init_std": 0.2})",
  };
}

inline std::vector<std::string> all_small_networks() {
  std::vector<std::string> all = small_networks();
  for (const std::string& config : small_configs()) all.push_back(config);
  return all;
}

// A specification, or the text of a config.json with drawn weights.
inline Model open_small(const std::string& text, std::uint64_t seed) {
  if (text[0] != '{') return open_model(text, seed);
  Model model;
  model.name = "config";
  model.network = network_from_config(text, "config.json");
  model.weights = draw_weights(model.network.tensors, seed);
  model.drawn = true;
  return model;
}

}  // namespace rankfall
