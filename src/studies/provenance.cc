#include "studies/provenance.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/mapped.h"
#include "linalg/blas_info.h"
#include "result/manifest.h"
#include <rankfall/process.h>

namespace rankfall {
namespace {

bool all_equal(const std::vector<std::string>& values) {
  return std::ranges::all_of(values, [&](const std::string& value) { return value == values.front(); });
}

void add_texts(Manifest& manifest, std::string_view key, const std::vector<std::string>& values) {
  if (values.empty()) return;
  add(manifest, key, all_equal(values) ? ManifestValue(values.front()) : ManifestValue(values));
}

void add_numbers(Manifest& manifest, std::string_view key, const std::vector<std::string>& values) {
  const bool a_number = !values.empty() && values.front().find_first_not_of("0123456789") == std::string::npos;
  if (a_number && all_equal(values)) {
    add(manifest, key, std::int64_t{std::stoll(values.front())});
  } else {
    add_texts(manifest, key, values);
  }
}

}  // namespace

std::vector<std::string> notes_on_input(const Model& model, const InputOptions& input) {
  if (model.drawn || input.is_given()) return {};
  constexpr std::string_view kHow = "--text FILE, one sample per line, or --ids FILE";  // a command line
  return {
      fmt::format("{}: trained weights, but random inputs, on which it was not trained; for the model as it is used "
                  "give text ({})",
                  model.name, kHow)};
}

void Provenance::add(const Model& model, const InputOptions& input, const std::string& input_source,
                     const InputSize& size) {
  models_.push_back(model.name);
  weights_.emplace_back(model.drawn ? "drawn at initialisation, philox4x32-10" : "read from files");
  digests_.push_back(model.weights->digest());
  inputs_.push_back(input_source);
  samples_.push_back(std::to_string(size.n_samples));
  tokens_.push_back(tokens_text(size));
  random_ = !input.is_given();
  add_notes(model.notes);
  add_notes(notes_on_input(model, input));
}

void Provenance::add_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    if (std::ranges::find(notes_, note) == notes_.end()) notes_.push_back(note);
  }
}

void Provenance::write(Manifest& manifest) const {
  rankfall::add(manifest, "models", models_);
  add_texts(manifest, "weights", weights_);
  if (std::ranges::any_of(digests_, [](const std::string& digest) { return !digest.empty(); })) {
    add_texts(manifest, "weights_sha256", digests_);
  }
  add_texts(manifest, "input", inputs_);
  rankfall::add(manifest, "random_input", random_);
  add_numbers(manifest, "samples", samples_);
  add_numbers(manifest, "tokens", tokens_);
  if (!notes_.empty()) rankfall::add(manifest, "notes", notes_);
}

std::vector<Variant> variants_or_paper(const std::vector<Variant>& variants) {
  return variants.empty() ? paper_variants(false) : variants;
}

std::vector<Variant> variants_or_full(const std::vector<Variant>& variants) {
  return variants.empty() ? std::vector{variant_named("full")} : variants;
}

void add_blas(Manifest& manifest) {
  add(manifest, "blas", blas_description());
  add(manifest, "blas_choice", blas_choice());
}

Manifest run_manifest(std::string_view precision, const std::vector<Variant>& variants) {
  Manifest manifest = base_manifest();
  add(manifest, "precision", std::string(precision));
  add(manifest, "threads", std::int64_t{threads()});
  add_blas(manifest);
  add(manifest, "residual", "about the token mean");
  add(manifest, "variants", mapped<std::string>(variants, &Variant::name));
  add(manifest, "as_published", std::ranges::any_of(variants, &Variant::as_published));
  return manifest;
}

}  // namespace rankfall
