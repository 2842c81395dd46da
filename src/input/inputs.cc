#include "input/inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/errors.h"
#include "input/image_inputs.h"
#include "input/text_inputs.h"
#include "io/array_file.h"
#include "io/dtype.h"
#include <rankfall/error.h>

namespace rankfall {
namespace {

constexpr Index kDefaultTokens = 128;

std::string sample_text(const ArrayFile& file, std::size_t i) { return fmt::format("{}: sample {}", file.where(), i); }

// Integers that fit 32 bits.
std::vector<std::int32_t> small_integers(const Array& array, const std::string& where, const char* what) {
  if (!is_integer(array.dtype)) {
    throw input_error(fmt::format("{}: {} of type {}, expected whole numbers", where, what, dtype_name(array.dtype)));
  }
  const std::vector<std::int64_t> wide = read_integers(array.dtype, array.bytes);
  std::vector<std::int32_t> values(wide.size());
  for (std::size_t i = 0; i < wide.size(); ++i) {
    if (wide[i] < std::numeric_limits<std::int32_t>::min() || wide[i] > std::numeric_limits<std::int32_t>::max()) {
      throw input_error(fmt::format("{}: {} {} at position {}, far beyond any vocabulary", where, what, wide[i], i));
    }
    values[i] = static_cast<std::int32_t>(wide[i]);
  }
  return values;
}

// Finite reals as rows x (the rest).
Matrix<double> reals(const Array& array, const std::string& where) {
  if (array.bytes.empty()) throw input_error(fmt::format("{}: shape {}: it is empty", where, shape_text(array.shape)));
  const Index rows = array.shape[0];
  Index cols = 1;
  for (std::size_t i = 1; i < array.shape.size(); ++i) cols *= array.shape[i];
  Matrix<double> values(rows, cols);
  widen<double>(array.dtype, array.bytes, std::span<double>(values.data(), static_cast<std::size_t>(values.size())));
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) {
      if (!std::isfinite(values(i, j))) {
        throw input_error(
            fmt::format("{}: {} at row {}, column {}, expected finite numbers", where, values(i, j), i, j));
      }
    }
  }
  return values;
}

// attention_mask, as many as there are samples, or nothing.
void read_masks(const ArrayFile& file, std::vector<Sample>& samples) {
  const auto masks = file.samples_if_present("attention_mask", 1);
  if (masks.empty()) return;
  if (masks.size() != samples.size()) {
    throw input_error(
        fmt::format("{}: {} samples, but 'attention_mask' has {}", file.where(), samples.size(), masks.size()));
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (const std::int32_t m : small_integers(masks[i], sample_text(file, i), "mask")) {
      samples[i].valid.push_back(m != 0 ? 1 : 0);
    }
  }
}

std::vector<Sample> read_ids(const ArrayFile& file) {
  const auto arrays = file.samples("input_ids", 1);
  const auto segments = file.samples_if_present("token_type_ids", 1);
  if (!segments.empty() && segments.size() != arrays.size()) {
    throw input_error(
        fmt::format("{}: {} samples, but 'token_type_ids' has {}", file.where(), arrays.size(), segments.size()));
  }
  std::vector<Sample> samples(arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::string where = sample_text(file, i);
    samples[i].content = small_integers(arrays[i], where, "token id");
    if (!segments.empty()) samples[i].segments = small_integers(segments[i], where, "segment");
  }
  read_masks(file, samples);
  return samples;
}

// A matrix a sample, as Features or HiddenState.
template <class Content>
std::vector<Sample> read_matrices(const ArrayFile& file, std::string_view name) {
  const auto arrays = file.samples(name, 2);
  std::vector<Sample> samples(arrays.size());
  read_masks(file, samples);
  for (std::size_t i = 0; i < arrays.size(); ++i) samples[i].content = Content{reals(arrays[i], sample_text(file, i))};
  return samples;
}

