#include "model/activation.h"

#include "model/activation_impl.h"

namespace rankfall {

template void activate<float>(Activation, MutableMatrixRef<float>);
template void activate<double>(Activation, MutableMatrixRef<double>);

std::optional<Activation> activation_named(std::string_view name) {
  if (name == "gelu" || name == "gelu_python") return Activation::kGelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast") return Activation::kGeluTanh;
  if (name == "relu") return Activation::kRelu;
  if (name == "silu" || name == "swish") return Activation::kSilu;
  if (name == "tanh") return Activation::kTanh;
  if (name == "linear" || name == "identity") return Activation::kIdentity;
  return std::nullopt;
}

}  // namespace rankfall
