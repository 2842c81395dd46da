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
  const Index d = head.v.value.cols();
  HeadOutput out{head.v_mean, {}};
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
SplitState side_by_side(std::span<const HeadOutput> heads, Index n, Index d) {
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

struct SplitHeads::Held {
  Projections p;
  Rotary<double> rotary;
  Matrix<double> queries, keys;
  std::optional<HeadScores<double>> whole;
};

SplitHeads::SplitHeads(const Attention& attention, const LoadedLayer<double>& layer, const Sample& sample, Parts parts,
                       Jitter& jitter)
    : held_(new Held{Projections{attention, layer, sample, std::move(parts.q), std::move(parts.k), std::move(parts.v)},
                     Rotary<double>(attention, layer, sample.n_tokens()),
                     {},
                     {},
                     {}}) {
  Projections& p = held_->p;
  norm_heads(attention.q_norm, layer.weights, attention.d_head, sample.valid, jitter, p.q);
  norm_heads(attention.k_norm, layer.weights, attention.d_head, sample.valid, jitter, p.k);
  p.rotary = &held_->rotary;
  p.reference = parts.reference;
  p.centred = parts.centred;
  p.one_value = parts.one_value;
  p.keys = SeenKeys(attention.mask, p.n());
  p.same_keys = sees_all(p);
  if (p.centred) return;
  held_->queries = joined(p.q);
  held_->keys = joined(p.k);
  held_->rotary.turn(held_->queries);
  held_->rotary.turn(held_->keys);
  p.whole = &held_->whole.emplace(attention, layer, held_->queries, held_->keys, sample.valid, sample.segments);
}

SplitHeads::~SplitHeads() = default;

SplitState SplitHeads::output(Index head, Jitter jitter) const {
  const HeadOutput out = head_output(held_->p, head, jitter);
  return side_by_side({&out, 1}, held_->p.n(), out.mean.value.size());
}

SplitState SplitHeads::outputs(const Jitter& jitter) const {
  const Attention& attention = held_->p.attention;
  std::vector<HeadOutput> heads(static_cast<std::size_t>(attention.n_heads));
  parallel_for(attention.n_heads, [&](Index head) {
    heads[static_cast<std::size_t>(head)] = head_output(held_->p, head, jitter.fork(head));
  });
  return side_by_side(heads, held_->p.n(), attention.d_head);
}

SplitState split_attention(const Attention& attention, const LoadedLayer<double>& layer, const Sample& sample,
                           Jitter& jitter, const SplitState& x) {
  const auto project = [&](const Linear& f) {
    SplitState out = linear(x, layer.weights.matrix(f.w), layer.weights.vector(f.b));
    jitter(out);
    return out;
  };
  SplitState q = project(attention.q);
  SplitState k = project(attention.k);
  SplitState v = project(attention.v);
  const SplitHeads heads(attention, layer, sample,
                         {std::move(q), std::move(k), std::move(v), smallest_row(x.residual.value, sample.valid),
                          !x.mean.is_zero(), false},
                         jitter);
  SplitState mixed = heads.outputs(jitter);
  jitter(mixed);
  return linear(mixed, layer.weights.matrix(attention.o.w), layer.weights.vector(attention.o.b));
}

}  // namespace rankfall
