#pragma once

#include <cmath>
#include <type_traits>

#include <fmt/format.h>

#include "base/errors.h"
#include "engine/dense/activation.h"
#include "engine/dense/attention_impl.h"
#include "engine/dense/dense.h"
#include "engine/dense/low_rank_head_impl.h"
#include "engine/layer_weights_impl.h"
#include "network/attention/kind.h"
#include <rankfall/matrix.h>

namespace rankfall {

template <class T>
void check_finite(const MatrixRef<T>& x, const std::string& place) {
  using std::isfinite;
  using std::isnan;
  if (x.allFinite()) return;
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) {
      if (isfinite(x(i, j))) continue;
      throw numerical_error(
          "{}: {} at token {}, channel {}, expected finite numbers; the weights may hold such a value, "
          "or the activations leave the range of the precision{}",
          place, isnan(x(i, j)) ? "NaN" : "infinity", i, j, std::is_same_v<T, float> ? " (try Precision::kF64)" : "");
    }
  }
}

// Float rows are normalised in double and rounded once: this is where rounding hurts later layers most, and it costs
// little beside the products.
template <class T>
RowVector<T> normalise_rows(const Norm& norm, const VectorView<T>& gain, const VectorView<T>& bias, Matrix<T>& x) {
  using std::sqrt;
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, T>;
  const Wide d = Wide(static_cast<double>(x.cols()));
  const Wide eps = Wide(norm.eps);
  RowVector<T> scales(x.rows());
  RowVector<Wide> row(x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    row = x.row(i).template cast<Wide>();
    if (norm.kind == Norm::Kind::kLayer) {
      const Wide mean = row.sum() / d;
      row.array() -= mean;
    }
    const bool divides = norm.kind != Norm::Kind::kAffine;
    const Wide scale = divides ? sqrt(Wide(row.squaredNorm() / d + eps)) : Wide(1);
    if (divides) row *= Wide(1) / scale;
    if (gain.size() > 0) row.array() *= gain.array().template cast<Wide>();
    if (bias.size() > 0) row += bias.template cast<Wide>();
    x.row(i) = row.template cast<T>();
    scales(i) = static_cast<T>(scale);
  }
  return scales;
}

template <class T>
Dense<T>::Dense(const Sample* sample, Observer<T>* observer)
    : sample_(sample), observer_(observer), needs_(observer ? observer->needs() : Needs{}) {}

template <class T>
typename Dense<T>::State Dense<T>::norm(const Norm& norm, NormPlace place, State x) {
  return norm_with(layer().weights, norm, place, std::move(x));
}

template <class T>
typename Dense<T>::State Dense<T>::norm_with(const LayerWeights<T>& weights, const Norm& norm, NormPlace place,
                                             State x) {
  const RowVector<T> scales = normalise_rows<T>(norm, weights.vector(norm.gain), weights.vector(norm.bias), x);
  // An overflow here would come out as a row of zeros: a finite number, and wrong.
  if (!scales.allFinite()) {
    throw numerical_error(
        "{}: the mean square of a token leaves the range of the precision",
        place == NormPlace::kFinal ? std::string("final norm") : fmt::format("block {}, norm", layer().layer->block));
  }
  if (needs_.norm_scales) {
    observer_->norm_scales({place == NormPlace::kFinal ? -1 : layer().index, place, branch_}, scales);
  }
  return x;
}

template <class T>
typename Dense<T>::State Dense<T>::apply(const Attention& attention, const State& x) {
  const Index n = x.rows();
  const LayerWeights<T>& weights = layer().weights;

  struct Projection {
    WeightView<T> w;
    VectorView<T> b;
    Matrix<T> y;
  };
  const auto projection = [&](const Linear& f) {
    return Projection{weights.matrix(f.w), weights.vector(f.b), Matrix<T>(n, f.n_out())};
  };
  Projection parts[] = {projection(attention.q), projection(attention.k), projection(attention.v)};
  const Index q_panels = n_panels(attention.q.n_out());
  const Index kv_panels = n_panels(attention.k.n_out());
  parallel_for(q_panels + 2 * kv_panels, [&](Index panel) {
    const Index which = panel < q_panels ? 0 : 1 + (panel - q_panels) / kv_panels;
    const Index local = which == 0 ? panel : (panel - q_panels) % kv_panels;
    Projection& part = parts[which];
    linear_panel<T>(x, part.w, part.b, local, part.y);
  });
  norm_heads(attention.q_norm, weights, attention.d_head, parts[0].y);
  norm_heads(attention.k_norm, weights, attention.d_head, parts[1].y);
  const Rotary<T> rotary(attention, layer(), n);
  rotary.turn(parts[0].y);
  rotary.turn(parts[1].y);
  if (needs_.values) observer_->values(layer().layer->block, parts[2].y);
  const Matrix<T> mixed = is_low_rank(attention.weights) ? mix_low_rank(attention, parts[0].y, parts[1].y, parts[2].y)
                                                         : mix(attention, parts[0].y, parts[1].y, parts[2].y);
  return branch_done(linear<T>(mixed, weights.matrix(attention.o.w), weights.vector(attention.o.b)), "attention");
}

