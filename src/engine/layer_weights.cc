#include "engine/layer_weights.h"

#include "engine/layer_weights_impl.h"

namespace rankfall {
namespace {

void collect(const TensorSlice& slice, std::vector<TensorSlice>& out) { out.push_back(slice); }

void collect(const std::optional<TensorSlice>& slice, std::vector<TensorSlice>& out) {
  if (slice) out.push_back(*slice);
}

void collect(const Linear& linear, std::vector<TensorSlice>& out) {
  collect(linear.w, out);
  collect(linear.b, out);
}

void collect(const Norm& norm, std::vector<TensorSlice>& out) {
  collect(norm.gain, out);
  collect(norm.bias, out);
}

void collect(const std::optional<Norm>& norm, std::vector<TensorSlice>& out) {
  if (norm) collect(*norm, out);
}

void collect(const NoPositions&, std::vector<TensorSlice>&) {}

void collect(const XlnetPositions& positions, std::vector<TensorSlice>& out) {
  collect(positions.r, out);
  for (const TensorSlice& slice : {positions.u, positions.v, positions.s, positions.segment_embedding}) {
    collect(slice, out);
  }
}

void collect(const T5Positions& positions, std::vector<TensorSlice>& out) { collect(positions.bias, out); }

void collect(const RotaryPositions&, std::vector<TensorSlice>&) {}

void collect(const AlibiPositions&, std::vector<TensorSlice>&) {}

void collect_positions(const Attention& attention, std::vector<TensorSlice>& out) {
  std::visit([&](const auto& positions) { collect(positions, out); }, attention.positions);
  for (const auto& of_heads : {attention.q_norm, attention.k_norm}) {
    if (of_heads) collect(of_heads->norm, out);
  }
}

void collect(const Attention& attention, std::vector<TensorSlice>& out) {
  for (const Linear* linear : {&attention.q, &attention.k, &attention.v, &attention.o}) collect(*linear, out);
  collect_positions(attention, out);
}

void collect(const Mlp& mlp, std::vector<TensorSlice>& out) {
  collect(mlp.up, out);
  collect(mlp.down, out);
  if (mlp.gate) collect(*mlp.gate, out);
}

void collect(const Elementwise&, std::vector<TensorSlice>&) {}

void collect(const SubLayer& layer, std::vector<TensorSlice>& out) {
  for (const Branch& branch : layer.branches) {
    collect(branch.in, out);
    std::visit([&](const auto& f) { collect(f, out); }, branch.f);
    collect(branch.out, out);
  }
  collect(layer.post, out);
}

std::vector<TensorSlice> collected(const auto& part) {
  std::vector<TensorSlice> out;
  collect(part, out);
  return out;
}

}  // namespace

StoredRows stored_rows(const TensorSlice& slice, const TensorSpec& spec) {
  if (slice.run == 0 || is_vector(spec)) return {slice.row, slice.rows};
  return {slice.row, (slice.rows - 1) / slice.run * slice.period + (slice.rows - 1) % slice.run + 1};
}

std::vector<TensorSlice> slices_of(const SubLayer& layer) { return collected(layer); }
std::vector<TensorSlice> slices_of(const Linear& linear) { return collected(linear); }
std::vector<TensorSlice> slices_of(const Norm& norm) { return collected(norm); }

std::vector<TensorSlice> position_slices(const Attention& attention) {
  std::vector<TensorSlice> out;
  collect_positions(attention, out);
  return out;
}

template LoadedSlice<float> load_slice(const TensorSlice&, const std::vector<TensorSpec>&, const WeightSource&);
template LoadedSlice<double> load_slice(const TensorSlice&, const std::vector<TensorSpec>&, const WeightSource&);
template class LayerWeights<float>;
template class LayerWeights<double>;

}  // namespace rankfall
