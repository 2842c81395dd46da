#include "engine/frozen/frozen_layer.h"

#include <cmath>

#include "engine/layer_weights_impl.h"
#include "linalg/linear.h"
#include "linalg/norms_impl.h"
#include "network/attention/kind.h"

namespace rankfall {
namespace {

// y w^T, and y w.
Matrix<double> times(const MatrixRef<double>& y, const WeightView<double>& w) {
  return product<double>(false, !w.transposed, y, w.stored);
}
Matrix<double> times_transposed(const MatrixRef<double>& y, const WeightView<double>& w) {
  return product<double>(false, w.transposed, y, w.stored);
}

// The part of W_V that head h reads, and the part of W_O that it writes through.
WeightView<double> rows_of(const WeightView<double>& w, Index first, Index count) {
  const double* data = w.stored.data() + (w.transposed ? first : first * w.stored.outerStride());
  return {{data, w.transposed ? w.stored.rows() : count, w.transposed ? count : w.stored.cols(),
           Eigen::OuterStride<>(w.stored.outerStride())},
          w.transposed};
}
WeightView<double> columns_of(const WeightView<double>& w, Index first, Index count) {
  return {rows_of({w.stored, !w.transposed}, first, count).stored, w.transposed};
}

Index kv_head(const Attention& a, Index head) { return head * a.n_kv_heads / a.n_heads; }

// P_h v_h side by side, v = the values of all key heads.
Matrix<double> mix(const FrozenLayer& f, const Attention& a, const Matrix<double>& v) {
  Matrix<double> mixed(v.rows(), a.n_heads * a.d_head);
  for (Index h = 0; h < a.n_heads; ++h) {
    gemm<double>(false, false, 1.0, f.attention[static_cast<std::size_t>(h)],
                 v.middleCols(kv_head(a, h) * a.d_head, a.d_head), 0.0, mixed.middleCols(h * a.d_head, a.d_head));
  }
  return mixed;
}

// P 1. Rows that are distributions sum to one exactly, or to zero where a token sees nothing.
RowVector<double> row_sums(const MatrixRef<double>& p, bool distributions) {
  if (!distributions) return p.rowwise().sum().transpose();
  return (p.rowwise().maxCoeff().array() > 0).cast<double>().transpose();
}

// P (1 mean + residual) = 1 mean + (P residual + (P 1 - 1) mean); `y` has P's product with the residual already.
void add_missing_mean(const RowVector<double>& sums, CentredMatrix& y) {
  for (Index i = 0; i < sums.size(); ++i) {
    if (sums(i) != 1) y.residual.row(i) += (sums(i) - 1) * y.mean;
  }
}

// Moves what the residual's rows have in common into the mean.
void recentre(CentredMatrix& y, std::span<const std::uint8_t> valid) {
  RowVector<double> shift = RowVector<double>::Zero(y.mean.size());
  const std::vector<Index> rows = valid_rows(y.residual.rows(), valid);
  if (rows.empty()) return;
  for (const Index i : rows) shift += y.residual.row(i);
  shift /= static_cast<double>(rows.size());
  y.residual.rowwise() -= shift;
  y.mean += shift;
}

}  // namespace

Matrix<double> norm_linear(const FrozenNorm& f, Matrix<double> y) {
  const VectorView<double> gain = f.layer.weights->vector(f.norm.gain);
  for (Index i = 0; i < y.rows(); ++i) {
    auto row = y.row(i);
    if (f.norm.kind == Norm::Kind::kLayer) row.array() -= row.mean();
    if (gain.size() > 0) {
      row.array() *= gain.array() * (1 / f.scales(i));
    } else {
      row *= 1 / f.scales(i);
    }
  }
  return y;
}

Matrix<double> norm_transposed(const FrozenNorm& f, Matrix<double> y) {
  const VectorView<double> gain = f.layer.weights->vector(f.norm.gain);
  for (Index i = 0; i < y.rows(); ++i) {
    auto row = y.row(i);
    row *= 1 / f.scales(i);
    if (gain.size() > 0) row.array() *= gain.array();
    if (f.norm.kind == Norm::Kind::kLayer) row.array() -= row.mean();
  }
  return y;
}

RowVector<double> norm_shift(const FrozenNorm& f) {
  const VectorView<double> bias = f.layer.weights->vector(f.norm.bias);
  if (bias.size() == 0 || bias.isZero(0)) return {};
  return bias;
}

Matrix<double> attention_linear(const FrozenLayer& f, const Attention& a, const MatrixRef<double>& y) {
  return times(mix(f, a, times(y, f.weights->matrix(a.v.w))), f.weights->matrix(a.o.w));
}

Matrix<double> attention_transposed(const FrozenLayer& f, const Attention& a, const MatrixRef<double>& y) {
  const Matrix<double> mixed = times_transposed(y, f.weights->matrix(a.o.w));
  Matrix<double> v = Matrix<double>::Zero(y.rows(), a.n_kv_heads * a.d_head);
  for (Index h = 0; h < a.n_heads; ++h) {
    gemm<double>(true, false, 1.0, f.attention[static_cast<std::size_t>(h)], mixed.middleCols(h * a.d_head, a.d_head),
                 1.0, v.middleCols(kv_head(a, h) * a.d_head, a.d_head));
  }
  return times_transposed(v, f.weights->matrix(a.v.w));
}

Matrix<double> head_linear(const FrozenLayer& f, const Attention& a, Index head, const MatrixRef<double>& y) {
  const Matrix<double> v = times(y, rows_of(f.weights->matrix(a.v.w), kv_head(a, head) * a.d_head, a.d_head));
  const Matrix<double> mixed = product<double>(false, false, f.attention[static_cast<std::size_t>(head)], v);
  return times(mixed, columns_of(f.weights->matrix(a.o.w), head * a.d_head, a.d_head));
}

Matrix<double> attention_constant(const FrozenLayer& f, const Attention& a, const RowVector<double>& shift) {
  const VectorView<double> bv = f.weights->vector(a.v.b);
  const VectorView<double> bo = f.weights->vector(a.o.b);
  RowVector<double> v = RowVector<double>::Zero(a.n_kv_heads * a.d_head);
  if (shift.size() > 0) v = times(shift, f.weights->matrix(a.v.w));
  if (bv.size() > 0) v += bv;
  const bool has_value = !v.isZero(0);
  const bool has_output = bo.size() > 0 && !bo.isZero(0);
  if (!has_value && !has_output) return {};
  const Index n = f.attention[0].rows();
  Matrix<double> out = Matrix<double>::Zero(n, a.o.n_out());
  if (has_value) {
    const bool distributions = has_distributions(a.weights);
    Matrix<double> mixed(distributions ? 1 : n, a.n_heads * a.d_head);
    for (Index h = 0; h < a.n_heads; ++h) {
      const auto value = v.segment(kv_head(a, h) * a.d_head, a.d_head);
      auto of_head = mixed.middleCols(h * a.d_head, a.d_head);
      if (distributions) {
        of_head = value;
      } else {
        of_head = row_sums(f.attention[static_cast<std::size_t>(h)], false).transpose() * value;
      }
    }
    const Matrix<double> rows = times(mixed, f.weights->matrix(a.o.w));
    if (distributions) {  // every head sees the same keys
      out = row_sums(f.attention[0], true).transpose() * rows.row(0);
    } else {
      out = rows;
    }
  }
  if (has_output) out.rowwise() += bo;
  return out;
}

RowVector<double> head_products(const FrozenLayer& f, const Attention& a, const MatrixRef<double>& y,
                                const MatrixRef<double>& g) {
  const Matrix<double> mixed = mix(f, a, times(y, f.weights->matrix(a.v.w)));
  const Matrix<double> back = times_transposed(g, f.weights->matrix(a.o.w));
  RowVector<double> products(a.n_heads);
  for (Index h = 0; h < a.n_heads; ++h) {
    const auto cols = Eigen::seqN(h * a.d_head, a.d_head);
    products(h) = mixed(Eigen::all, cols).cwiseProduct(back(Eigen::all, cols)).sum();
  }
  return products;
}

CentredMatrix centred(const MatrixRef<double>& y, std::span<const std::uint8_t> valid) {
  CentredMatrix out{RowVector<double>::Zero(y.cols()), y};
  const std::vector<Index> rows = valid_rows(y.rows(), valid);
  if (rows.empty()) return out;
  // About the first row: where rows nearly agree their differences are exact.
  out.mean = y.row(rows[0]);
  out.residual.rowwise() -= out.mean;
  recentre(out, valid);
  return out;
}

// 1/s_i = w + (1/s_i - w), w their mean: the second part moves what the mean has into the residual.
CentredMatrix norm_linear(const FrozenNorm& f, std::span<const std::uint8_t> valid, CentredMatrix y) {
  const VectorView<double> gain = f.layer.weights->vector(f.norm.gain);
  const RowVector<double> inverse = f.scales.cwiseInverse();
  const std::vector<Index> rows = valid_rows(y.residual.rows(), valid);
  double w = 0;
  for (const Index i : rows) w += inverse(i) / static_cast<double>(rows.size());
  if (f.norm.kind == Norm::Kind::kLayer) {
    y.mean.array() -= y.mean.mean();
    for (Index i = 0; i < y.residual.rows(); ++i) y.residual.row(i).array() -= y.residual.row(i).mean();
  }
  if (gain.size() > 0) y.mean.array() *= gain.array();
  for (Index i = 0; i < y.residual.rows(); ++i) {
    auto row = y.residual.row(i);
    if (gain.size() > 0) row.array() *= gain.array();
    row = inverse(i) * row + (inverse(i) - w) * y.mean;
  }
  y.mean *= w;
  recentre(y, valid);
  return y;
}

CentredMatrix head_linear(const FrozenLayer& f, const Attention& a, Index head, std::span<const std::uint8_t> valid,
                          const CentredMatrix& y) {
  // The mean goes along as one more row, around P.
  const Index n = y.residual.rows();
  Matrix<double> rows(n + 1, y.residual.cols());
  rows.topRows(n) = y.residual;
  rows.row(n) = y.mean;
  const Matrix<double> v = times(rows, rows_of(f.weights->matrix(a.v.w), kv_head(a, head) * a.d_head, a.d_head));
  Matrix<double> mixed(n + 1, a.d_head);
  gemm<double>(false, false, 1.0, f.attention[static_cast<std::size_t>(head)], v.topRows(n), 0.0, mixed.topRows(n));
  mixed.row(n) = v.row(n);
  const Matrix<double> out = times(mixed, columns_of(f.weights->matrix(a.o.w), head * a.d_head, a.d_head));
  CentredMatrix result{out.row(n), out.topRows(n)};
  add_missing_mean(row_sums(f.attention[static_cast<std::size_t>(head)], has_distributions(a.weights)), result);
  recentre(result, valid);
  return result;
}

CentredMatrix attention_product(const MatrixRef<double>& p, bool distributions, std::span<const std::uint8_t> valid,
                                const CentredMatrix& m) {
  CentredMatrix out{m.mean, product<double>(false, false, p, m.residual)};
  add_missing_mean(row_sums(p, distributions), out);
  recentre(out, valid);
  return out;
}

CentredMatrix product_attention(const CentredMatrix& m, const MatrixRef<double>& p, bool distributions) {
  CentredMatrix out{RowVector<double>(p.cols()), Matrix<double>(m.residual.rows(), p.cols())};
  out.mean.noalias() = m.mean * p;
  // The rows of m sum to one, those of its residual to zero, and P multiplies what rounding leaves of that by nearly
  // one, whatever else it takes to zero. Rows that see nothing are zero, their residual sums to minus one.
  Matrix<double> residual = m.residual;
  for (Index i = 0; i < residual.rows() && distributions; ++i) {
    const double sum = residual.row(i).sum();
    if (std::abs(sum) < 0.5) residual.row(i).array() -= sum / static_cast<double>(residual.cols());
  }
  gemm<double>(false, false, 1.0, residual, p, 0.0, out.residual);
  return out;
}

double frobenius(const CentredMatrix& y, std::span<const std::uint8_t> valid) {
  const std::vector<Index> rows = valid_rows(y.residual.rows(), valid);
  double square = static_cast<double>(rows.size()) * y.mean.squaredNorm();
  for (const Index i : rows) square += y.residual.row(i).squaredNorm();
  return std::sqrt(square);
}

}  // namespace rankfall
