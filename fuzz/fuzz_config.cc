// network_from_config on any bytes: it throws Error (kInput), or it gives a network whose parts fit together, and whose
// variants do.
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/input_map.h"
#include "engine/layer_weights.h"
#include "engine/position_tables.h"
#include "fuzz_check.h"
#include <rankfall/error.h>
#include <rankfall/model.h>
#include <rankfall/variants.h>

using namespace rankfall;

namespace {

// 2^40 elements are more than any file that passes the shape checks will have; the sizes themselves must not overflow.
void check_tensors(const Network& network) {
  for (const TensorSpec& tensor : network.tensors) {
    FUZZ_CHECK(!tensor.name.empty());
    for (const Index size : tensor.shape) FUZZ_CHECK(size > 0);
    FUZZ_CHECK(tensor.matrix_rows() > 0 && tensor.matrix_cols() > 0);
    FUZZ_CHECK(tensor.matrix_rows() <= (Index{1} << 62) / tensor.matrix_cols());
  }
}

void check_slices(const Network& network, const std::vector<TensorSlice>& slices) {
  for (const TensorSlice& slice : slices) {
    FUZZ_CHECK(slice.tensor >= 0 && slice.tensor < static_cast<int>(network.tensors.size()));
    const TensorSpec& tensor = network.tensors[static_cast<std::size_t>(slice.tensor)];
    FUZZ_CHECK(slice.row >= 0 && slice.rows > 0 && slice.col >= 0 && slice.cols > 0);
    const StoredRows rows = stored_rows(slice, tensor);
    const Index last_run = slice.run > 0 && is_vector(tensor) ? (slice.cols - 1) / slice.run * slice.period : 0;
    const Index width = last_run > 0 ? last_run + slice.run : slice.cols;
    FUZZ_CHECK(rows.first + rows.count <= tensor.matrix_rows() && slice.col + width <= tensor.matrix_cols());
  }
}

void check_layers(const Network& network) {
  for (const SubLayer& layer : network.layers) {
    check_slices(network, slices_of(layer));
    FUZZ_CHECK(layer.block >= 0 && layer.block < network.sizes.n_blocks);
    FUZZ_CHECK(!layer.branches.empty());
    const Attention* attention = layer.attention();
    if (!attention) continue;
    FUZZ_CHECK(attention->mask.window >= 0 && std::isfinite(attention->scale) && attention->soft_cap >= 0);
    if (std::holds_alternative<RotaryPositions>(attention->positions)) {
      const auto& rotary = std::get<RotaryPositions>(attention->positions);
      const RotaryTable<double> table = rotary_table(3, attention->d_head, rotary);
      FUZZ_CHECK(table.cos.allFinite() && table.sin.allFinite());
      FUZZ_CHECK(2 * table.cos.cols() <= attention->d_head);
    }
    FUZZ_CHECK(attention->n_heads % attention->n_kv_heads == 0);
    FUZZ_CHECK(attention->q.n_out() == attention->n_heads * attention->d_head);
    FUZZ_CHECK(attention->k.n_out() == attention->n_kv_heads * attention->d_head);
    FUZZ_CHECK(attention->v.n_out() == attention->k.n_out());
    FUZZ_CHECK(attention->o.n_in() == attention->q.n_out());
    FUZZ_CHECK(attention->q.n_in() == network.sizes.d_model && attention->o.n_out() == network.sizes.d_model);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Network network;
  try {
    network = network_from_config(text, "fuzz");
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kInput);
    FUZZ_CHECK(std::string_view(e.what()).starts_with("fuzz: "));
    return 0;
  }
  FUZZ_CHECK(network.sizes.n_blocks >= 1 && network.sizes.d_model >= 1 && network.sizes.n_heads >= 1);
  check_tensors(network);
  check_slices(network, stage_slices(network.input));
  check_layers(network);
  check_layers(without(network, {.attn_skip = true, .mlp = true, .mlp_skip = false, .norm = true}));
  return 0;
}