// The heads' P V side by side.
template <class T>
Matrix<T> Dense<T>::mix(const Attention& attention, const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v) {
  const Index n = q.rows();
  const Index d = attention.d_head;
  const HeadScores<T> scores(attention, layer(), q, k, sample_->valid, sample_->segments);
  Matrix<T> mixed(n, attention.n_heads * d);
  const Index block_index = layer().layer->block;
  const bool tiled = n > kTiledAbove;
  const bool whole = needs_.attention == Needs::Attention::kWhole;
  const bool rows = needs_.attention == Needs::Attention::kRows;
  const bool measures = needs_.attention == Needs::Attention::kMeasures;
  const Index rows_per_task = whole ? n : kQueryRows;
  const Index n_tasks = (n + rows_per_task - 1) / rows_per_task;
  parallel_for(attention.n_heads * n_tasks, [&](Index task) {
    const Index head = task / n_tasks;
    const auto values = v.middleCols(head * attention.n_kv_heads / attention.n_heads * d, d);
    const Index task_first = (task % n_tasks) * rows_per_task;
    const Index n_rows = std::min(rows_per_task, n - task_first);
    const bool form = !tiled || whole || rows;
    Matrix<T> p(form ? n_rows : 0, form ? n : 0);
    // The block of rows is the unit of arithmetic in either case, so whoever looks on does not change the result.
    for (Index local = 0; local < n_rows; local += kQueryRows) {
      const Index first = task_first + local;
      const Index block_rows = std::min(kQueryRows, n_rows - local);
      auto block = p.middleRows(form ? local : 0, form ? block_rows : 0);
      auto out = mixed.block(first, head * d, block_rows, d);
      RowMeasures of_rows;
      RowExtremes extremes(needs_.logits ? block_rows : 0);
      RowExtremes* noted = needs_.logits ? &extremes : nullptr;
      if (form) scores.probabilities(head, first, block, tiled ? nullptr : noted);
      if (tiled) {
        scores.attend(head, first, values, out, measures ? &of_rows : nullptr, noted);
      } else {
        gemm<T>(false, false, T(1), block, values, T(0), out);
        if (measures) of_rows = scores.measures(block);
      }
      if (measures) observer_->attention_measures(block_index, head, first, of_rows.entropy, of_rows.sink);
      if (rows) observer_->attention_rows(block_index, head, first, block);
      if (noted) observer_->logits(block_index, head, first, extremes.smallest, extremes.largest);
    }
    if (whole) observer_->attention(block_index, head, p);
  });
  return mixed;
}

// The same where P is a product of thin matrices, whose rows are formed for whoever looks on.
template <class T>
Matrix<T> Dense<T>::mix_low_rank(const Attention& attention, const Matrix<T>& q, const Matrix<T>& k,
                                 const Matrix<T>& v) {
  const Index n = q.rows();
  const Index d = attention.d_head;
  const Index block_index = layer().layer->block;
  Matrix<T> mixed(n, attention.n_heads * d);
  parallel_for(attention.n_heads, [&](Index head) {
    const Index kv_first = head * attention.n_kv_heads / attention.n_heads * d;
    const LowRankHead<T> scores(attention, layer().drawn[static_cast<std::size_t>(head)], q.middleCols(head * d, d),
                                k.middleCols(kv_first, d), sample_->valid);
    scores.attend(v.middleCols(kv_first, d), mixed.middleCols(head * d, d));
    if (needs_.attention == Needs::Attention::kNone) return;
    const bool whole = needs_.attention == Needs::Attention::kWhole;
    Matrix<T> p(whole ? n : std::min(kQueryRows, n), n);
    for (Index first = 0; first < n; first += p.rows()) {
      auto rows = p.topRows(std::min(p.rows(), n - first));
      scores.rows(first, rows);
      if (whole) {
        observer_->attention(block_index, head, rows);
      } else if (needs_.attention == Needs::Attention::kRows) {
        observer_->attention_rows(block_index, head, first, rows);
      } else {
        const RowMeasures measures = row_measures<T>(rows, first_valid(sample_->valid));
        observer_->attention_measures(block_index, head, first, measures.entropy, measures.sink);
      }
    }
  });
  return mixed;
}

template <class T>
typename Dense<T>::State Dense<T>::apply(const Mlp& mlp, const State& x) {
  const LayerWeights<T>& weights = layer().weights;
  const auto act = [&](MutableMatrixRef<T> panel) { activate<T>(mlp.act, panel); };
  Matrix<T> inner;
  if (mlp.gate) {
    inner = linear<T>(x, weights.matrix(mlp.gate->w), weights.vector(mlp.gate->b), act);
    inner.array() *= linear<T>(x, weights.matrix(mlp.up.w), weights.vector(mlp.up.b)).array();
  } else {
    inner = linear<T>(x, weights.matrix(mlp.up.w), weights.vector(mlp.up.b), act);
  }
  return branch_done(linear<T>(inner, weights.matrix(mlp.down.w), weights.vector(mlp.down.b)), "MLP");
}

template <class T>
typename Dense<T>::State Dense<T>::apply(const Elementwise& elementwise, const State& x) {
  State y = x;
  activate<T>(elementwise.act, y);
  return branch_done(std::move(y), "activation");
}

template <class T>
typename Dense<T>::State Dense<T>::branch_done(State y, const char* what) {
  check_finite<T>(y, fmt::format("block {}, {} output", layer().layer->block, what));
  if (needs_.branches) observer_->branch(layer().index, branch_, y);
  return y;
}

template <class T>
typename Dense<T>::State Dense<T>::sum(double fx, State x, double fy, const State& y) {
  if (fx != 1) x *= T(fx);
  if (fy == 1) {
    x += y;
  } else {
    x += T(fy) * y;
  }
  return x;
}

template <class T>
typename Dense<T>::State Dense<T>::combine(double skip, State x, double branch, State y) {
  if (branch != 1) y *= T(branch);
  if (skip == 1) {
    y += x;
  } else if (skip != 0) {
    y += T(skip) * x;
  }
  return y;
}

template <class T>
void Dense<T>::hidden(Index state, const State& x) {
  check_finite<T>(x, fmt::format("hidden state {}", state));
  if (needs_.hidden) observer_->hidden(state, x);
}

}  // namespace rankfall
