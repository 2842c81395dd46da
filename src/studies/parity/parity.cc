#include "studies/parity/parity.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "base/errors.h"
#include "base/parallel.h"
#include "engine/memory.h"
#include "input/inputs.h"
#include "io/dtype.h"
#include "io/safetensors.h"
#include "io/utf8.h"
#include "result/manifest.h"
#include "studies/error_summary.h"
#include "studies/part_of.h"
#include "studies/provenance.h"
#include <rankfall/forward.h>
#include <rankfall/model.h>
#include <rankfall/variants.h>

namespace rankfall {
namespace {

constexpr std::string_view kHidden = "hidden_states";
constexpr std::string_view kAttention = "attentions";

// A reference tensor [..., rows, cols] whose leading indices are one number.
class Reference {
 public:
  Reference(const SafetensorsFile& file, const TensorInfo& tensor, const std::vector<Index>& expected)
      : where_(file.where()), tensor_(tensor) {
    if (tensor.shape != expected) {
      throw input_error("{}: tensor {} is {}, expected {}", where_, in_quotes(tensor.name), shape_text(tensor.shape),
                        shape_text(expected));
    }
    file.at(tensor.name);  // says if its type is unknown
    const Index n_matrices = tensor.size() / (rows() * cols());
    largest_.resize(static_cast<std::size_t>(n_matrices));
    parallel_for(n_matrices, [&](Index m) { largest_[static_cast<std::size_t>(m)] = largest_of(m); });
  }

  Index n_states() const { return tensor_.shape[0]; }

  // |ours - reference| as a share of the largest entry of the reference's matrix, for rows first.. of it. Where the
  // reference goes on behind our columns, it should be 0. Rows of padding are left out.
  template <class T>
  void compare(Index matrix, Index first, const MatrixRef<T>& ours, std::span<const std::uint8_t> valid,
               ErrorSummary& out) const {
    const double largest = largest_[static_cast<std::size_t>(matrix)];
    std::vector<double> theirs(static_cast<std::size_t>(cols()));
    for (Index r = 0; r < ours.rows(); ++r) {
      if (!valid.empty() && valid[static_cast<std::size_t>(first + r)] == 0) continue;
      read((matrix * rows() + first + r) * cols(), theirs);
      for (Index c = 0; c < cols(); ++c) {
        const double own = c < ours.cols() ? static_cast<double>(ours(r, c)) : 0.0;
        out.add(std::abs(own - theirs[static_cast<std::size_t>(c)]) / largest);
      }
    }
  }

 private:
  Index rows() const { return tensor_.shape[tensor_.shape.size() - 2]; }
  Index cols() const { return tensor_.shape.back(); }

  void read(Index first, std::span<double> out) const {
    const std::size_t size = dtype_size(tensor_.dtype);
    widen<double>(tensor_.dtype, tensor_.bytes.subspan(static_cast<std::size_t>(first) * size, out.size() * size), out);
  }

  double largest_of(Index matrix) const {
    std::vector<double> row(static_cast<std::size_t>(cols()));
    double top = 0;
    for (Index r = 0; r < rows(); ++r) {
      read((matrix * rows() + r) * cols(), row);
      for (const double value : row) {
        if (!std::isfinite(value)) {
          throw input_error("{}: tensor {} has an entry {}, expected finite numbers", where_, in_quotes(tensor_.name),
                            value);
        }
        top = std::max(top, std::abs(value));
      }
    }
    return top > 0 ? top : 1;
  }

  std::string where_;
  const TensorInfo& tensor_;
  std::vector<double> largest_;  // of each matrix
};

// Compares one sample with the reference while it runs.
template <class T>
class ParityObserver final : public Observer<T> {
 public:
  ParityObserver(const Reference& hidden, const Reference* attention, const Sample& sample, Index number,
                 Index n_samples, const Sizes& sizes)
      : hidden_(hidden),
        attention_(attention),
        valid_(sample.valid),
        number_(number),
        n_samples_(n_samples),
        n_heads_(sizes.n_heads) {}

  Needs needs() const override {
    return {.hidden = true, .attention = attention_ ? Needs::Attention::kRows : Needs::Attention::kNone};
  }
  void hidden(Index state, const MatrixRef<T>& x) override {
    if (state < hidden_.n_states()) hidden_.compare<T>(state * n_samples_ + number_, 0, x, valid_, hidden_errors_);
  }
  void attention_rows(Index block, Index head, Index first_row, const MatrixRef<T>& rows) override {
    ErrorSummary errors;
    attention_->compare<T>((block * n_samples_ + number_) * n_heads_ + head, first_row, rows, valid_, errors);
    const std::lock_guard lock(mutex_);
    attention_errors_.merge(errors);
  }

