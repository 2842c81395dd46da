#include "input/image_inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "base/errors.h"
#include "input/image.h"
#include "io/json_file.h"
#include "io/mapped_file.h"
#include "network/config.h"

namespace rankfall {
namespace {

// What preprocessor_config.json asks for.
struct Preprocessing {
  bool resize = true;
  Index width = 0, height = 0;
  Index shortest = 0;  // > 0: the shorter side gets this length, and the shape stays
  Resample resample = Resample::kBilinear;
  Index crop_width = 0, crop_height = 0;  // 0: no cropping
  double factor = 1.0 / 255;
  std::array<double, 3> mean = {0.5, 0.5, 0.5};
  std::array<double, 3> std = {0.5, 0.5, 0.5};
};

// `size` is a number, or an object with height and width, or with shortest_edge.
void read_size(const Config& config, Preprocessing& out) {
  if (!config.is_object("size")) {
    out.width = out.height = config.side("size", 1, kMaxImageSide, out.width);
    return;
  }
  const Config size = *config.object("size");
  if (size.has("shortest_edge")) {
    out.shortest = size.integer("shortest_edge", 1, kMaxImageSide);
    return;
  }
  out.height = size.integer("height", 1, kMaxImageSide);
  out.width = size.integer("width", 1, kMaxImageSide);
}

void read_crop(const Config& config, Preprocessing& out) {
  if (!config.flag("do_center_crop", false)) return;
  if (!config.is_object("crop_size")) {
    out.crop_width = out.crop_height = config.side("crop_size", 1, kMaxImageSide, out.width);
    return;
  }
  const Config size = *config.object("crop_size");
  out.crop_height = size.integer("height", 1, kMaxImageSide);
  out.crop_width = size.integer("width", 1, kMaxImageSide);
}

Preprocessing read_preprocessing(const std::string& directory, Index image_side) {
  Preprocessing out;
  out.width = out.height = image_side;
  const std::filesystem::path path = std::filesystem::path(directory) / "preprocessor_config.json";
  std::error_code error;
  if (directory.empty() || !std::filesystem::exists(path, error)) return out;
  const Config config(read_json_file(path), path.string(), ErrorKind::kInput);
  out.resize = config.flag("do_resize", true);
  read_size(config, out);
  const Index resample = config.integer("resample", 0, 5, 2);
  if (resample != 0 && resample != 2 && resample != 3) {
    config.fail("'resample' is not 0 (nearest), 2 (bilinear) or 3 (bicubic)");
  }
  out.resample = resample == 0 ? Resample::kNearest : resample == 2 ? Resample::kBilinear : Resample::kBicubic;
  read_crop(config, out);
  out.factor = config.flag("do_rescale", true) ? config.number("rescale_factor", 1e-9, 1e9, 1.0 / 255) : 1;
  if (config.flag("do_normalize", true)) {
    out.mean = config.triple("image_mean", out.mean);
    out.std = config.triple("image_std", out.std);
    if (std::ranges::any_of(out.std, [](double s) { return !(std::abs(s) >= 1e-6 && std::abs(s) <= 1e6); })) {
      config.fail("'image_std' has an entry that is 0 or beyond all measure");
    }
    if (std::ranges::any_of(out.mean, [](double m) { return !(std::abs(m) <= 1e6); })) {
      config.fail("'image_mean' has an entry beyond all measure");
    }
  } else {
    out.mean = {0, 0, 0};
    out.std = {1, 1, 1};
  }
  return out;
}

struct ImageSize {
  Index width = 0, height = 0;
};

ImageSize resized_size(const Image& image, const Preprocessing& p) {
  if (!p.resize) return {image.width, image.height};
  if (p.shortest == 0) return {p.width, p.height};
  const Index shorter = std::min(image.width, image.height);
  const auto scaled = [&](Index side) { return std::max<Index>(1, p.shortest * side / shorter); };
  return {scaled(image.width), scaled(image.height)};
}

// What comes out is compared with what the model takes before any of it is made: it may cost minutes.
void check_preprocessed(const Image& image, const Preprocessing& p, Index side, const std::string& where) {
  const ImageSize size = resized_size(image, p);
  const bool crops = p.crop_width > 0;
  if (crops && (p.crop_width > size.width || p.crop_height > size.height)) {
    throw input_error("{}: {} x {} pixels, from which {} x {} cannot be cut", where, size.width, size.height,
                      p.crop_width, p.crop_height);
  }
  const ImageSize last = crops ? ImageSize{p.crop_width, p.crop_height} : size;
  if (last.width != side || last.height != side) {
    throw input_error("{}: {} x {} pixels after preprocessing, expected {} x {}", where, last.width, last.height, side,
                      side);
  }
}

Image resized(const Image& image, const Preprocessing& p, const std::string& where) {
  if (!p.resize) return image;
  const ImageSize size = resized_size(image, p);
  try {
    return resize(image, size.width, size.height, p.resample);
  } catch (const Error& error) {
    throw input_error("{}: {}", where, error.what());
  }
}

Image cropped(const Image& image, const Preprocessing& p) {
  if (p.crop_width == 0) return image;
  const Index left = (image.width - p.crop_width) / 2;
  const Index top = (image.height - p.crop_height) / 2;
  Image out{p.crop_width, p.crop_height, {}};
  for (Index y = 0; y < p.crop_height; ++y) {
    const auto first = image.rgb.begin() + ((top + y) * image.width + left) * 3;
    out.rgb.insert(out.rgb.end(), first, first + p.crop_width * 3);
  }
  return out;
}

}  // namespace

bool is_image(const std::string& path) {
  const auto file = MappedFile::open(path);
  return looks_like_png(file->bytes()) || looks_like_jpeg(file->bytes());
}

Inputs image_inputs(const Network& network, const InputOptions& options) {
  const auto* patches = std::get_if<PatchInput>(&network.input.source);
  if (!patches) throw usage_error("InputOptions::pixels: the model takes no images");
  if (patches->channels != 3) {
    throw usage_error("InputOptions::pixels: the model takes {} channels; image files have 3, give a tensor",
                      patches->channels);
  }
  const Preprocessing preprocessing = read_preprocessing(options.tokenizer, patches->image);
  Inputs inputs;
  inputs.source = fmt::format("{}", fmt::join(options.pixels, ", "));
  const auto n_wanted = static_cast<std::size_t>(options.n_samples.value_or(std::ssize(options.pixels)));
  for (const std::string& path : options.pixels) {
    if (inputs.samples.size() == n_wanted) break;
    const auto file = MappedFile::open(path);
    const Image original = decode_image(file->bytes(), path);
    check_preprocessed(original, preprocessing, patches->image, path);
    const Image image = cropped(resized(original, preprocessing, path), preprocessing);
    Matrix<double> values(3, image.width * image.height);
    for (Index i = 0; i < values.cols(); ++i) {
      for (Index c = 0; c < 3; ++c) {
        const auto at = static_cast<std::size_t>(c);
        const double level = image.rgb[static_cast<std::size_t>(3 * i + c)];
        values(c, i) = (level * preprocessing.factor - preprocessing.mean[at]) / preprocessing.std[at];
      }
    }
    inputs.samples.push_back({Pixels{std::move(values), patches->n_tokens()}});
  }
  return inputs;
}

}  // namespace rankfall
