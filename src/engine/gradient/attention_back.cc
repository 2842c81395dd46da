#include "engine/gradient/attention_back.h"

#include "engine/dense/attention_impl.h"
#include "engine/gradient/slopes.h"
#include "engine/layer_weights_impl.h"
#include "linalg/gemm.h"
#include "linalg/norms_impl.h"

namespace rankfall {
namespace {

void norm_heads_back(const std::optional<HeadNorm>& norm, const LayerWeights<double>& weights, Index d_head,
                     const Matrix<double>& x, Matrix<double>& y) {
  if (!norm) return;
  const Index width = norm->per_head ? d_head : x.cols();
  const VectorView<double> gain = weights.vector(norm->norm.gain);
  for (Index first = 0; first < x.cols(); first += width) {
    const Matrix<double> part = norm_back(norm->norm, gain, x.middleCols(first, width), y.middleCols(first, width));
    y.middleCols(first, width) = part;
  }
}

Matrix<double> less_mean(Matrix<double> x, std::span<const std::uint8_t> valid) {
  const std::vector<Index> rows = valid_rows(x.rows(), valid);
  if (rows.empty()) return x;
  const RowVector<double> first = x.row(rows[0]);
  x.rowwise() -= first;
  RowVector<double> mean = RowVector<double>::Zero(x.cols());
  for (const Index i : rows) mean += x.row(i);
  x.rowwise() -= mean / static_cast<double>(rows.size());
  return x;
}

// The derivative of a soft cap c tanh(z / c) by z, from what it gives.
Matrix<double> cap_slopes(const Attention& attention, const HeadScores<double>& scores, Index head,
                          const MatrixRef<double>& k) {
  Matrix<double> z(k.rows(), k.rows());
  scores.logits(head, 0, z);
  if (std::holds_alternative<GaussianWeights>(attention.weights)) {  // which come on top of the cap
    z.rowwise() += attention.scale / 2 * k.rowwise().squaredNorm().transpose();
  }
  return 1 - (z.array() / attention.soft_cap).square();
}

// To dQ what reaches it through XLNet's logits of distances and segments.
void add_xlnet_back(const XlnetPositions& xlnet, const Attention& attention, const LoadedLayer<double>& layer,
                    std::span<const std::int32_t> segments, Index head, const Matrix<double>& dz,
                    MutableMatrixRef<double> dq) {
  const Index n = dz.rows();
  const Index d = attention.d_head;
  const Index longest = (layer.relative_keys.rows() + 1) / 2;
  Matrix<double> by_distance = Matrix<double>::Zero(n, 2 * n - 1);
  for (Index i = 0; i < n; ++i) by_distance.row(i).segment(n - 1 - i, n) = dz.row(i);
  gemm<double>(false, false, attention.scale, by_distance,
               layer.relative_keys.block(longest - n, head * d, 2 * n - 1, d), 1.0, dq);
  if (segments.empty()) return;
  Matrix<double> by_segment = Matrix<double>::Zero(n, 2);  // same segment, other segment
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      const bool same = segments[static_cast<std::size_t>(i)] == segments[static_cast<std::size_t>(j)];
      by_segment(i, same ? 0 : 1) += dz(i, j);
    }
  }
  gemm<double>(false, false, attention.scale, by_segment,
               layer.weights.matrix(xlnet.segment_embedding).stored.middleCols(head * d, d), 1.0, dq);
}

}  // namespace

bool key_gradients_cancel(const Attention& attention) {
  return std::holds_alternative<SoftmaxWeights>(attention.weights) && !attention.k_norm && attention.soft_cap == 0 &&
         !std::holds_alternative<RotaryPositions>(attention.positions);
}

std::vector<HeadProjections> attention_back(const Attention& attention, const LoadedLayer<double>& layer,
                                            const Sample& sample, const HeadProjections& of,
                                            const CentredProjections& centred, std::span<const Matrix<double>> mixed) {
  const Index n = of.q.rows();
  const Index d = attention.d_head;
  Matrix<double> q = of.q;
  Matrix<double> k = of.k;
  norm_heads(attention.q_norm, layer.weights, d, q);
  norm_heads(attention.k_norm, layer.weights, d, k);
  const Rotary<double> rotary(attention, layer, n);
  rotary.turn(q);
  rotary.turn(k);
  const HeadScores<double> scores(attention, layer, q, k, sample.valid, sample.segments);
  // Rows of dZ sum to zero unless a cap changes them.
  const bool as_projected = !attention.k_norm && !std::holds_alternative<RotaryPositions>(attention.positions);
  const Matrix<double> keys = attention.soft_cap > 0 ? k : as_projected ? centred.k : less_mean(k, sample.valid);
  const auto* xlnet = std::get_if<XlnetPositions>(&attention.positions);

  std::vector<HeadProjections> out(mixed.size());
  for (HeadProjections& one : out) {
    one.q.setZero(n, attention.n_heads * d);
    one.k.setZero(n, attention.n_kv_heads * d);
    one.v.setZero(n, attention.n_kv_heads * d);
  }
  const Index group = attention.n_heads / attention.n_kv_heads;
  parallel_for(attention.n_kv_heads, [&](Index kv) {
    const Index kv_first = kv * d;
    const auto head_keys = k.middleCols(kv_first, d);
    Matrix<double> p(n, n), dz(n, n), slopes;
    for (Index head = kv * group; head < (kv + 1) * group; ++head) {
      scores.probabilities(head, 0, p);
      if (attention.soft_cap > 0) slopes = cap_slopes(attention, scores, head, head_keys);
      Matrix<double> queries = q.middleCols(head * d, d);
      for (std::size_t loss = 0; loss < mixed.size(); ++loss) {
        HeadProjections& to = out[loss];
        const auto dm = mixed[loss].middleCols(head * d, d);
        gemm<double>(true, false, 1.0, p, dm, 1.0, to.v.middleCols(kv_first, d));
        gemm<double>(false, true, 1.0, dm, centred.v.middleCols(kv_first, d), 0.0, dz);
        for (Index i = 0; i < n; ++i) {
          const double mean = dz.row(i).dot(p.row(i));
          dz.row(i) = p.row(i).array() * (dz.row(i).array() - mean);
        }
        if (std::holds_alternative<GaussianWeights>(attention.weights)) {
          const RowVector<double> sums = dz.colwise().sum();
          for (Index j = 0; j < n; ++j) {
            to.k.row(j).segment(kv_first, d) -= attention.scale * sums(j) * head_keys.row(j);
          }
        }
        if (attention.soft_cap > 0) dz.array() *= slopes.array();
        auto dq = to.q.middleCols(head * d, d);
        gemm<double>(false, false, attention.scale, dz, keys.middleCols(kv_first, d), 0.0, dq);
        if (xlnet) {
          add_xlnet_back(*xlnet, attention, layer, sample.segments, head, dz, dq);
          const Matrix<double> shifted = queries.rowwise() + layer.weights.vector(xlnet->u).segment(head * d, d);
          gemm<double>(true, false, attention.scale, dz, shifted, 1.0, to.k.middleCols(kv_first, d));
        } else {
          gemm<double>(true, false, attention.scale, dz, queries, 1.0, to.k.middleCols(kv_first, d));
        }
      }
    }
  });
  for (HeadProjections& one : out) {
    rotary.turn_back(one.q);
    rotary.turn_back(one.k);
    norm_heads_back(attention.q_norm, layer.weights, d, of.q, one.q);
    norm_heads_back(attention.k_norm, layer.weights, d, of.k, one.k);
  }
  return out;
}

}  // namespace rankfall
