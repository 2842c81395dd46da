#pragma once

#include <string>
#include <vector>

#include "input/inputs.h"
#include <rankfall/model.h>
#include <rankfall/result.h>

namespace rankfall {

// What a result was made from, model by model, for its manifest.
class Provenance {
 public:
  // Reads all of a checkpoint's files, for their digest.
  void add(const Model& model, const std::string& input_source, const InputSize& size);
  void add_notes(const std::vector<std::string>& notes);

  // Adds models, weights, weights_sha256, input, samples, tokens and notes. A value that is the same for all models is
  // given once, otherwise as a list in the order of the models.
  void write(Manifest& manifest) const;

 private:
  std::vector<std::string> models_, weights_, digests_, inputs_, samples_, tokens_, notes_;
};

}  // namespace rankfall
