#pragma once

#include <vector>

#include "train/settings.h"
#include <rankfall/sample.h>

namespace rankfall {

// The first n_train lines of the settings' text as token ids, truncated or padded to n_tokens. SentencePiece and
// libtorch cannot live in one process (each brings a protobuf of its own), so `rankfall tokens` is run for it, found
// beside this program. Throws Error(kInput) with what that program said.
std::vector<Sample> text_ids(const TrainSettings& settings);

}  // namespace rankfall
