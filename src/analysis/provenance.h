#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "input/inputs.h"
#include <rankfall/model.h>
#include <rankfall/result.h>
#include <rankfall/variants.h>

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

// The variants themselves, or the four of the paper as labelled if there are none.
std::vector<Variant> variants_or_paper(const std::vector<Variant>& variants);

// "blas": name, version and kernel; "blas_choice": who chose the kernel.
void add_blas(Manifest& manifest);

// What every analysis of variants says of itself: precision, threads, BLAS, what residuals are about, the variants.
Manifest run_manifest(std::string_view precision, const std::vector<Variant>& variants);

}  // namespace rankfall
