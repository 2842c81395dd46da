#pragma once

#include "train/settings.h"

namespace rankfall {

// About how many bytes a training with these settings takes: its sequences, weights with what the optimiser keeps of
// each, and what a step keeps for the gradient. Computed from sizes alone; nothing is made.
double training_memory(const TrainSettings& settings);

// Throws Error, as check_memory does, when so many trainings at a time cannot fit in memory: said before their
// sequences are made rather than by the kernel in the middle of it.
void check_training_memory(const TrainSettings& settings, Index n_at_a_time);

}  // namespace rankfall
