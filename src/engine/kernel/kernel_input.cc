#include "engine/kernel/kernel_input.h"

#include "engine/input_map_impl.h"
#include "engine/kernel/moments.h"
#include "engine/split/split.h"

namespace rankfall {
namespace {

// Adds variance where rows of a table agree.
void add_table(const Moments& moments, const std::vector<Index>& rows, Matrix<double>& k) {
  for (Index i = 0; i < k.rows(); ++i) {
    for (Index j = 0; j < k.cols(); ++j) {
      const bool same = rows[static_cast<std::size_t>(i)] == rows[static_cast<std::size_t>(j)];
      k(i, j) += moments.mean * moments.mean + (same ? moments.variance : 0);
    }
  }
}

template <class Ids>
std::vector<Index> indices(const Ids& ids) {
  return std::vector<Index>(ids.begin(), ids.end());
}

Gram of_source(const Network& network, const TokenInput& input, const Sample& sample, const Tokens& tokens) {
  const TokenIds& ids = std::get<TokenIds>(sample.content);
  const Index n = std::ssize(ids);
  Matrix<double> k = Matrix<double>::Zero(n, n);
  add_table(moments_of(network, input.words), indices(ids), k);
  if (input.projection) {
    const LinearMoments moments = moments_of(network, *input.projection);
    k = (k * moments.factor).array() + moments.bias;
  }
  if (input.segments) {
    std::vector<Index> segments = indices(sample.segments);
    segments.resize(static_cast<std::size_t>(n), 0);
    add_table(moments_of(network, *input.segments), segments, k);
  }
  if (input.positions) add_table(moments_of(network, *input.positions), position_rows(input, sample), k);
  return gram_of(k, tokens);
}

// Of rows of numbers, per number.
Gram of_rows(const Matrix<double>& rows, const Sample& sample, const Tokens& tokens) {
  Gram k = gram_of(split(rows, sample.valid), tokens);
  scale(k, 1 / static_cast<double>(rows.cols()));
  return k;
}

Gram of_source(const Network& /*network*/, const FeatureInput& /*input*/, const Sample& sample, const Tokens& tokens) {
  return of_rows(std::get<Features>(sample.content).values, sample, tokens);
}

Gram of_source(const Network& network, const PatchInput& input, const Sample& sample, const Tokens& tokens) {
  const Matrix<double> patches = patches_of<double>(input, std::get<Pixels>(sample.content).values);
  const Index n = input.n_tokens();
  const LinearMoments moments = moments_of(network, input.projection);
  Matrix<double> k = Matrix<double>::Zero(n, n);
  k.bottomRightCorner(n - 1, n - 1) =
      (patches * patches.transpose() * (moments.factor / static_cast<double>(patches.cols()))).array() + moments.bias;
  k(0, 0) += moments_of(network, input.class_token).square();
  const Moments positions = moments_of(network, input.positions);
  k.array() += positions.mean * positions.mean;
  k.diagonal().array() += positions.variance;
  return gram_of(k, tokens);
}

}  // namespace

Gram source_gram(const Network& network, const Sample& sample, const Tokens& tokens) {
  if (const auto* given = std::get_if<HiddenState>(&sample.content)) return of_rows(given->values, sample, tokens);
  return std::visit([&](const auto& input) { return of_source(network, input, sample, tokens); }, network.input.source);
}

RowVector<double> channel_means_of(const HiddenState& state, const Tokens& tokens) {
  RowVector<double> out = RowVector<double>::Zero(state.values.rows());
  for (const Index i : tokens.rows()) out(i) = state.values.row(i).mean();
  if (out.isZero(0)) out.resize(0);
  return out;
}

}  // namespace rankfall
