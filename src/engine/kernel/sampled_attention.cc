#include "engine/kernel/sampled_attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/parallel.h"
#include "base/random.h"
#include "engine/dense/attention_impl.h"
#include "engine/dense/low_rank_head.h"
#include "engine/kernel/draws.h"
#include "engine/kernel/moments.h"
#include "engine/layer_loader.h"
#include "engine/split/split.h"
#include "engine/split/split_attention.h"
#include "linalg/gemm.h"

namespace rankfall {
namespace {

// Moves the mean into the residual.
void join(SplitState& x, const Tokens& tokens) {
  if (x.mean.is_zero()) return;
  ScaledMatrix whole{Matrix<double>::Zero(x.residual.value.rows(), x.residual.value.cols()), x.mean.log};
  for (const Index i : tokens.rows()) whole.value.row(i) = x.mean.value;
  add(x.residual, whole);
  set_zero(x.mean);
}

// Whether the norm is over a width that theory takes for infinite: each token is then divided by its expected length.
bool is_wide(const std::optional<HeadNorm>& norm) { return norm && !norm->per_head; }

SplitState divided(const Network& network, const HeadNorm& norm, const LinearMoments& moments,
                   std::span<const std::uint8_t> valid, SplitState x) {
  // Of x sqrt(factor) with columns scaled so that a row's mean square is K_ii; the bias is a column of its own.
  const Index columns = x.mean.value.size() + 1;
  SplitState wide{{RowVector<double>::Zero(columns), x.mean.log},
                  {Matrix<double>::Zero(x.residual.value.rows(), columns), x.residual.log}};
  const double root = std::sqrt(moments.factor * static_cast<double>(columns));
  wide.mean.value.head(columns - 1) = root * x.mean.value;
  wide.residual.value.leftCols(columns - 1) = root * x.residual.value;
  rescale(wide.mean);
  rescale(wide.residual);
  if (moments.bias > 0) {
    RowVector<double> bias = RowVector<double>::Zero(columns);
    bias(columns - 1) = std::sqrt(moments.bias * static_cast<double>(columns));
    add(wide.mean, scaled<RowVector<double>>(bias));
  }
  Norm plain = norm.norm;
  plain.kind = Norm::Kind::kRms;
  wide = normalised(plain, VectorView<double>(nullptr, 0), VectorView<double>(nullptr, 0), valid, std::move(wide));
  const double factor = std::sqrt(moments_of(network, norm.norm).gain / static_cast<double>(columns));
  wide.mean.value *= factor;
  wide.residual.value *= factor;
  rescale(wide.mean);
  recentre(wide, valid);
  return wide;
}

}  // namespace

Index SampledAttention::n_sets() const {
  const LinearMoments of_q = moments_of(network, attention.q);
  const bool constant = (of_q.factor == 0 && of_q.bias == 0) || moments_of(network, attention.k).factor == 0;
  const bool random_positions = std::holds_alternative<XlnetPositions>(attention.positions);
  return constant && !random_positions ? 1 : (draws + attention.n_heads - 1) / attention.n_heads;
}

void SampledAttention::each_head(Inputs in, const Use& use) const {
  const Index n = in.x.residual.value.rows();
  const LinearMoments of_q = moments_of(network, attention.q);
  const LinearMoments of_k = moments_of(network, attention.k);

  // What acts on queries and keys: tables of positions, gains.
  const auto source = draw_weights(network.tensors, seed);
  LayerLoader<double> loader(network, *source, n, LayerLoader<double>::Load::kPositions);
  const LoadedLayer<double>& layer = loader.load(index);

  SplitState& x = in.x;
  SplitState& values = in.values;
  SplitState q_factor = is_wide(attention.q_norm) ? divided(network, *attention.q_norm, of_q, sample.valid, x) : x;
  SplitState k_factor = is_wide(attention.k_norm) ? divided(network, *attention.k_norm, of_k, sample.valid, x) : x;
  // Mean and residual are apart in all of them or in none.
  const bool centred =
      !x.mean.is_zero() && !values.mean.is_zero() && !q_factor.mean.is_zero() && !k_factor.mean.is_zero();
  if (!centred) {
    for (SplitState* state : {&values, &q_factor, &k_factor}) join(*state, tokens);
  }
  const LinearMoments one{1, 0};

  Attention own = attention;  // without what has been done
  if (is_wide(own.q_norm)) own.q_norm.reset();
  if (is_wide(own.k_norm)) own.k_norm.reset();

  for (Index set = 0; set < n_sets(); ++set) {
    const auto key = [&](const char* what) {
      return random_key(seed, fmt::format("attention of layer {}, set {}, {}", numbers, set, what));
    };
    SplitState q = drawn_linear(q_factor, is_wide(attention.q_norm) ? one : of_q, attention.n_heads * attention.d_head,
                                key("W_Q"), key("b_Q"));
    SplitState keys = drawn_linear(k_factor, is_wide(attention.k_norm) ? one : of_k,
                                   attention.n_kv_heads * attention.d_head, key("W_K"), key("b_K"));
    if (is_low_rank(attention.weights)) {
      Matrix<double> queries = joined(q);
      Matrix<double> plain_keys = joined(keys);
      norm_heads<double>(own.q_norm, layer.weights, own.d_head, queries);
      norm_heads<double>(own.k_norm, layer.weights, own.d_head, plain_keys);
      const Rotary<double> rotary(own, layer, n);
      rotary.turn(queries);
      rotary.turn(plain_keys);
      const Matrix<double> plain_values = joined(values);
      const Index d = attention.d_head;
      parallel_for(attention.n_heads, [&](Index head) {
        const Index kv = head * attention.n_kv_heads / attention.n_heads;
        const LowRankHead<double> p(own, layer.drawn[static_cast<std::size_t>(head)], queries.middleCols(head * d, d),
                                    plain_keys.middleCols(kv * d, d), sample.valid);
        Matrix<double> mixed(n, plain_values.cols());
        p.attend(plain_values, mixed);
        use(set, head, split(mixed, sample.valid));
      });
    } else {
      Jitter none(0, 0);
      const SplitHeads heads(
          own, layer, sample,
          {std::move(q), std::move(keys), values, smallest_row(x.residual.value, sample.valid), centred, true}, none);
      parallel_for(attention.n_heads, [&](Index head) {
        SplitState mixed = heads.output(head, Jitter(0, 0));
        recentre(mixed, sample.valid);
        use(set, head, std::move(mixed));
      });
    }
  }
}

Gram SampledAttention::mixing(const Gram& k) const {
  const LinearMoments of_v = moments_of(network, attention.v);
  Gram of_values = k;
  scale(of_values, of_v.factor);
  add_bias(of_values, of_v.bias);
  std::vector<Gram> grams(static_cast<std::size_t>(n_sets() * attention.n_heads));
  each_head({factor_of(k, tokens, sample.valid), factor_of(of_values, tokens, sample.valid)},
            [&](Index set, Index head, const SplitState& mixed) {
              grams[static_cast<std::size_t>(set * attention.n_heads + head)] = gram_of(mixed, tokens);
            });
  Gram sum = zero_gram(k.n());
  for (const Gram& gram : grams) add(sum, gram);
  scale(sum, 1 / static_cast<double>(grams.size()));
  return sum;
}

std::vector<Matrix<double>> SampledAttention::probabilities(const Matrix<double>& factor) const {
  const Index n = factor.rows();
  const SplitState x{{RowVector<double>::Zero(factor.cols()), kLogZero}, scaled<Matrix<double>>(factor)};
  const SplitState unit{{RowVector<double>::Zero(n), kLogZero}, {Matrix<double>::Identity(n, n), 0}};
  std::vector<Matrix<double>> out(static_cast<std::size_t>(n_sets() * attention.n_heads));
  each_head({x, unit}, [&](Index set, Index head, const SplitState& mixed) {
    Matrix<double>& p = out[static_cast<std::size_t>(set * attention.n_heads + head)];
    p = joined(mixed);
    Matrix<double> only = Matrix<double>::Zero(n, n);  // padding sees nothing and is not seen
    for (const Index i : tokens.rows()) {
      for (const Index j : tokens.rows()) only(i, j) = p(i, j);
    }
    p = std::move(only);
  });
  return out;
}

}  // namespace rankfall
