#include "engine/kernel/moments.h"

namespace rankfall {

Moments moments_of(const Network& network, const TensorSlice& slice) {
  const TensorSpec& spec = network.tensors[static_cast<std::size_t>(slice.tensor)];
  const double scale = spec.init.scale;
  switch (spec.init.kind) {
    case Init::Kind::kConstant:
      return {scale + spec.offset, 0};
    case Init::Kind::kNormal:
      return {spec.offset, scale * scale};
    case Init::Kind::kTruncatedNormal:
      return {spec.offset, 0.7737413035499232 * scale * scale};  // 1 - 4 phi(2) / (2 Phi(2) - 1)
    case Init::Kind::kUniform:
      return {spec.offset, scale * scale / 3};
  }
  return {};
}

LinearMoments moments_of(const Network& network, const Linear& linear) {
  LinearMoments out{static_cast<double>(linear.n_in()) * moments_of(network, linear.w).variance, 0};
  if (linear.b) out.bias = moments_of(network, *linear.b).square();
  return out;
}

NormMoments moments_of(const Network& network, const Norm& norm) {
  NormMoments out;
  if (norm.gain) out.gain = moments_of(network, *norm.gain).square();
  if (norm.bias) out.bias = moments_of(network, *norm.bias).square();
  return out;
}

}  // namespace rankfall
