#pragma once

#include <rankfall/matrix.h>
#include <rankfall/network.h>

// Constants of position schemes that are the same for every weight.

namespace rankfall {

// XLNet's table of relative positions: row t is (sin(m w_0), .., sin(m w_k), cos(m w_0), ..) with w_i = 10000^(-2i/d)
// and m = (n - 1) - t, t = 0..2n-2. d is even.
//
// The table is float32 in every precision, each step rounded as PyTorch rounds it, sine and cosine by SLEEF, which
// PyTorch uses: it is the table the models were trained with, and everybody else's float64 results contain it. An exact
// sine would differ from it by up to 1e-6 at m = 10.
Matrix<float> xlnet_sinusoid(Index n, Index d);

// T5's bucket of a distance j - i (key minus query) among n_buckets. The logarithm is taken in float32, as in the
// models' own code, where it decides the bucket at the boundaries.
Index t5_bucket(Index distance, Index n_buckets, Index max_distance);

// Cosine and sine, times the magnitude, of the angle p w_c: row p, column c = 0..m/2-1, m the channels that are turned.
template <class T>
struct RotaryTable {
  Matrix<T> cos, sin;

  template <class U>
  RotaryTable<U> cast() const {
    return {cos.template cast<U>(), sin.template cast<U>()};
  }
};
// For samples of n tokens.
RotaryTable<double> rotary_table(Index n, Index d_head, const RotaryPositions& rotary);

// Whether samples of different lengths are turned differently.
bool depends_on_length(const RotaryPositions& rotary);

}  // namespace rankfall
