#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "analysis/part_of.h"
#include "analysis/provenance.h"
#include "base/parallel.h"
#include "input/inputs.h"
#include "io/dtype.h"
#include "io/safetensors.h"
#include "io/utf8.h"
#include "linalg/blas_info.h"
#include "result/manifest.h"
#include <rankfall/error.h>
#include <rankfall/forward.h>
#include <rankfall/model.h>
#include <rankfall/parity.h>
#include <rankfall/variants.h>

namespace rankfall {
namespace {

constexpr std::string_view kHidden = "hidden_states";
constexpr std::string_view kAttention = "attentions";

Error input(const std::string& text) { return Error(ErrorKind::kInput, text); }

// A reference tensor [..., rows, cols] whose leading indices are one number.
class Reference {
 public:
  Reference(const SafetensorsFile& file, const TensorInfo& tensor, std::vector<Index> expected) : tensor_(tensor) {
    if (tensor.shape != expected) {
      throw input(fmt::format("{}: tensor {} is {}, expected {}", file.where(), in_quotes(tensor.name),
                              shape_text(tensor.shape), shape_text(expected)));
    }
    file.at(tensor.name);  // says if its type is unknown
    largest_ = largest();
  }

  // |ours - reference| / largest entry of the reference, for rows first.. of one matrix, appended to `out`.
  template <class T>
  void errors(Index matrix, Index first, const MatrixRef<T>& ours, std::vector<float>& out) const {
    const Index rows = tensor_.shape[tensor_.shape.size() - 2];
    const Index cols = tensor_.shape.back();
    std::vector<double> theirs(static_cast<std::size_t>(cols));
    for (Index r = 0; r < ours.rows(); ++r) {
      read((matrix * rows + first + r) * cols, theirs);
      for (Index c = 0; c < cols; ++c) {
        const double error = std::abs(static_cast<double>(ours(r, c)) - theirs[static_cast<std::size_t>(c)]);
        out.push_back(static_cast<float>(error / largest_));
      }
    }
  }

 private:
  void read(Index first, std::span<double> out) const {
    const std::size_t size = dtype_size(tensor_.dtype);
    widen<double>(tensor_.dtype, tensor_.bytes.subspan(static_cast<std::size_t>(first) * size, out.size() * size), out);
  }

  double largest() const {
    constexpr Index kChunk = 1 << 16;
    std::vector<double> values(static_cast<std::size_t>(std::min(kChunk, tensor_.size())));
    double top = 0;
    for (Index first = 0; first < tensor_.size(); first += kChunk) {
      const auto part = std::span(values).first(static_cast<std::size_t>(std::min(kChunk, tensor_.size() - first)));
      read(first, part);
      for (const double value : part) {
        if (!std::isfinite(value)) {
          throw input(fmt::format("reference tensor {} has an entry {}, expected finite numbers",
                                  in_quotes(tensor_.name), value));
        }
        top = std::max(top, std::abs(value));
      }
    }
    return top > 0 ? top : 1;
  }

  const TensorInfo& tensor_;
  double largest_ = 1;
};

// Compares one sample with the reference while it runs.
template <class T>
class ParityObserver final : public Observer<T> {
 public:
  ParityObserver(const Reference& hidden, const Reference* attention, Index sample, Index n_samples, const Sizes& sizes)
      : hidden_(hidden),
        attention_(attention),
        sample_(sample),
        n_samples_(n_samples),
        n_heads_(sizes.n_heads),
        by_head_(attention ? static_cast<std::size_t>(sizes.n_blocks * sizes.n_heads) : 0) {}

  Needs needs() const override {
    return {.hidden = true, .attention = attention_ ? Needs::Attention::kWhole : Needs::Attention::kNone};
  }
  void hidden(Index state, const MatrixRef<T>& x) override {
    hidden_.errors<T>(state * n_samples_ + sample_, 0, x, hidden_errors_);
  }
  void attention(Index block, Index head, const MatrixRef<T>& p) override {
    attention_->errors<T>((block * n_samples_ + sample_) * n_heads_ + head, 0, p,
                          by_head_[static_cast<std::size_t>(block * n_heads_ + head)]);
  }

  std::vector<float> hidden_errors() const { return hidden_errors_; }
  std::vector<float> attention_errors() const {
    std::vector<float> all;
    for (const auto& errors : by_head_) all.insert(all.end(), errors.begin(), errors.end());
    return all;
  }

 private:
  const Reference& hidden_;
  const Reference* attention_;
  Index sample_, n_samples_, n_heads_;
  std::vector<float> hidden_errors_;
  std::vector<std::vector<float>> by_head_;
};

struct Errors {
  std::vector<float> hidden, attention;

