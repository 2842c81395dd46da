#pragma once

#include <cmath>
#include <type_traits>

#include <unsupported/Eigen/SpecialFunctions>

#include "engine/dense/activation.h"
#include <rankfall/matrix.h>

namespace rankfall {

// GELU(x) = x Phi(x) = x (1 + erf(x / sqrt 2)) / 2.
template <class T>
void gelu(MutableMatrixRef<T>& x) {
  using std::erf;
  using std::sqrt;
  const T half = T(1) / T(2);
  const T root_half = sqrt(half);
  if constexpr (std::is_same_v<T, float>) {  // Eigen's vectorised erf, good to 2 units in the last place
    x.array() *= half * (T(1) + (x.array() * root_half).erf());
  } else {
    x = x.unaryExpr([=](const T& v) -> T { return v * half * (T(1) + erf(T(v * root_half))); });
  }
}

// x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2 with the constants as every published implementation has them:
// written out in decimal, so they mean the same number in every precision.
template <class T>
void gelu_tanh(const T& root, MutableMatrixRef<T>& x) {
  using std::tanh;
  const T half = T(1) / T(2);
  const T cubic = T(0.044715);
  if constexpr (std::is_same_v<T, float>) {
    x.array() *= half * (T(1) + (root * (x.array() + cubic * x.array().cube())).tanh());
  } else {
    x = x.unaryExpr([=](const T& v) -> T { return half * v * (T(1) + tanh(T(root * (v + cubic * v * v * v)))); });
  }
}

template <class T>
void activate(Activation act, MutableMatrixRef<T> x) {
  using std::sqrt;
  switch (act) {
    case Activation::kIdentity:
      return;
    case Activation::kRelu:
      x = x.cwiseMax(T(0));
      return;
    case Activation::kGelu:
      gelu<T>(x);
      return;
    case Activation::kGeluTanh:
      gelu_tanh<T>(sqrt(T(2) / T(3.14159265358979323846)), x);
      return;
    case Activation::kGeluBloom:
      gelu_tanh<T>(T(kBloomRoot), x);
      return;
    case Activation::kGeluFast:
      gelu_tanh<T>(T(kFastRoot), x);
      return;
    case Activation::kSilu:
      x.array() /= T(1) + (-x.array()).exp();
      return;
    case Activation::kTanh:
      x = x.array().tanh().matrix();
      return;
  }
}

}  // namespace rankfall
