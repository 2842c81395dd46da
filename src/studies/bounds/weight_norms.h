#pragma once

#include <complex>
#include <optional>
#include <vector>

#include "engine/layer_loader.h"

namespace rankfall {

// What a head's weights say by themselves, in the convention of rows: logits X W_QK X^T, output P X W.
struct HeadWeightNorms {
  double qk_one = 0;                         // ||W_QK||_1, W_QK = W_Q W_K^T
  double w_one = 0, w_inf = 0;               // of W = W_V W_O
  double w_spectral = 0;                     // ||W||_2
  std::vector<std::complex<double>> values;  // eigenvalues of W_O W_V: those of W, without d - d_head zeros
  // What no logit exceeds in size, whatever the input: queries and keys are normed, or logits are capped.
  std::optional<double> logit_limit;

  double beta() const;  // qk_one times the composite norm of W
};

// One sub-layer's.
struct WeightNorms {
  std::vector<HeadWeightNorms> heads;  // attention's
  // Lipschitz constants of an MLP, skip included, in the 1-norm and the infinity norm of differences of states: sup|f'|
  // times the norm of |W_1||W_2|. Absent for gated ones, which have none.
  std::optional<double> mlp_one, mlp_inf;
  // The same in the Frobenius norm, of the branch alone, its scale included: sup|f'| ||W_1||_2 ||W_2||_2. Where the
  // skip is smaller than a simple lower bound of this, it is that bound. Absent for gated ones.
  std::optional<double> branch_spectral;

  double beta() const;  // the largest of the heads
};

// Cost: 4 d^2 d_head multiplications a head.
WeightNorms weight_norms(const LoadedLayer<double>& layer);

// w as [out, in].
Matrix<double> as_matrix(const WeightView<double>& w);

// The largest slope of an activation.
double steepest(Activation act);

}  // namespace rankfall