std::vector<Sample> read_pixels(const ArrayFile& file, const Network& network) {
  const auto* patches = std::get_if<PatchInput>(&network.input.source);
  const auto arrays = file.samples("pixel_values", 3);
  std::vector<Sample> samples(arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::string where = sample_text(file, i);
    if (is_integer(arrays[i].dtype)) {
      throw input_error(
          fmt::format("{}: pixels of type {}, expected real ones, scaled and normalised as the model wants them", where,
                      dtype_name(arrays[i].dtype)));
    }
    if (patches && (arrays[i].shape[1] != patches->image || arrays[i].shape[2] != patches->image)) {
      throw input_error(fmt::format("{}: an image of shape {}, expected [{}, {}, {}]", where,
                                    shape_text(arrays[i].shape), patches->channels, patches->image, patches->image));
    }
    samples[i].content = Pixels{reals(arrays[i], where), patches ? patches->n_tokens() : 0};
  }
  return samples;
}

// The first n tokens.
void cut(Sample& sample, Index n) {
  const auto size = static_cast<std::size_t>(n);
  if (auto* ids = std::get_if<TokenIds>(&sample.content)) ids->resize(size);
  if (auto* features = std::get_if<Features>(&sample.content)) features->values.conservativeResize(n, Eigen::NoChange);
  if (auto* hidden = std::get_if<HiddenState>(&sample.content))
    hidden->values = Matrix<double>(hidden->values.topRows(n));
  if (!sample.valid.empty()) sample.valid.resize(size);
  if (!sample.segments.empty()) sample.segments.resize(size);
}

// Cuts samples to length and leaves out those that are shorter.
void fit(std::vector<Sample>& samples, Index n_tokens, const std::string& where, std::vector<std::string>& notes) {
  const std::size_t n_all = samples.size();
  std::erase_if(samples, [&](const Sample& sample) { return sample.n_tokens() < n_tokens; });
  for (Sample& sample : samples) cut(sample, n_tokens);
  if (samples.empty()) {
    throw input_error(fmt::format("{}: none of {} samples has {} tokens (--tokens)", where, n_all, n_tokens));
  }
  if (samples.size() < n_all) {
    notes.push_back(fmt::format("{}: {} of {} samples left out, shorter than {} tokens", where, n_all - samples.size(),
                                n_all, n_tokens));
  }
}

// Masks and segments are as long as their samples: to be known before anything is cut.
void check_beside(const std::vector<Sample>& samples, const std::string& where) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto n = static_cast<std::size_t>(samples[i].n_tokens());
    const auto fits = [&](std::size_t size) { return size == 0 || size == n; };
    if (!fits(samples[i].valid.size()) || !fits(samples[i].segments.size())) {
      throw input_error(fmt::format("{}: sample {}: {} tokens with {} entries of the mask and {} of the segments",
                                    where, i, n, samples[i].valid.size(), samples[i].segments.size()));
    }
  }
}

bool uses_segments(const Network& network) {
  const auto* tokens = std::get_if<TokenInput>(&network.input.source);
  return (tokens && tokens->segments) || std::ranges::any_of(network.layers, [](const SubLayer& layer) {
           const auto* attention = std::get_if<Attention>(&layer.f);
           return attention && std::holds_alternative<XlnetPositions>(attention->positions);
         });
}

void drop_unused_segments(const Network& network, Inputs& inputs, const std::string& where) {
  const bool used = uses_segments(network);
  bool dropped = false;
  for (Sample& sample : inputs.samples) {
    if (used || sample.segments.empty()) continue;
    sample.segments.clear();
    dropped = true;
  }
  if (dropped) {
    inputs.notes.push_back(
        fmt::format("{}: 'token_type_ids' left out, a {} model has no segments", where, network.family));
  }
}

void check_each(const Network& network, const std::vector<Sample>& samples, const std::string& where) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    try {
      check_sample(network, samples[i]);
    } catch (const Error& error) {
      throw input_error(fmt::format("{}: sample {}: {}", where, i, error.what()));
    }
  }
}

