#pragma once

#include <span>
#include <vector>

#include "engine/layer_weights.h"
#include <rankfall/decompose.h>
#include <rankfall/forward.h>
#include <rankfall/matrix.h>

namespace rankfall {

// One sub-layer as one sample went through it: what depends on the state, held fixed. With it the sub-layer is affine.
struct FrozenLayer {
  const SubLayer* layer = nullptr;   // null: the final norm
  const Norm* final_norm = nullptr;  // null: a sub-layer
  Index block = 0;                   // n_blocks for the final norm
  const LayerWeights<double>* weights = nullptr;
  Matrix<double> input;                   // x
  RowVector<double> post_scales;          // divisors of the post-norm or final norm, by token
  std::vector<Matrix<double>> attention;  // P by head; empty if no branch is attention
  struct OfBranch {
    RowVector<double> in_scales, out_scales;  // divisors of its norms
    Matrix<double> output;                    // f(in(x)), unless f is attention
  };
  std::vector<OfBranch> branches;

  const RowVector<double>& scales(NormPlace place, Index branch) const {
    if (place == NormPlace::kPost || place == NormPlace::kFinal) return post_scales;
    const OfBranch& of_branch = branches[static_cast<std::size_t>(branch)];
    return place == NormPlace::kPre ? of_branch.in_scales : of_branch.out_scales;
  }
};

// A norm with the divisors that it had.
struct FrozenNorm {
  const FrozenLayer& layer;
  const Norm& norm;
  const RowVector<double>& scales;

  FrozenNorm(const FrozenLayer& f, const Norm& of, NormPlace place, Index branch)
      : layer(f), norm(of), scales(f.scales(place, branch)) {}
};

// The linear parts, on terms y of the state (one row a token), and their transposes.

// y -> D^-1 y (I - 11^T/d) diag(gain), D the frozen divisors; RMSNorm: without the projection.
Matrix<double> norm_linear(const FrozenNorm& f, Matrix<double> y);
Matrix<double> norm_transposed(const FrozenNorm& f, Matrix<double> y);
// What the norm adds: its bias, or empty if there is none or it is zero.
RowVector<double> norm_shift(const FrozenNorm& f);

// y -> sum over heads of P_h y W_h, W_h = W_V,h W_O,h.
Matrix<double> attention_linear(const FrozenLayer& f, const Attention& attention, const MatrixRef<double>& y);
Matrix<double> attention_transposed(const FrozenLayer& f, const Attention& attention, const MatrixRef<double>& y);
// y -> P_h y W_h.
Matrix<double> head_linear(const FrozenLayer& f, const Attention& attention, Index head, const MatrixRef<double>& y);
// What attention adds: (shift W_V + b_V) W_O + b_O, token by token, the values times what rows of P sum to; shift as
// from norm_shift. Empty if zero.
Matrix<double> attention_constant(const FrozenLayer& f, const Attention& attention, const RowVector<double>& shift);
// <P_h y W_h, g> for each head.
RowVector<double> head_products(const FrozenLayer& f, const Attention& attention, const MatrixRef<double>& y,
                                const MatrixRef<double>& g);

// The same on terms whose mean is kept apart; `valid` as in Sample.
CentredMatrix centred(const MatrixRef<double>& y, std::span<const std::uint8_t> valid);
CentredMatrix norm_linear(const FrozenNorm& f, std::span<const std::uint8_t> valid, CentredMatrix y);
CentredMatrix head_linear(const FrozenLayer& f, const Attention& attention, Index head,
                          std::span<const std::uint8_t> valid, const CentredMatrix& y);
// P m and m P: products of attention matrices, all of whose rows are distributions (has_distributions) or not.
CentredMatrix attention_product(const MatrixRef<double>& p, bool distributions, std::span<const std::uint8_t> valid,
                                const CentredMatrix& m);
CentredMatrix product_attention(const CentredMatrix& m, const MatrixRef<double>& p, bool distributions);
// Frobenius norm over what is no padding.
double frobenius(const CentredMatrix& y, std::span<const std::uint8_t> valid);

}  // namespace rankfall
