#pragma once

#include <concepts>
#include <utility>

#include <rankfall/forward.h>
#include <rankfall/network.h>

namespace rankfall {

// A domain is a kind of state and its arithmetic for one sample. It is told which sub-layer's weights are loaded
// (enter), then step() calls norm, apply and combine in the order that makes a transformer; hidden() after each block
// with the complete hidden state (state 0 is the input).
template <class D>
concept Domain = requires(D d, const typename D::State& x, typename D::State y, const Norm& norm,
                          const Attention& attention, const Mlp& mlp, const Elementwise& elementwise,
                          const typename D::Layer& layer) {
  {d.enter(layer)};
  { d.norm(norm, NormPlace::kPre, std::move(y)) } -> std::same_as<typename D::State>;
  { d.apply(attention, x) } -> std::same_as<typename D::State>;
  { d.apply(mlp, x) } -> std::same_as<typename D::State>;
  { d.apply(elementwise, x) } -> std::same_as<typename D::State>;
  { d.combine(1.0, std::move(y), 1.0, std::move(y)) } -> std::same_as<typename D::State>;
  {d.hidden(Index{0}, x)};
};

// y = post(skip * x + branch * f(pre(x))): the one place that knows the order of operations.
template <Domain D>
typename D::State step(D& d, const SubLayer& layer, typename D::State x) {
  using State = typename D::State;
  const auto apply = [&](const State& in) {
    return std::visit([&](const auto& f) -> State { return d.apply(f, in); }, layer.f);
  };
  State y = layer.pre ? apply(d.norm(*layer.pre, NormPlace::kPre, State(x))) : apply(x);
  State z = d.combine(layer.skip, std::move(x), layer.branch, std::move(y));
  return layer.post ? d.norm(*layer.post, NormPlace::kPost, std::move(z)) : z;
}

// The transpose of a step whose parts are linear: from a direction at its end to the direction at its beginning.
template <class D>
typename D::State step_back(D& d, const SubLayer& layer, typename D::State y) {
  using State = typename D::State;
  State z = layer.post ? d.norm_back(*layer.post, NormPlace::kPost, std::move(y)) : std::move(y);
  State x = std::visit([&](const auto& f) -> State { return d.apply_back(f, z); }, layer.f);
  if (layer.pre) x = d.norm_back(*layer.pre, NormPlace::kPre, std::move(x));
  return d.combine(layer.skip, std::move(z), layer.branch, std::move(x));
}

}  // namespace rankfall