Inputs random_inputs(const Network& network, const InputOptions& options, std::uint64_t seed) {
  const InputSize size = random_size(network, options);
  const bool tokens = std::holds_alternative<TokenInput>(network.input.source);
  const bool zipf = options.token_law == TokenLaw::kZipf;
  return {random_samples(network, seed, size.n_samples, size.n_tokens, options.token_law),
          !tokens ? "random, standard normal"
          : zipf  ? "random, zipf"
                  : "random, uniform",
          {}};
}

}  // namespace

InputOptions input_for(const Model& model, InputOptions options) {
  if (options.tokenizer.empty()) options.tokenizer = model.directory;
  return options;
}

Index default_tokens(const Network& network) {
  const Index limit = network.sizes.max_positions;
  return limit > 0 ? std::min(kDefaultTokens, limit) : kDefaultTokens;
}

InputSize random_size(const Network& network, const InputOptions& options) {
  const Index n_samples = options.n_samples.value_or(kDefaultSamples);
  if (const auto* images = std::get_if<PatchInput>(&network.input.source)) return {n_samples, images->n_tokens()};
  return {n_samples, options.n_tokens.value_or(default_tokens(network))};
}

InputSize size_of(std::span<const Sample> samples) {
  InputSize size{static_cast<Index>(samples.size()), 0};
  for (const Sample& sample : samples) size.n_tokens = std::max(size.n_tokens, sample.n_tokens());
  return size;
}

Inputs open_inputs(const Network& network, const InputOptions& options, std::uint64_t seed) {
  if (options.n_samples.value_or(1) < 1) {
    throw Error(ErrorKind::kUsage, fmt::format("{} samples; expected at least 1", *options.n_samples));
  }
  if (!options.from_file()) return random_inputs(network, options, seed);
  const int n_kinds = int{!options.text.empty()} + int{!options.ids.empty()} + int{!options.features.empty()} +
                      int{!options.hidden.empty()} + int{!options.pixels.empty()};
  if (n_kinds > 1) {
    throw Error(ErrorKind::kUsage,
                "more than one of --text, --ids, --features, --hidden and --pixels; expected one kind of input");
  }
  if (!options.text.empty()) return text_inputs(network, options);
  if (!options.pixels.empty() && is_image(options.pixels[0])) return image_inputs(network, options);
  if (options.pixels.size() > 1) {
    throw input_error(fmt::format("{}: is no PNG or JPEG image; of pixel tensors one file is read", options.pixels[0]));
  }
  Inputs inputs;
  inputs.source = options.ids + options.features + options.hidden + (options.pixels.empty() ? "" : options.pixels[0]);
  const ArrayFile file(inputs.source);
  inputs.samples = !options.ids.empty()        ? read_ids(file)
                   : !options.features.empty() ? read_matrices<Features>(file, "features")
                   : !options.hidden.empty()   ? read_matrices<HiddenState>(file, "hidden_states")
                                               : read_pixels(file, network);
  if (inputs.samples.empty()) throw input_error(fmt::format("{}: no samples", file.where()));
  check_beside(inputs.samples, file.where());
  if (options.n_tokens && options.pixels.empty()) fit(inputs.samples, *options.n_tokens, file.where(), inputs.notes);
  if (options.n_tokens && !options.pixels.empty()) {
    inputs.notes.emplace_back("--tokens has no meaning for images, whose tokens are patches");
  }
  drop_unused_segments(network, inputs, file.where());
  check_each(network, inputs.samples, file.where());
  const auto n_present = static_cast<Index>(inputs.samples.size());
  if (options.n_samples && *options.n_samples > n_present) {
    inputs.notes.push_back(
        fmt::format("{}: {} samples instead of the {} asked for", file.where(), n_present, *options.n_samples));
  }
  if (options.n_samples && *options.n_samples < n_present) {
    inputs.samples.resize(static_cast<std::size_t>(*options.n_samples));
  }
  return inputs;
}

}  // namespace rankfall
