#include "network/families/builder.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "io/utf8.h"

namespace rankfall {
namespace {

// The activation a config.json names (gelu, gelu_new, relu, ...), or nothing.
std::optional<Activation> activation_named(std::string_view name) {
  if (name == "gelu" || name == "gelu_python") return Activation::kGelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::kGeluTanh;
  if (name == "gelu_fast") return Activation::kGeluFast;
  if (name == "gelu_bloom") return Activation::kGeluBloom;
  if (name == "relu") return Activation::kRelu;
  if (name == "silu" || name == "swish") return Activation::kSilu;
  if (name == "tanh") return Activation::kTanh;
  if (name == "linear" || name == "identity") return Activation::kIdentity;
  return std::nullopt;
}

}  // namespace

TensorSlice NetworkBuilder::tensor(const std::string& name, std::vector<Index> shape, Init init) {
  const auto [entry, is_new] = by_name_.try_emplace(name, static_cast<int>(network_.tensors.size()));
  if (is_new) network_.tensors.push_back({name, std::move(shape), init});
  const TensorSpec& spec = network_.tensors[static_cast<std::size_t>(entry->second)];
  return {entry->second, 0, 0, spec.matrix_rows(), spec.matrix_cols(), false};
}

Linear NetworkBuilder::linear(const std::string& prefix, Index n_in, Index n_out, Init init, bool bias) {
  Linear f{tensor(prefix + ".weight", {n_out, n_in}, init)};
  if (bias) f.b = tensor(prefix + ".bias", {n_out}, constant(0));
  return f;
}

Norm NetworkBuilder::layer_norm(const std::string& prefix, Index width, double eps, bool bias) {
  Norm norm{Norm::Kind::kLayer, eps, tensor(prefix + ".weight", {width}, constant(1))};
  if (bias) norm.bias = tensor(prefix + ".bias", {width}, constant(0));
  return norm;
}

Norm NetworkBuilder::rms_norm(const std::string& prefix, Index width, double eps) {
  return {Norm::Kind::kRms, eps, tensor(prefix + ".weight", {width}, constant(1))};
}

Norm NetworkBuilder::offset_rms_norm(const std::string& prefix, Index width, double eps) {
  const TensorSlice gain = tensor(prefix + ".weight", {width}, constant(0));
  network_.tensors[static_cast<std::size_t>(gain.tensor)].offset = 1;
  return {Norm::Kind::kRms, eps, gain};
}

// Dynamic scaling of rotary positions is for inputs longer than the model's own.
Network NetworkBuilder::finish() && {
  for (const SubLayer& layer : network_.layers) {
    const Attention* attention = layer.attention();
    const auto* rotary = attention ? std::get_if<RotaryPositions>(&attention->positions) : nullptr;
    const auto* dynamic = rotary ? std::get_if<DynamicScaling>(&rotary->scaling) : nullptr;
    if (!dynamic) continue;
    const double longest = std::min(dynamic->factor * dynamic->original, static_cast<double>(kMaxPositions));
    network_.sizes.max_positions = std::max(network_.sizes.max_positions, static_cast<Index>(longest));
  }
  return std::move(network_);
}

Linear rows_of(Linear f, Index first, Index count) {
  f.w = outputs_of(f.w, false, first, count);
  if (f.b) f.b = outputs_of(*f.b, true, first, count);
  return f;
}

Linear head_by_head(Linear f, Index d_head, Index which) {
  const auto part = [&](TensorSlice& slice, bool is_vector) {
    slice = outputs_of(slice, is_vector, which * d_head, (is_vector ? slice.cols : slice.rows) / 3);
    slice.run = d_head;
    slice.period = 3 * d_head;
  };
  part(f.w, false);
  if (f.b) part(*f.b, true);
  return f;
}

Attention plain_attention(Index n_heads, Index d_model, const Config& config) {
  if (d_model % n_heads != 0) config.fail("{} heads do not divide the width {}", n_heads, d_model);
  Attention attention;
  attention.n_heads = attention.n_kv_heads = n_heads;
  attention.d_head = d_model / n_heads;
  attention.scale = 1.0 / std::sqrt(static_cast<double>(attention.d_head));
  return attention;
}

void check_absolute_positions(const Config& config) {
  const std::string scheme = config.text("position_embedding_type", "absolute");
  if (scheme != "absolute") config.fail("'position_embedding_type' is {}, expected 'absolute'", in_quotes(scheme));
}

void check_causal(const Config& config) {
  if (config.flag("is_causal", true)) return;
  config.fail("'is_causal' is false, expected true: tokens of this family see only tokens before them");
}

Activation activation_of(const Config& config, std::string_view key, std::string_view fallback) {
  const std::string name = config.text(key, fallback);
  const auto activation = activation_named(name);
  if (!activation) {
    config.fail("'{}' is {}, an unsupported activation; expected gelu, gelu_new, gelu_fast, relu, silu, tanh or linear",
                key, in_quotes(name));
  }
  return *activation;
}

}  // namespace rankfall
