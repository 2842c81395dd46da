#include "input/inputs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/errors.h"
#include "input/image_inputs.h"
#include "input/text_inputs.h"
#include "io/array_file.h"
#include "io/dtype.h"

namespace rankfall {
namespace {

constexpr Index kDefaultTokens = 128;

std::string sample_text(const ArrayFile& file, std::size_t i) { return fmt::format("{}: sample {}", file.where(), i); }

// Integers that fit 32 bits.
std::vector<std::int32_t> small_integers(const Array& array, const std::string& where, const char* what) {
  if (!is_integer(array.dtype)) {
    throw input_error("{}: {} of type {}, expected whole numbers", where, what, dtype_name(array.dtype));
  }
  const std::vector<std::int64_t> wide = read_integers(array.dtype, array.bytes);
  std::vector<std::int32_t> values(wide.size());
  for (std::size_t i = 0; i < wide.size(); ++i) {
    if (wide[i] < std::numeric_limits<std::int32_t>::min() || wide[i] > std::numeric_limits<std::int32_t>::max()) {
      throw input_error("{}: {} {} at position {}, far beyond any vocabulary", where, what, wide[i], i);
    }
    values[i] = static_cast<std::int32_t>(wide[i]);
  }
  return values;
}

// Finite reals as rows x (the rest).
Matrix<double> reals(const Array& array, const std::string& where) {
  if (array.bytes.empty()) throw input_error("{}: shape {}: it is empty", where, shape_text(array.shape));
  const Index rows = array.shape[0];
  Index cols = 1;
  for (std::size_t i = 1; i < array.shape.size(); ++i) cols *= array.shape[i];
  Matrix<double> values(rows, cols);
  widen<double>(array.dtype, array.bytes, std::span<double>(values.data(), static_cast<std::size_t>(values.size())));
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) {
      if (!std::isfinite(values(i, j))) {
        throw input_error("{}: {} at row {}, column {}, expected finite numbers", where, values(i, j), i, j);
      }
    }
  }
  return values;
}

// Arrays beside the samples have as many entries as there are samples, or are absent.
SampleArrays beside(const ArrayFile& file, const char* name, std::size_t n_samples) {
  SampleArrays arrays = file.samples_if_present(name, 1);
  if (!arrays.empty() && arrays.size() != n_samples) {
    throw input_error("{}: {} samples, but '{}' has {}", file.where(), n_samples, name, arrays.size());
  }
  return arrays;
}

// Samples of a file of numbers, each read when it is asked for.
struct SampleReader {
  std::size_t n_samples = 0;
  std::function<Sample(std::size_t)> read;
};

void read_mask(const SampleArrays& masks, std::size_t i, const std::string& where, Sample& sample) {
  if (masks.empty()) return;
  for (const std::int32_t m : small_integers(masks[i], where, "mask")) sample.valid.push_back(m != 0 ? 1 : 0);
}

// The array called `name`, content_of(array, where) of each sample; with masks and, of ids, segments beside it.
SampleReader read_arrays(const ArrayFile& file, std::string_view name, std::size_t rank, const auto& content_of) {
  const SampleArrays arrays = file.samples(name, rank);
  const SampleArrays segments = rank == 1 ? beside(file, "token_type_ids", arrays.size()) : SampleArrays();
  const SampleArrays masks = beside(file, "attention_mask", arrays.size());
  return {arrays.size(), [=, &file](std::size_t i) {
            const std::string where = sample_text(file, i);
            Sample sample{content_of(arrays[i], where)};
            if (!segments.empty()) sample.segments = small_integers(segments[i], where, "segment");
            read_mask(masks, i, where, sample);
            return sample;
          }};
}

SampleReader read_ids(const ArrayFile& file) {
  return read_arrays(file, "input_ids", 1, [](const Array& array, const std::string& where) {
    return small_integers(array, where, "token id");
  });
}

// A matrix per sample, as Features or HiddenState.
template <class Content>
SampleReader read_matrices(const ArrayFile& file, std::string_view name) {
  return read_arrays(file, name, 2,
                     [](const Array& array, const std::string& where) { return Content{reals(array, where)}; });
}

SampleReader read_pixels(const ArrayFile& file, const Network& network) {
  const auto* patches = std::get_if<PatchInput>(&network.input.source);
  const SampleArrays arrays = file.samples("pixel_values", 3);
  return {arrays.size(), [=, &file](std::size_t i) {
            const std::string where = sample_text(file, i);
            const Array array = arrays[i];
            if (is_integer(array.dtype)) {
              throw input_error(
                  "{}: pixels of type {}, expected real ones, scaled and normalised as the model wants them", where,
                  dtype_name(array.dtype));
            }
            if (patches && (array.shape[1] != patches->image || array.shape[2] != patches->image)) {
              throw input_error("{}: an image of shape {}, expected [{}, {}, {}]", where, shape_text(array.shape),
                                patches->channels, patches->image, patches->image);
            }
            return Sample{Pixels{reals(array, where), patches ? patches->n_tokens() : 0}};
          }};
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

// Masks and segments are as long as their samples: to be known before anything is cut.
void check_beside(const Sample& sample, std::size_t i, const std::string& where) {
  const auto n = static_cast<std::size_t>(sample.n_tokens());
  const auto fits = [&](std::size_t size) { return size == 0 || size == n; };
  if (!fits(sample.valid.size()) || !fits(sample.segments.size())) {
    throw input_error("{}: sample {}: {} tokens with {} entries of the mask and {} of the segments", where, i, n,
                      sample.valid.size(), sample.segments.size());
  }
}

void check_each(const Network& network, const std::vector<Sample>& samples, const std::string& where) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    try {
      check_sample(network, samples[i]);
    } catch (const Error& error) {
      throw input_error("{}: sample {}: {}", where, i, error.what());
    }
  }
}

