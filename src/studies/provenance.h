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
  // Reads all of a checkpoint's files, for their digest. A trained model on random inputs gets a note.
  void add(const Model& model, const InputOptions& input, const std::string& input_source, const InputSize& size);
  void add_notes(const std::vector<std::string>& notes);

  // Adds models, weights, weights_sha256, input, random_input, samples, tokens and notes. A value that is the same for
  // all models is given once, otherwise as a list in the order of the models.
  void write(Manifest& manifest) const;

 private:
  std::vector<std::string> models_, weights_, digests_, inputs_, samples_, tokens_, notes_;
  bool random_ = false;
};

// What a person should know who did not say what a trained model is run on: nothing, or one note.
std::vector<std::string> notes_on_input(const Model& model, const InputOptions& input);

// The variants themselves, or the four of the paper as labelled if there are none.
std::vector<Variant> variants_or_paper(const std::vector<Variant>& variants);
// The same with the whole network.
std::vector<Variant> variants_or_full(const std::vector<Variant>& variants);

// "blas": name, version and kernel; "blas_choice": who chose the kernel.
void add_blas(Manifest& manifest);

// What every analysis of variants says of itself: precision, threads, BLAS, what residuals are about, the variants.
Manifest run_manifest(std::string_view precision, const std::vector<Variant>& variants);

}  // namespace rankfall
