#pragma once

#include <optional>

#include <rankfall/network.h>

namespace rankfall {

// Mean and variance of the entries of a tensor as it is drawn.
struct Moments {
  double mean = 0, variance = 0;
  double square() const { return mean * mean + variance; }
};
Moments moments_of(const Network& network, const TensorSlice& slice);

// What a drawn linear map makes of a Gram matrix: K becomes factor K + bias. Weights have mean zero.
struct LinearMoments {
  double factor = 0, bias = 0;
};
LinearMoments moments_of(const Network& network, const Linear& linear);

// E gain^2 and E bias^2 of a norm.
struct NormMoments {
  double gain = 1, bias = 0;
};
NormMoments moments_of(const Network& network, const Norm& norm);

}  // namespace rankfall