// Reads no more samples than are wanted. With a length, longer ones are truncated and shorter ones skipped.
void take_samples(const SampleReader& reader, const InputOptions& options, const std::string& where, Inputs& inputs) {
  if (reader.n_samples == 0) throw input_error("{}: no samples", where);
  const auto n_wanted = static_cast<std::size_t>(options.n_samples.value_or(std::numeric_limits<Index>::max()));
  const std::optional<Index> length = options.pixels.empty() ? options.n_tokens : std::nullopt;
  std::size_t n_skipped = 0;
  std::size_t n_read = 0;
  for (; n_read < reader.n_samples && inputs.samples.size() < n_wanted; ++n_read) {
    Sample sample = reader.read(n_read);
    check_beside(sample, n_read, where);
    if (length && sample.n_tokens() < *length) {
      ++n_skipped;
      continue;
    }
    if (length) cut(sample, *length);
    inputs.samples.push_back(std::move(sample));
  }
  if (inputs.samples.empty()) {
    throw input_error("{}: none of {} samples has {} tokens (InputOptions::n_tokens)", where, n_read, *length);
  }
  if (n_skipped > 0) {
    inputs.notes.push_back(
        fmt::format("{}: {} of {} samples skipped, shorter than {} tokens", where, n_skipped, n_read, *length));
  }
}

bool uses_segments(const Network& network) {
  const auto* tokens = std::get_if<TokenInput>(&network.input.source);
  return (tokens && tokens->segments) || std::ranges::any_of(network.layers, [](const SubLayer& layer) {
           const Attention* attention = layer.attention();
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
        fmt::format("{}: 'token_type_ids' left out, the family {} has no segments", where, network.family));
  }
}

void note_missing(const InputOptions& options, const std::string& where, Inputs& inputs) {
  const auto n_present = std::ssize(inputs.samples);
  if (options.n_samples && *options.n_samples > n_present) {
    inputs.notes.push_back(
        fmt::format("{}: {} requested samples, only {} found", where, *options.n_samples, n_present));
  }
}

Inputs given_inputs(const Network& network, const InputOptions& options) {
  Inputs inputs;
  inputs.source = "the given samples";
  const std::vector<Sample>& samples = *options.samples;
  take_samples({samples.size(), [&](std::size_t i) { return samples[i]; }}, options, inputs.source, inputs);
  drop_unused_segments(network, inputs, inputs.source);
  if (const auto* patches = std::get_if<PatchInput>(&network.input.source)) {
    for (Sample& sample : inputs.samples) {
      if (auto* pixels = std::get_if<Pixels>(&sample.content)) pixels->n_tokens = patches->n_tokens();
    }
  }
  check_each(network, inputs.samples, inputs.source);
  note_missing(options, inputs.source, inputs);
  return inputs;
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
  InputSize size{std::ssize(samples), 0};
  for (const Sample& sample : samples) size.n_tokens = std::max(size.n_tokens, sample.n_tokens());
  size.shortest = size.n_tokens;
  for (const Sample& sample : samples) size.shortest = std::min(size.shortest, sample.n_tokens());
  return size;
}

std::string tokens_text(const InputSize& size) {
  return size.shortest == size.n_tokens ? fmt::format("{}", size.n_tokens)
                                        : fmt::format("{} to {}", size.shortest, size.n_tokens);
}

Inputs open_inputs(const Network& network, const InputOptions& options, std::uint64_t seed) {
  if (options.n_samples.value_or(1) < 1) throw usage_error("{} samples; expected at least 1", *options.n_samples);
  if (!options.is_given()) return random_inputs(network, options, seed);
  const int n_kinds = int{!options.text.empty()} + int{!options.texts.empty()} + int{!options.ids.empty()} +
                      int{!options.features.empty()} + int{!options.hidden.empty()} + int{!options.pixels.empty()} +
                      int{options.samples != nullptr};
  if (n_kinds > 1) {
    throw usage_error("more than one of text, ids, features, hidden states and pixels; expected one kind of input");
  }
  if (options.is_text()) return text_inputs(network, options);
  if (options.samples) return given_inputs(network, options);
  if (!options.pixels.empty() && is_image(options.pixels[0])) return image_inputs(network, options);
  if (options.pixels.size() > 1) {
    throw input_error("{}: is no PNG or JPEG image; of pixel tensors one file is read", options.pixels[0]);
  }
  Inputs inputs;
  inputs.source = options.ids + options.features + options.hidden + (options.pixels.empty() ? "" : options.pixels[0]);
  // With a length, nobody knows in advance which samples are long enough.
  std::optional<std::size_t> n_kept;
  if (options.n_samples && !options.n_tokens) n_kept = static_cast<std::size_t>(*options.n_samples);
  const std::size_t rank = !options.ids.empty() ? 1 : options.pixels.empty() ? 2 : 3;
  const ArrayFile file(inputs.source, rank, n_kept);
  const SampleReader reader = !options.ids.empty()        ? read_ids(file)
                              : !options.features.empty() ? read_matrices<Features>(file, "features")
                              : !options.hidden.empty()   ? read_matrices<HiddenState>(file, "hidden_states")
                                                          : read_pixels(file, network);
  take_samples(reader, options, file.where(), inputs);
  if (options.n_tokens && !options.pixels.empty()) {
    inputs.notes.emplace_back("a number of tokens has no meaning for images, whose tokens are patches");
  }
  drop_unused_segments(network, inputs, file.where());
  check_each(network, inputs.samples, file.where());
  note_missing(options, file.where(), inputs);
  return inputs;
}

}  // namespace rankfall
