#include "input/image.h"

#include <filesystem>

#include <gmock/gmock.h>

#include "input/inputs.h"
#include "io/io_test_util.h"
#include <rankfall/model.h>

// References by Pillow, made by tools/make_image_golden.py.

namespace rankfall {
namespace {

using test::bytes_of;
using test::input_error;
using test::read_all;
using test::TempDir;
using ::testing::HasSubstr;

const std::filesystem::path kImages = std::filesystem::path(RANKFALL_TEST_DATA) / "images";

Image decode(const std::string& name) {
  const std::string bytes = read_all(kImages / name);
  return decode_image(bytes_of(bytes), name);
}

// The largest difference in levels.
int difference(const Image& image, const std::string& reference) {
  const std::string expected = read_all(kImages / reference);
  EXPECT_EQ(image.rgb.size(), expected.size()) << reference;
  int most = 0;
  for (std::size_t i = 0; i < std::min(expected.size(), image.rgb.size()); ++i) {
    most = std::max(most, std::abs(int{image.rgb[i]} - int{static_cast<unsigned char>(expected[i])}));
  }
  return most;
}

TEST(Image, PngIsExact) {
  for (const char* name : {"rgb.png", "grey.png", "palette.png", "alpha.png"}) {
    EXPECT_EQ(difference(decode(name), std::string(name) + ".rgb"), 0) << name;
  }
}

TEST(Image, JpegIsExactToOneLevel) {
  for (const char* name : {"colour.jpg", "grey.jpg"}) {
    EXPECT_LE(difference(decode(name), std::string(name) + ".rgb"), 1) << name;
  }
}

TEST(Image, ResizesAsPillowDoes) {
  const Image image = decode("rgb.png");
  const struct {
    const char* name;
    Resample resample;
  } filters[] = {{"bilinear", Resample::kBilinear}, {"bicubic", Resample::kBicubic}, {"nearest", Resample::kNearest}};
  const std::pair<Index, Index> sizes[] = {{16, 16}, {224, 32}, {53, 20}, {7, 90}};
  for (const auto& filter : filters) {
    for (const auto& [width, height] : sizes) {
      const std::string reference =
          "rgb." + std::to_string(width) + "x" + std::to_string(height) + "." + filter.name + ".rgb";
      EXPECT_EQ(difference(resize(image, width, height, filter.resample), reference), 0) << reference;
    }
  }
}

// An end in the middle of the picture, with the rest of the file behind it.
TEST(Image, JpegThatEndsInTheMiddle) {
  std::string bad = read_all(kImages / "colour.jpg");
  bad.replace(bad.size() * 3 / 4, 2, "\xFF\xD9");
  EXPECT_THAT(input_error([&] { decode_image(bytes_of(bad), "f"); }), HasSubstr("remature end"));
}

TEST(Image, ResizingStaysWithinTheLimits) {
  const Image tall{2, 20'000, std::vector<std::uint8_t>(2 * 20'000 * 3)};
  EXPECT_THAT(input_error([&] { resize(tall, 20'000, 4, Resample::kBilinear); }),
              HasSubstr("an image of 20000 x 20000 pixels"));
}

TEST(Image, DamagedAndHugeOnesAreRefused) {
  for (const char* name : {"rgb.png", "colour.jpg"}) {
    const std::string good = read_all(kImages / name);
    for (std::size_t size = 0; size + 1 < good.size(); size += good.size() / 20) {
      const std::string cut = good.substr(0, size);
      EXPECT_THROW(decode_image(bytes_of(cut), "f"), Error) << name << " " << size;
    }
    for (std::size_t i = 0; i < 300; ++i) {
      std::string bad = good;
      bad[(i * 7919) % bad.size()] = static_cast<char>(i * 37);
      try {
        decode_image(bytes_of(bad), "f");
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kInput);
      }
    }
  }
  std::string huge = read_all(kImages / "rgb.png");
  huge.replace(16, 8, std::string("\0\0\x7F\xFF\0\0\x7F\xFF", 8));  // 32767 x 32767
  EXPECT_THROW(decode_image(bytes_of(huge), "f"), Error);
  EXPECT_THAT(input_error([] { decode_image(bytes_of("GIF89a"), "f"); }), HasSubstr("f: is neither PNG nor JPEG"));
}

Network vit(int side) {
  return network_from_config(
      R"({"model_type": "vit", "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1,
          "intermediate_size": 4, "patch_size": 4, "image_size": )" +
          std::to_string(side) + "}",
      "config");
}

TEST(ImageInputs, HugeImagesOfAModelAreRefused) {
  EXPECT_NO_THROW(vit(512));
  EXPECT_THAT(input_error([] { vit(4096); }),
              HasSubstr("'image_size' 4096 makes 1048576 patches of 4, expected at most 16384"));
}

TEST(ImageInputs, WithoutSettingsAsVitDoes) {
  InputOptions options;
  options.pixels = {(kImages / "rgb.png").string(), (kImages / "colour.jpg").string()};
  const Inputs inputs = open_inputs(vit(16), options, 0);
  ASSERT_EQ(inputs.samples.size(), 2U);
  EXPECT_EQ(inputs.samples[0].n_tokens(), 17);
  const auto& pixels = std::get<Pixels>(inputs.samples[0].content).values;
  const std::string expected = read_all(kImages / "rgb.16x16.bilinear.rgb");
  for (Index i = 0; i < 256; ++i) {
    for (Index c = 0; c < 3; ++c) {
      const double level = static_cast<unsigned char>(expected[static_cast<std::size_t>(3 * i + c)]);
      EXPECT_NEAR(pixels(c, i), (level / 255 - 0.5) / 0.5, 1e-12);
    }
  }
  options.n_samples = 1;
  EXPECT_EQ(open_inputs(vit(16), options, 0).samples.size(), 1U);
}

TEST(ImageInputs, AsTheSettingsSay) {
  const TempDir dir;
  InputOptions options;
  options.tokenizer = dir.path().string();
  options.pixels = {(kImages / "rgb.png").string()};
  dir.file("preprocessor_config.json", R"({"size": {"shortest_edge": 20}, "do_center_crop": true,
      "crop_size": {"height": 16, "width": 16}, "resample": 3, "image_mean": [0, 0, 0], "image_std": [1, 1, 2],
      "rescale_factor": 1})");
  const Inputs inputs = open_inputs(vit(16), options, 0);
  const auto& pixels = std::get<Pixels>(inputs.samples[0].content).values;
  const Image scaled = resize(decode("rgb.png"), 28, 20, Resample::kBicubic);
  EXPECT_EQ(pixels(1, 17), scaled.rgb[static_cast<std::size_t>(((2 + 1) * 28 + 6 + 1) * 3 + 1)]);
  EXPECT_EQ(pixels(2, 0) * 2, scaled.rgb[static_cast<std::size_t>((2 * 28 + 6) * 3 + 2)]);

  const std::pair<const char*, const char*> bad[] = {
      {R"({"size": 15})", "15 x 15 pixels after preprocessing, expected 16 x 16"},
      {R"({"size": {"shortest_edge": 6400}})", "9167 x 6400 pixels after preprocessing, expected 16 x 16"},
      {R"({"size": 8, "do_center_crop": true, "crop_size": 16})", "8 x 8 pixels, from which 16 x 16 cannot be cut"},
      {R"({"resample": 1})", "'resample' is not 0"},
      {R"({"image_std": [1, 0, 1]})", "'image_std' has an entry that is 0"},
      {R"({"image_mean": [1, 2]})", "expected three numbers"},
      {R"({"do_center_crop": true, "size": 8, "crop_size": 16})", "cannot be cut"},
  };
  for (const auto& [settings, says] : bad) {
    dir.file("preprocessor_config.json", settings);
    EXPECT_THAT(input_error([&] { open_inputs(vit(16), options, 0); }), HasSubstr(says));
  }
}

}  // namespace
}  // namespace rankfall
