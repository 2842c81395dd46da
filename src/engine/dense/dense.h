#pragma once

#include <string>

#include "engine/layer_loader.h"
#include "engine/step.h"
#include <rankfall/forward.h>
#include <rankfall/matrix.h>
#include <rankfall/sample.h>

namespace rankfall {

// The plain domain: the state is the matrix of hidden states, T its scalar.
template <class T>
class Dense {
 public:
  using Scalar = T;
  using State = Matrix<T>;
  using Layer = LoadedLayer<T>;

  // `sample` and `observer` (may be null) must outlive the domain.
  Dense(const Sample* sample, Observer<T>* observer);

  void enter(const Layer& layer) { layer_ = &layer; }
  void enter_branch(Index branch) { branch_ = branch; }
  State norm(const Norm& norm, NormPlace place, State x);
  State apply(const Attention& attention, const State& x);
  State apply(const Mlp& mlp, const State& x);
  State apply(const Elementwise& elementwise, const State& x);
  // fx x + fy y.
  State sum(double fx, State x, double fy, const State& y);
  State combine(double skip, State x, double branch, State y);
  void hidden(Index state, const State& x);

  // For norms outside blocks: weights that belong to no sub-layer.
  State norm_with(const LayerWeights<T>& weights, const Norm& norm, NormPlace place, State x);

 private:
  Matrix<T> mix(const Attention& attention, const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v);
  Matrix<T> mix_low_rank(const Attention& attention, const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v);
  State branch_done(State y, const char* what);
  const Layer& layer() const { return *layer_; }

  const Sample* sample_;
  Observer<T>* observer_;
  Needs needs_;
  const Layer* layer_ = nullptr;
  Index branch_ = 0;
};

// Throws Error(kNumerical) naming the place, token and channel of the first NaN or infinity of x.
template <class T>
void check_finite(const MatrixRef<T>& x, const std::string& place);

// x := norm(x), row by row; returns the divisor of each row. gain and bias may be empty.
template <class T>
RowVector<T> normalise_rows(const Norm& norm, const VectorView<T>& gain, const VectorView<T>& bias, Matrix<T>& x);

}  // namespace rankfall
