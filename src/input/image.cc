#include "input/image.h"

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstring>
#include <memory>
#include <string>

#include <png.h>
#include <turbojpeg.h>

#include "base/errors.h"

namespace rankfall {
namespace {

void check_size(Index width, Index height, std::string_view where) {
  if (width < 1 || height < 1 || width > kMaxImageSide || height > kMaxImageSide || width * height > kMaxImagePixels) {
    throw input_error("{}: an image of {} x {} pixels, expected at most {} a side and {} in all", where, width, height,
                      kMaxImageSide, kMaxImagePixels);
  }
}

// ---- PNG

// libpng ends a failed call by longjmp: between setjmp and the end only plain data may live in the frame, so everything
// else is kept here.
struct PngReading {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const std::byte> rest;
  std::string problem;
  Image image;
  std::vector<png_bytep> rows;
  bool too_large = false;

  ~PngReading() { png_destroy_read_struct(&png, &info, nullptr); }
};

void png_take(png_structp png, png_bytep out, std::size_t n) {
  auto* reading = static_cast<PngReading*>(png_get_io_ptr(png));
  if (n > reading->rest.size()) png_error(png, "it ends too early");
  std::memcpy(out, reading->rest.data(), n);
  reading->rest = reading->rest.subspan(n);
}

[[noreturn]] void png_fail(png_structp png, png_const_charp text) {
  static_cast<PngReading*>(png_get_error_ptr(png))->problem = text;
  png_longjmp(png, 1);
}

void png_ignore(png_structp /*png*/, png_const_charp /*text*/) {}

// False when the image is beyond the limits or libpng failed; `reading` says which.
bool read_png(PngReading& reading) {
  if (setjmp(png_jmpbuf(reading.png)) != 0) return false;
  png_set_read_fn(reading.png, &reading, png_take);
  png_set_user_limits(reading.png, 0x7FFFFFFF, 0x7FFFFFFF);  // ours are checked below, with their own message
  png_set_chunk_cache_max(reading.png, 16);
  png_set_chunk_malloc_max(reading.png, 1 << 20);
  png_read_info(reading.png, reading.info);
  reading.image.width = static_cast<Index>(png_get_image_width(reading.png, reading.info));
  reading.image.height = static_cast<Index>(png_get_image_height(reading.png, reading.info));
  reading.too_large = reading.image.width > kMaxImageSide || reading.image.height > kMaxImageSide ||
                      reading.image.width * reading.image.height > kMaxImagePixels;
  if (reading.too_large) return false;
  png_set_expand(reading.png);
  png_set_strip_16(reading.png);
  png_set_gray_to_rgb(reading.png);
  png_set_strip_alpha(reading.png);
  png_set_interlace_handling(reading.png);
  png_read_update_info(reading.png, reading.info);
  const std::size_t stride = png_get_rowbytes(reading.png, reading.info);
  if (stride != static_cast<std::size_t>(reading.image.width) * 3) png_error(reading.png, "of an unknown kind");
  reading.image.rgb.resize(stride * static_cast<std::size_t>(reading.image.height));
  for (Index y = 0; y < reading.image.height; ++y) {
    reading.rows.push_back(reading.image.rgb.data() + stride * static_cast<std::size_t>(y));
  }
  png_read_image(reading.png, reading.rows.data());
  png_read_end(reading.png, nullptr);
  return true;
}

Image decode_png(std::span<const std::byte> bytes, std::string_view where) {
  PngReading reading;
  reading.rest = bytes;
  reading.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, png_fail, png_ignore);
  reading.info = reading.png ? png_create_info_struct(reading.png) : nullptr;
  if (!reading.info) throw std::bad_alloc();
  const bool done = read_png(reading);
  if (reading.too_large) check_size(reading.image.width, reading.image.height, where);
  if (!done) throw input_error("{}: a damaged PNG image: {}", where, reading.problem);
  return std::move(reading.image);
}

// ---- JPEG

Image decode_jpeg(std::span<const std::byte> bytes, std::string_view where) {
  const std::unique_ptr<void, int (*)(tjhandle)> jpeg(tjInitDecompress(), tjDestroy);
  if (!jpeg) throw std::bad_alloc();
  const auto fail = [&]() -> Error {
    return input_error("{}: a damaged JPEG image: {}", where, tjGetErrorStr2(jpeg.get()));
  };
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0;
  int height = 0;
  int sampling = 0;
  int colours = 0;
  if (tjDecompressHeader3(jpeg.get(), data, bytes.size(), &width, &height, &sampling, &colours) != 0) throw fail();
  check_size(width, height, where);
  if (colours == TJCS_CMYK || colours == TJCS_YCCK)
    throw input_error("{}: a JPEG image in CMYK, expected RGB or grey", where);
  Image image{width, height,
              std::vector<std::uint8_t>(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3)};
  constexpr int kFlags = TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS;
  if (tjDecompress2(jpeg.get(), data, bytes.size(), image.rgb.data(), width, 0, height, TJPF_RGB, kFlags) != 0) {
    // Stray bytes do no harm; an end that comes too early does.
    // libjpeg says "Premature end of JPEG file" and "premature end of data segment"; there is no code for either.
    const bool harmless = tjGetErrorCode(jpeg.get()) == TJERR_WARNING &&
                          std::string_view(tjGetErrorStr2(jpeg.get())).find("remature end") == std::string_view::npos;
    if (!harmless) throw fail();
  }
  return image;
}

// ---- resizing

double bilinear(double x) { return std::max(0.0, 1 - std::abs(x)); }

double bicubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * kA : 0;
}

