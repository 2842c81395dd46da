#pragma once

#include <cstdint>
#include <vector>

#include <rankfall/matrix.h>

// Layers that attention's cost is measured beside, each from n tokens of d channels to as many of d. Instantiated for
// float and double. Products run as everywhere: BLAS on one thread (the caller holds BlasThreads(1)), cut into panels
// of kPanelColumns outputs that run in parallel.

namespace rankfall {

// Of a layer that takes n tokens.
template <class T>
struct LayerOutput {
  Matrix<T> y;        // [n, d]
  Index n_steps = 1;  // tokens that had to wait for the one before them, with the first
};

// Each layer draws its weights, uniform within 1/sqrt(d), of a convolution 1/sqrt(kernel d). Requires d >= 1, kernel
// >= 1.

// The four linear maps of attention, and nothing between them: o(v(x)), and q(x) and k(x), which go nowhere.
// Cost: 8 n d^2.
template <class T>
struct ProjectionLayer {
  ProjectionLayer(Index d, std::uint64_t seed);
  LayerOutput<T> run(const MatrixRef<T>& x) const;

  Matrix<T> q, k, v, o;  // [d, d]
  RowVector<T> bias;     // [d], of each
};

// Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000: with z_t = input x_t + recurrent h_(t-1) +
// bias in parts i, f, g, o and s the logistic function,
//   c_t = s(f) c_(t-1) + s(i) tanh(g),  h_t = s(o) tanh(c_t),  c_(-1) = h_(-1) = 0,  y_t = h_t.
// input x_t is one product for all tokens; the rest is n steps, each of which needs the one before: only the channels
// of a step can run in parallel.  Cost: 16 n d^2.
template <class T>
struct LstmLayer {
  LstmLayer(Index d, std::uint64_t seed);
  LayerOutput<T> run(const MatrixRef<T>& x) const;

  // Rows: d each of the input gate i, the forget gate f, the candidate g, the output gate o.
  Matrix<T> input, recurrent;  // [4 d, d]
  RowVector<T> bias;           // [4 d]
};

// y_t = bias + sum over j of taps[j] x_(t + j - (kernel - 1) / 2), tokens outside being zero: one product for each j,
// over all tokens it touches.  Cost: 2 kernel n d^2.
template <class T>
struct ConvolutionLayer {
  ConvolutionLayer(Index d, Index kernel, std::uint64_t seed);
  LayerOutput<T> run(const MatrixRef<T>& x) const;

  std::vector<Matrix<T>> taps;  // [d, d] for each place of the kernel
  RowVector<T> bias;            // [d]
};

}  // namespace rankfall
