#include "model/input_map.h"

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

}  // namespace rankfall
