#pragma once

#include "engine/layer_weights.h"
#include <rankfall/matrix.h>
#include <rankfall/sample.h>

namespace rankfall {

// Slices of the stages of the input map (not of its tables, of which only the rows that occur are read).
std::vector<TensorSlice> stage_slices(const InputMap& input);

// Row of the position table for each token of a sample of token ids.
std::vector<Index> position_rows(const TokenInput& input, const Sample& sample);

// Hidden state 0 of a sample. `stages` holds stage_slices(network.input). The sample must have passed check_sample.
template <class T>
Matrix<T> input_state(const Network& network, const WeightSource& source, const LayerWeights<T>& stages,
                      const Sample& sample);

}  // namespace rankfall