  const ErrorSummary& hidden_errors() const { return hidden_errors_; }
  const ErrorSummary& attention_errors() const { return attention_errors_; }

 private:
  const Reference& hidden_;
  const Reference* attention_;
  std::span<const std::uint8_t> valid_;
  Index number_, n_samples_, n_heads_;
  ErrorSummary hidden_errors_;
  std::mutex mutex_;
  ErrorSummary attention_errors_;  // counts: the order of merging does not matter
};

struct Errors {
  ErrorSummary hidden, attention;

  void merge(const Errors& more) {
    hidden.merge(more.hidden);
    attention.merge(more.attention);
  }
};

template <class T>
Errors compare(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
               const Reference& hidden, const Reference* attention, const Progress& progress) {
  std::vector<std::unique_ptr<ParityObserver<T>>> observers;
  std::vector<Observer<T>*> pointers;
  const Index n_samples = std::ssize(samples);
  for (Index s = 0; s < n_samples; ++s) {
    observers.push_back(std::make_unique<ParityObserver<T>>(hidden, attention, samples[static_cast<std::size_t>(s)], s,
                                                            n_samples, network.sizes));
    pointers.push_back(observers.back().get());
  }
  forward<T>(network, weights, samples, pointers, {.progress = progress});
  Errors errors;
  for (const auto& observer : observers) {
    errors.hidden.merge(observer->hidden_errors());
    errors.attention.merge(observer->attention_errors());
  }
  return errors;
}

void add_rows(Result& result, const Row& labels, std::string_view what, const ErrorSummary& errors) {
  if (errors.n() == 0) return;
  for (const auto& [name, value] : {std::pair("max", errors.largest()), std::pair("median", errors.median())}) {
    Row& row = result.rows.emplace_back(labels);
    row.metric = fmt::format("parity.{}.{}", what, name);
    row.mean = value;
    row.n = errors.n();
  }
}

// The variant that `NAME/hidden_states` was made with: our names, or no_PART for a removed part, and a kind of
// attention after a space.
Variant variant_of(const std::string& name) {
  if (const auto space = name.find(' '); space != std::string::npos) {
    return with_attentions({variant_of(name.substr(0, space))}, {attention_named(name.substr(space + 1))})[0];
  }
  if (name.starts_with("no_")) {
    Variant variant = variant_without(name.substr(3));
    variant.name = name;
    return variant;
  }
  if (!name.starts_with("-")) return variant_named(name);
  std::string parts = name;
  std::erase(parts, '-');
  return variant_without(parts);
}

// The names in the metadata of a captured file.
std::vector<std::string> captured_variants(const SafetensorsFile& file) {
  const auto found = file.metadata().find("variants");
  if (found == file.metadata().end()) return {};
  std::vector<std::string> names;
  std::string_view rest = found->second;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(", "));
    rest.remove_prefix(std::min(rest.size(), name.size() + 2));
    names.emplace_back(name);
  }
  return names;
}

// Variants of a reference file with their prefix. A file with one variant has no prefix; if rankfall made it, its
// metadata say which.
std::vector<std::pair<std::string, Variant>> variants_in(const SafetensorsFile& file) {
  const auto published = file.metadata().find("as_published");
  if (published != file.metadata().end() && published->second == "true") {
    throw input_error("{}: captured as published, which parity does not run", file.where());
  }
  std::vector<std::pair<std::string, Variant>> variants;
  for (const TensorInfo& tensor : file.tensors()) {
    if (!tensor.name.ends_with(kHidden)) continue;
    std::string name = tensor.name.substr(0, tensor.name.size() - kHidden.size());
    if (!name.empty() && !name.ends_with('/')) continue;
    const auto captured = captured_variants(file);
    const std::string variant = !name.empty()          ? name.substr(0, name.size() - 1)
                                : captured.size() == 1 ? captured[0]
                                                       : "full";
    try {
      variants.emplace_back(name, variant_of(variant));
    } catch (const Error&) {
      throw input_error("{}: tensor {}: no variant is called {}", file.where(), in_quotes(tensor.name),
                        in_quotes(variant));
    }
  }
  if (variants.empty()) throw input_error("{}: found no tensor 'hidden_states', expected one", file.where());
  return variants;
}

