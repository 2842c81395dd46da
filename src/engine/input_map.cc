#include "engine/input_map.h"

namespace rankfall {

std::vector<TensorSlice> stage_slices(const InputMap& input) {
  std::vector<TensorSlice> out;
  const auto append = [&](const std::vector<TensorSlice>& more) { out.insert(out.end(), more.begin(), more.end()); };
  for (const auto& stage : input.stages) {
    if (const auto* linear = std::get_if<Linear>(&stage)) append(slices_of(*linear));
    if (const auto* norm = std::get_if<Norm>(&stage)) append(slices_of(*norm));
  }
  return out;
}

std::vector<Index> position_rows(const TokenInput& input, const Sample& sample) {
  const TokenIds& ids = std::get<TokenIds>(sample.content);
  const bool by_mask = input.skips_padding && !sample.valid.empty();
  std::vector<Index> rows(ids.size());
  Index next = input.position_offset;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool is_padding = ids[i] == input.padding_id || (by_mask && sample.valid[i] == 0);
    rows[i] = is_padding ? input.position_offset - 1 : next++;
  }
  return rows;
}

}  // namespace rankfall
