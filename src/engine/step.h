#pragma once

#include <concepts>
#include <utility>

#include <rankfall/forward.h>
#include <rankfall/network.h>

namespace rankfall {

// A domain is a kind of state and its arithmetic for one sample. It is told which sub-layer's weights are loaded
// (enter), then step() calls norm, apply, sum and combine in the order that makes a transformer; hidden() after each
// block with the complete hidden state (state 0 is the input). A domain that has enter_branch() is told which branch is
// next.
template <class D>
concept Domain = requires(D d, const typename D::State& x, typename D::State y, const Norm& norm,
                          const Attention& attention, const Mlp& mlp, const Elementwise& elementwise,
                          const typename D::Layer& layer) {
  {d.enter(layer)};
  { d.norm(norm, NormPlace::kPre, std::move(y)) } -> std::same_as<typename D::State>;
  { d.apply(attention, x) } -> std::same_as<typename D::State>;
  { d.apply(mlp, x) } -> std::same_as<typename D::State>;
  { d.apply(elementwise, x) } -> std::same_as<typename D::State>;
  { d.sum(1.0, std::move(y), 1.0, std::move(y)) } -> std::same_as<typename D::State>;
  { d.combine(1.0, std::move(y), 1.0, std::move(y)) } -> std::same_as<typename D::State>;
  {d.hidden(Index{0}, x)};
};

// The branches of a sub-layer, each by `of(branch)`, and what they add up to with their scales. The last factor is left
// to the caller, who adds the skip.
template <class D, class Of>
std::pair<double, typename D::State> sum_of_branches(D& d, const SubLayer& layer, const Of& of) {
  double factor = 1;
  typename D::State sum{};
  for (std::size_t b = 0; b < layer.branches.size(); ++b) {
    const Branch& branch = layer.branches[b];
    if constexpr (requires { d.enter_branch(Index{0}); }) d.enter_branch(static_cast<Index>(b));
    typename D::State y = of(branch);
    sum = b == 0 ? std::move(y) : d.sum(std::exchange(factor, 1), std::move(sum), branch.scale, std::move(y));
    if (b == 0) factor = branch.scale;
  }
  return {factor, std::move(sum)};
}

// y = post(skip * x + sum of scale * out(f(in(x)))): the one place that knows the order of operations.
template <Domain D>
typename D::State step(D& d, const SubLayer& layer, typename D::State x) {
  using State = typename D::State;
  auto [factor, y] = sum_of_branches(d, layer, [&](const Branch& branch) {
    const auto apply = [&](const State& in) {
      return std::visit([&](const auto& f) -> State { return d.apply(f, in); }, branch.f);
    };
    State of_branch = branch.in ? apply(d.norm(*branch.in, NormPlace::kPre, State(x))) : apply(x);
    return branch.out ? d.norm(*branch.out, NormPlace::kOut, std::move(of_branch)) : of_branch;
  });
  State z = d.combine(layer.skip, std::move(x), factor, std::move(y));
  return layer.post ? d.norm(*layer.post, NormPlace::kPost, std::move(z)) : z;
}

// The transpose of a step whose parts are linear: from a direction at its end to the direction at its beginning.
template <class D>
typename D::State step_back(D& d, const SubLayer& layer, typename D::State y) {
  using State = typename D::State;
  State z = layer.post ? d.norm_back(*layer.post, NormPlace::kPost, std::move(y)) : std::move(y);
  auto [factor, x] = sum_of_branches(d, layer, [&](const Branch& branch) {
    const auto apply_back = [&](const State& end) {
      return std::visit([&](const auto& f) -> State { return d.apply_back(f, end); }, branch.f);
    };
    State of_branch = branch.out ? apply_back(d.norm_back(*branch.out, NormPlace::kOut, State(z))) : apply_back(z);
    return branch.in ? d.norm_back(*branch.in, NormPlace::kPre, std::move(of_branch)) : of_branch;
  });
  return d.combine(layer.skip, std::move(z), factor, std::move(x));
}

}  // namespace rankfall