// Inputs beside the model, by the names of what is in them.
InputOptions input_beside(const std::filesystem::path& directory, InputOptions options) {
  for (const char* name : {"input.safetensors", "hidden.safetensors"}) {
    const std::filesystem::path path = directory / name;
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    const auto file = SafetensorsFile::open(path);
    if (file->find("input_ids")) options.ids = path.string();
    if (file->find("pixel_values")) options.pixels = {path.string()};
    if (file->find("hidden_states")) options.hidden = path.string();
    if (options.is_given()) return options;
  }
  throw usage_error(
      "{}: has no input.safetensors; give the reference's input (InputOptions::ids, InputOptions::hidden or "
      "InputOptions::pixels)",
      directory.string());
}

void compare_model(const std::string& spec, const ParityOptions& options, Result& result, Provenance& provenance,
                   const Progress& progress) {
  const Model model = open_model(spec, 0, {{}, options.input.ignore_unused});
  const std::string reference =
      options.reference.empty() ? (std::filesystem::path(spec) / "expected.safetensors").string() : options.reference;
  const auto file = SafetensorsFile::open(reference);
  InputOptions input_options = options.input.is_given() ? options.input : input_beside(spec, options.input);
  const auto variants = variants_in(*file);
  const TensorInfo& first = file->at(variants[0].first + std::string(kHidden));
  if (first.shape.size() != 4 || first.shape[1] < 1) {
    throw input_error("{}: tensor {} is {}, expected [states, samples, tokens, width]", file->where(),
                      in_quotes(first.name), shape_text(first.shape));
  }
  if (!input_options.n_samples) input_options.n_samples = first.shape[1];
  const Inputs inputs = open_inputs(model.network, input_for(model, input_options), 0);
  const InputSize size = size_of(inputs.samples);
  provenance.add(model, input_options, inputs.source, size);
  provenance.add_notes(inputs.notes);
  for (const auto& [prefix, variant] : variants) {
    check_memory(model, std::span(&variant, 1), {.n_samples = size.n_samples, .n_tokens = size.n_tokens});
  }

  const Sizes& sizes = model.network.sizes;
  const double n_jobs = static_cast<double>(options.precisions.size() * variants.size());
  double job = 0;
  for (const Precision precision : options.precisions) {
    Row labels{.model = spec, .kind = precision == Precision::kF32 ? "f32" : "f64"};
    Errors all;
    for (const auto& [prefix, variant] : variants) {
      // OPT-350m's last state lies behind a projection in the original library, and may be missing.
      const TensorInfo& states = file->at(prefix + std::string(kHidden));
      const bool lacks_last = model.network.head && !states.shape.empty() && states.shape[0] == sizes.n_blocks;
      const Reference hidden(*file, states,
                             {sizes.n_blocks + (lacks_last ? 0 : 1), size.n_samples, size.n_tokens, sizes.d_model});
      std::optional<Reference> attention;
      if (const TensorInfo* tensor = file->find(prefix + std::string(kAttention))) {
        attention.emplace(
            *file, *tensor,
            std::vector<Index>{sizes.n_blocks, size.n_samples, sizes.n_heads, size.n_tokens, size.n_tokens});
      }
      const Network network = apply(variant, model.network);
      const auto run = precision == Precision::kF32 ? compare<float> : compare<double>;
      const Errors errors = run(network, *model.weights, inputs.samples, hidden, attention ? &*attention : nullptr,
                                part_of(progress, job++, n_jobs, spec + " " + variant.name));
      labels.variant = variant.name;
      add_rows(result, labels, "hidden", errors.hidden);
      add_rows(result, labels, "attention", errors.attention);
      if (variants.size() > 1) all.merge(errors);
    }
    labels.variant = "all";
    add_rows(result, labels, "hidden", all.hidden);
    add_rows(result, labels, "attention", all.attention);
  }
}

}  // namespace

Result parity(std::span<const std::string> models, const ParityOptions& options) {
  if (models.empty()) throw usage_error("no model given");
  Result result{"parity", base_manifest(), {}};
  add_blas(result.manifest);
  Provenance provenance;
  for (std::size_t m = 0; m < models.size(); ++m) {
    compare_model(models[m], options, result, provenance,
                  part_of(options.progress, static_cast<double>(m), static_cast<double>(models.size()), models[m]));
  }
  provenance.write(result.manifest);
  return result;
}

}  // namespace rankfall
