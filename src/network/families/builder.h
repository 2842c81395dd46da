#pragma once

#include <map>
#include <string>
#include <vector>

#include "network/config.h"
#include <rankfall/network.h>

namespace rankfall {

inline Init normal(double stddev) { return {Init::Kind::kNormal, stddev}; }
inline Init constant(double value) { return {Init::Kind::kConstant, value}; }
inline Init uniform(double half_width) { return {Init::Kind::kUniform, half_width}; }

// Collects the tensors of a network while a family describes its layers. A name asked for twice is one tensor, which is
// how layers are shared.
class NetworkBuilder {
 public:
  explicit NetworkBuilder(std::string family) { network_.family = std::move(family); }

  // The whole tensor as a slice; a vector is one row.
  TensorSlice tensor(const std::string& name, std::vector<Index> shape, Init init);
  // prefix.weight [out, in], drawn from `init`, and prefix.bias, zero.
  Linear linear(const std::string& prefix, Index n_in, Index n_out, Init init, bool bias = true);
  // prefix.weight, ones, and prefix.bias, zeros.
  Norm layer_norm(const std::string& prefix, Index width, double eps, bool bias = true);
  // prefix.weight, ones.
  Norm rms_norm(const std::string& prefix, Index width, double eps);
  // The same with 1 + prefix.weight as the gain, drawn as one.
  Norm offset_rms_norm(const std::string& prefix, Index width, double eps);

  void add(const SubLayer& layer) { network_.layers.push_back(layer); }
  Network& network() { return network_; }
  Network finish() &&;

 private:
  Network network_;
  std::map<std::string, int> by_name_;
};

// One function per family: config in, description out. A new family is a line in families.cc and a file like these.
Network make_albert(const Config& config);
Network make_bloom(const Config& config);
Network make_bert(const Config& config);  // also roberta and electra, which differ in positions and embedding width
Network make_distilbert(const Config& config);
Network make_gemma2(const Config& config);
Network make_gemma3(const Config& config);  // the part that reads text
Network make_gpt2(const Config& config);
Network make_gpt_neox(const Config& config);
Network make_llama(const Config& config);
Network make_mistral(const Config& config);
Network make_modernbert(const Config& config);
Network make_olmo2(const Config& config);
Network make_olmo3(const Config& config);
Network make_opt(const Config& config);
Network make_phi3(const Config& config);
Network make_qwen2(const Config& config);
Network make_qwen3(const Config& config);
Network make_san(const Config& config);
Network make_t5(const Config& config);  // its encoder
Network make_vit(const Config& config);
Network make_xlnet(const Config& config);

// Sizes that every family has; checks that the heads divide the width. Attention with logits scaled by 1/sqrt(d_head).
Attention plain_attention(Index n_heads, Index d_model, const Config& config);

// Outputs first .. first + count of a linear map that is stored [out, in].
Linear rows_of(Linear f, Index first, Index count);

// Of a map whose outputs are query, key and value of one head after the other: all queries (which = 0), keys or values.
Linear head_by_head(Linear f, Index d_head, Index which);

// Fails if `position_embedding_type` says anything else.
void check_absolute_positions(const Config& config);

// Fails if `is_causal` is false: some decoders are published as encoders, with the same model_type.
void check_causal(const Config& config);

// The activation named under `key`; fails on an unknown one, listing the known.
Activation activation_of(const Config& config, std::string_view key, std::string_view fallback);

}  // namespace rankfall