  void append(const Errors& more) {
    hidden.insert(hidden.end(), more.hidden.begin(), more.hidden.end());
    attention.insert(attention.end(), more.attention.begin(), more.attention.end());
  }
};

template <class T>
Errors compare(const Network& network, const WeightSource& weights, std::span<const Sample> samples,
               const Reference& hidden, const Reference* attention, const Progress& progress) {
  std::vector<std::unique_ptr<ParityObserver<T>>> observers;
  std::vector<Observer<T>*> pointers;
  const Index n_samples = static_cast<Index>(samples.size());
  for (Index s = 0; s < n_samples; ++s) {
    observers.push_back(std::make_unique<ParityObserver<T>>(hidden, attention, s, n_samples, network.sizes));
    pointers.push_back(observers.back().get());
  }
  forward<T>(network, weights, samples, pointers, {.progress = progress});
  Errors errors;
  for (const auto& observer : observers) errors.append({observer->hidden_errors(), observer->attention_errors()});
  return errors;
}

void add_rows(Result& result, const Row& labels, std::string_view what, std::vector<float> errors) {
  if (errors.empty()) return;
  Row row = labels;
  row.n = static_cast<Index>(errors.size());
  row.metric = fmt::format("parity.{}.max", what);
  row.mean = double{*std::ranges::max_element(errors)};
  result.rows.push_back(row);
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  row.metric = fmt::format("parity.{}.median", what);
  row.mean = double{*middle};
  result.rows.push_back(row);
}

// The variant that `NAME/hidden_states` was made with: our names, or no_PART for a removed part.
Variant variant_of(const std::string& name) {
  if (name.starts_with("no_")) {
    Variant variant = variant_without(name.substr(3));
    variant.name = name;
    return variant;
  }
  if (!name.starts_with("-")) return variant_named(name);
  std::string parts;
  for (const char c : name) {
    if (c != '-') parts += c;
  }
  return variant_without(parts);
}

// Variants of a reference file with their prefix.
std::vector<std::pair<std::string, Variant>> variants_in(const SafetensorsFile& file) {
  std::vector<std::pair<std::string, Variant>> variants;
  for (const TensorInfo& tensor : file.tensors()) {
    if (!tensor.name.ends_with(kHidden)) continue;
    std::string name = tensor.name.substr(0, tensor.name.size() - kHidden.size());
    if (name.empty()) {
      variants.emplace_back("", variant_named("full"));
    } else if (name.ends_with('/')) {
      variants.emplace_back(name, variant_of(name.substr(0, name.size() - 1)));
    }
  }
  if (variants.empty()) throw input(fmt::format("{}: found no tensor 'hidden_states', expected one", file.where()));
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
    if (file->find("pixel_values")) options.pixels = path.string();
    if (file->find("hidden_states")) options.hidden = path.string();
    if (options.from_file()) return options;
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("{}: has no input.safetensors; give the reference's input with --ids, --hidden or --pixels",
                          directory.string()));
}

void compare_model(const std::string& spec, const ParityOptions& options, Result& result, Provenance& provenance,
                   const Progress& progress) {
  const Model model = open_model(spec, 0);
  const std::string reference =
      options.reference.empty() ? (std::filesystem::path(spec) / "expected.safetensors").string() : options.reference;
  const auto file = SafetensorsFile::open(reference);
  InputOptions input_options = options.input.from_file() ? options.input : input_beside(spec, options.input);
  const auto variants = variants_in(*file);
  const TensorInfo& first = file->at(variants[0].first + std::string(kHidden));
  if (!input_options.n_samples && first.shape.size() == 4) input_options.n_samples = first.shape[1];
  const Inputs inputs = open_inputs(model.network, input_options, 0);
  const InputSize size = size_of(inputs.samples);
  provenance.add(model, inputs.source, size);
  provenance.add_notes(inputs.notes);

  const Sizes& sizes = model.network.sizes;
  const double n_jobs = static_cast<double>(options.precisions.size() * variants.size());
  double job = 0;
  for (const Precision precision : options.precisions) {
    Row labels;
    labels.model = spec;
    labels.kind = precision == Precision::kF32 ? "f32" : "f64";
    Errors all;
    for (const auto& [prefix, variant] : variants) {
      const Reference hidden(*file, file->at(prefix + std::string(kHidden)),
                             {sizes.n_blocks + 1, size.n_samples, size.n_tokens, sizes.d_model});
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
      if (variants.size() > 1) all.append(errors);
    }
    labels.variant = "all";
    add_rows(result, labels, "hidden", all.hidden);
    add_rows(result, labels, "attention", all.attention);
  }
}

}  // namespace

Result parity(std::span<const std::string> models, const ParityOptions& options) {
  if (models.empty()) throw Error(ErrorKind::kUsage, "no model given");
  Result result{"parity", base_manifest(), {}};
  add(result.manifest, "blas", blas_description());
  Provenance provenance;
  for (std::size_t m = 0; m < models.size(); ++m) {
    compare_model(models[m], options, result, provenance,
                  part_of(options.progress, static_cast<double>(m), static_cast<double>(models.size()), models[m]));
  }
  provenance.write(result.manifest);
  return result;
}

}  // namespace rankfall
