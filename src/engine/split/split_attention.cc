#include "engine/split/split_attention.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "engine/dense/attention_impl.h"
#include "engine/dense/dense.h"
#include "engine/split/split_softmax.h"
#include "linalg/gemm.h"

namespace rankfall {
namespace {

struct HeadOutput {
  ScaledRow mean;
  std::vector<ScaledMatrix> blocks;  // of kQueryRows rows, each with its own scale
};

HeadOutput head_output(const Projections& p, Index index, Jitter jitter) {
  const SplitHead head = head_of(p, index);
  const auto logits = split_logits(p, head);
  ScaledRow r = logits->reference();
  centre(p, r);
  jitter(r);
  const Reference reference = reference_of(p, plain(r));
  const Index d = p.attention.d_head;
  const Index kv_head = index * p.attention.n_kv_heads / p.attention.n_heads;
  HeadOutput out{scaled<RowVector<double>>(p.v.mean.value.segment(kv_head * d, d), p.v.mean.log), {}};
  add(out.mean, mean_of_values(p, r, reference, head.v));

  const RowVector<double> peak = head.v.value.row(reference.peak);
  const Matrix<double> values = head.v.value.rowwise() - peak;
  const Deviations deviations(p, index, reference);
  for (Index first = 0; first < p.n(); first += kQueryRows) {
    ScaledMatrix e = logits->differences(first, std::min(kQueryRows, p.n() - first));
    jitter(e);
    ScaledMatrix dev = deviations.from(first, std::move(e));
    jitter(dev);
    ScaledMatrix block{Matrix<double>(dev.value.rows(), d), dev.log + head.v.log};
    gemm<double>(false, false, 1.0, dev.value, values, 0.0, block.value);
    rescale(block);
    out.blocks.push_back(std::move(block));
  }
  return out;
}

// Heads side by side, at the scale of the largest.
SplitState side_by_side(const std::vector<HeadOutput>& heads, Index n, Index d) {
  const Index width = std::ssize(heads) * d;
  SplitState out{{RowVector<double>(width), kLogZero}, {Matrix<double>(n, width), kLogZero}};
  for (const HeadOutput& head : heads) {
    out.mean.log = std::max(out.mean.log, head.mean.log);
    for (const ScaledMatrix& block : head.blocks) out.residual.log = std::max(out.residual.log, block.log);
  }
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const Index column = static_cast<Index>(h) * d;
    out.mean.value.segment(column, d) = share(heads[h].mean.log, out.mean.log) * heads[h].mean.value;
    Index row = 0;
    for (const ScaledMatrix& block : heads[h].blocks) {
      out.residual.value.block(row, column, block.value.rows(), d) = share(block.log, out.residual.log) * block.value;
      row += block.value.rows();
    }
  }
  return out;
}

// Norms queries or keys. The row mean of the residual is in the mean again afterwards, if it was before.
void norm_heads(const std::optional<HeadNorm>& norm, const LayerWeights<double>& weights, Index d_head,
                std::span<const std::uint8_t> valid, Jitter& jitter, SplitState& x) {
  if (!norm) return;
  const Index n = x.residual.value.rows();
  const Index width = norm->per_head ? d_head : x.mean.value.size();
  const bool centred = !x.mean.is_zero();
  const std::vector<Index> rows = valid_rows(n, valid);
  std::vector<HeadOutput> parts;
  for (Index first = 0; first < x.mean.value.size(); first += width) {
    SplitState part{scaled<RowVector<double>>(x.mean.value.segment(first, width), x.mean.log),
                    scaled<Matrix<double>>(x.residual.value.middleCols(first, width), x.residual.log)};
    part = normalised(norm->norm, weights.vector(norm->norm.gain), weights.vector(norm->norm.bias), valid,
                      std::move(part));
    if (centred && !rows.empty()) {
      RowVector<double> shift = RowVector<double>::Zero(width);
      for (const Index i : rows) shift += part.residual.value.row(i) / static_cast<double>(rows.size());
      for (const Index i : rows) part.residual.value.row(i) -= shift;
      add(part.mean, scaled<RowVector<double>>(shift, part.residual.log));
    }
    rescale(part.residual);
    jitter(part);
    parts.push_back({std::move(part.mean), {std::move(part.residual)}});
  }
  x = side_by_side(parts, n, width);
}

// Whether every query that is no padding sees every key that is none.
bool sees_all(const Projections& p) {
  for (Index i = 0; i < p.n(); ++i) {
    if (!p.is_valid(i)) continue;
    for (Index j = 0; j < p.n(); ++j) {
      if (p.is_valid(j) && !p.keys.allows(i, j)) return false;
    }
  }
  return true;
}

}  // namespace

SplitState split_attention(const Attention& attention, const LoadedLayer<double>& layer, const Sample& sample,
                           Jitter& jitter, const SplitState& x) {
  const auto project = [&](const Linear& f) {
    SplitState out = linear(x, layer.weights.matrix(f.w), layer.weights.vector(f.b));
    jitter(out);
    return out;
  };
  Projections p{attention, layer, sample, project(attention.q), project(attention.k), project(attention.v)};
  norm_heads(attention.q_norm, layer.weights, attention.d_head, sample.valid, jitter, p.q);
  norm_heads(attention.k_norm, layer.weights, attention.d_head, sample.valid, jitter, p.k);
  const Rotary<double> rotary(attention, layer, p.n());
  p.rotary = &rotary;
  p.reference = smallest_row(x.residual.value, sample.valid);
  p.centred = !x.mean.is_zero();
  p.keys = SeenKeys(attention.mask, p.n());
  p.same_keys = sees_all(p);
  Matrix<double> queries;
  Matrix<double> keys;
  std::optional<HeadScores<double>> whole;
  if (!p.centred) {
    queries = joined(p.q);
    keys = joined(p.k);
    rotary.turn(queries);
    rotary.turn(keys);
    p.whole = &whole.emplace(attention, layer, queries, keys, sample.valid, sample.segments);
  }
  std::vector<HeadOutput> heads(static_cast<std::size_t>(attention.n_heads));
  parallel_for(attention.n_heads,
               [&](Index head) { heads[static_cast<std::size_t>(head)] = head_output(p, head, jitter.fork(head)); });
  SplitState mixed = side_by_side(heads, p.n(), attention.d_head);
  jitter(mixed);
  return linear(mixed, layer.weights.matrix(attention.o.w), layer.weights.vector(attention.o.b));
}

}  // namespace rankfall