// Weights of one output pixel: `first` is the first input pixel they belong to. In units of 2^-22, as Pillow rounds.
constexpr int kBits = 22;
struct Weights {
  Index first = 0;
  std::vector<std::int32_t> values;
};

std::vector<Weights> weights_of(Index n_in, Index n_out, double (*filter)(double), double support) {
  const double scale = static_cast<double>(n_in) / static_cast<double>(n_out);
  const double filter_scale = std::max(scale, 1.0);
  const double reach = support * filter_scale;
  std::vector<Weights> all(static_cast<std::size_t>(n_out));
  for (Index i = 0; i < n_out; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    Weights& weights = all[static_cast<std::size_t>(i)];
    weights.first = std::max<Index>(static_cast<Index>(std::trunc(centre - reach + 0.5)), 0);
    const Index end = std::min<Index>(static_cast<Index>(std::trunc(centre + reach + 0.5)), n_in);
    std::vector<double> exact;
    double sum = 0;
    for (Index x = weights.first; x < end; ++x) {
      exact.push_back(filter((static_cast<double>(x) - centre + 0.5) / filter_scale));
      sum += exact.back();
    }
    for (const double w : exact) {
      const double scaled = (sum != 0 ? w / sum : w) * (1 << kBits);
      weights.values.push_back(static_cast<std::int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5));
    }
  }
  return all;
}

// Along one axis: `step` is the distance of neighbours along it, `n_lines` lines start `line_step` apart.
void resample_axis(const std::vector<Weights>& weights, const std::uint8_t* in, Index in_step, Index in_line,
                   std::uint8_t* out, Index out_step, Index out_line, Index n_lines) {
  for (Index line = 0; line < n_lines; ++line) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      for (Index channel = 0; channel < 3; ++channel) {
        const std::uint8_t* pixel = in + line * in_line + weights[i].first * in_step + channel;
        std::int64_t sum = std::int64_t{1} << (kBits - 1);
        for (const std::int32_t w : weights[i].values) {
          sum += std::int64_t{w} * *pixel;
          pixel += in_step;
        }
        out[line * out_line + static_cast<Index>(i) * out_step + channel] =
            static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> kBits, 0, 255));
      }
    }
  }
}

Image resize_nearest(const Image& image, Index width, Index height) {
  Image out{width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(width * height) * 3)};
  for (Index y = 0; y < height; ++y) {
    const auto from_y = std::min(image.height - 1, (2 * y + 1) * image.height / (2 * height));
    for (Index x = 0; x < width; ++x) {
      const auto from_x = std::min(image.width - 1, (2 * x + 1) * image.width / (2 * width));
      std::copy_n(image.rgb.data() + (from_y * image.width + from_x) * 3, 3, out.rgb.data() + (y * width + x) * 3);
    }
  }
  return out;
}

// Of the result and of the image between the two passes, which has the width of one and the height of the other.
void check_resize(const Image& image, Index width, Index height) {
  check_size(width, height, "resizing");
  check_size(width, image.height, "resizing");
}

bool starts_with(std::span<const std::byte> bytes, std::string_view front) {
  return bytes.size() >= front.size() && std::memcmp(bytes.data(), front.data(), front.size()) == 0;
}

}  // namespace

bool looks_like_png(std::span<const std::byte> bytes) { return starts_with(bytes, "\x89PNG\r\n\x1A\n"); }
bool looks_like_jpeg(std::span<const std::byte> bytes) { return starts_with(bytes, "\xFF\xD8\xFF"); }

Image decode_image(std::span<const std::byte> bytes, std::string_view where) {
  if (looks_like_png(bytes)) return decode_png(bytes, where);
  if (looks_like_jpeg(bytes)) return decode_jpeg(bytes, where);
  throw input_error("{}: is neither PNG nor JPEG", where);
}

Image resize(const Image& image, Index width, Index height, Resample resample) {
  if (resample == Resample::kNearest) return resize_nearest(image, width, height);
  const bool cubic = resample == Resample::kBicubic;
  double (*const filter)(double) = cubic ? bicubic : bilinear;
  const double support = cubic ? 2 : 1;
  check_resize(image, width, height);
  Image wide = image;
  if (width != image.width) {
    wide = {width, image.height, std::vector<std::uint8_t>(static_cast<std::size_t>(width * image.height) * 3)};
    resample_axis(weights_of(image.width, width, filter, support), image.rgb.data(), 3, image.width * 3,
                  wide.rgb.data(), 3, width * 3, image.height);
  }
  if (height == wide.height) return wide;
  Image out{width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(width * height) * 3)};
  resample_axis(weights_of(wide.height, height, filter, support), wide.rgb.data(), width * 3, 3, out.rgb.data(),
                width * 3, 3, width);
  return out;
}

}  // namespace rankfall
