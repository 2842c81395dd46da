#include "studies/capture/capture.h"

#include <gmock/gmock.h>

#include "contract.h"
#include "engine/recorder.h"
#include "io/dtype.h"
#include "io/io_test_util.h"
#include "io/safetensors.h"
#include "studies/error_summary.h"
#include "studies/parity/parity.h"
#include <rankfall/forward.h>
#include <rankfall/model.h>

namespace rankfall {
namespace {

using test::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kModel = "san:layers=3,heads=2,dim=8,mlp=16,vocab=30,std=0.4";

std::vector<double> values(const SafetensorsFile& file, const std::string& name) {
  const TensorInfo& tensor = file.at(name);
  std::vector<double> out(static_cast<std::size_t>(tensor.size()));
  widen<double>(tensor.dtype, tensor.bytes, out);
  return out;
}

// The states and attentions of kModel's variant, as capture should have written them.
template <class T>
std::vector<Recorder<T>> recorded(const Variant& variant, const std::vector<Sample>& samples) {
  const Model model = open_model(kModel, 5);
  std::vector<Recorder<T>> recorders(samples.size());
  std::vector<Observer<T>*> observers;
  observers.reserve(recorders.size());
  for (auto& recorder : recorders) observers.push_back(&recorder);
  forward<T>(apply(variant, model.network), *model.weights, samples, observers);
  return recorders;
}

CaptureOptions small_capture() {
  CaptureOptions options;
  options.seed = 5;
  options.input.n_samples = 3;
  options.input.n_tokens = 7;
  options.attention = true;
  return options;
}

TEST(Capture, WritesWhatTheForwardPassMakes) {
  const TempDir dir;
  const auto path = dir.path() / "out.safetensors";
  const Captured captured = capture(kModel, path, small_capture());
  const auto file = SafetensorsFile::open(path);
  ASSERT_EQ(captured.tensors.size(), 3U);
  EXPECT_EQ(captured.n_bytes, std::filesystem::file_size(path));
  EXPECT_THAT(file->at("hidden_states").shape, ElementsAre(4, 3, 7, 8));
  EXPECT_THAT(file->at("attentions").shape, ElementsAre(3, 3, 2, 7, 7));
  EXPECT_EQ(file->at("hidden_states").dtype, DType::kF32);
  EXPECT_EQ(file->metadata().at("precision"), "f32");
  EXPECT_EQ(file->metadata().at("models"), kModel);

  const Model model = open_model(kModel, 5);
  const auto samples = random_samples(model.network, 5, 3, 7);
  const auto expected = recorded<float>(variant_named("full"), samples);
  const auto hidden = values(*file, "hidden_states");
  const auto attention = values(*file, "attentions");
  const auto ids = read_integers(DType::kI64, file->at("input_ids").bytes);
  for (std::size_t s = 0; s < 3; ++s) {
    for (std::size_t t = 0; t < 7; ++t) {
      EXPECT_EQ(ids[s * 7 + t], std::get<TokenIds>(samples[s].content)[t]);
      for (std::size_t l = 0; l < 4; ++l) {
        for (std::size_t c = 0; c < 8; ++c) {
          EXPECT_EQ(hidden[((l * 3 + s) * 7 + t) * 8 + c],
                    expected[s].states[l](static_cast<Index>(t), static_cast<Index>(c)));
        }
      }
      for (std::size_t l = 0; l < 3; ++l) {
        for (std::size_t h = 0; h < 2; ++h) {
          for (std::size_t j = 0; j < 7; ++j) {
            EXPECT_EQ(attention[(((l * 3 + s) * 2 + h) * 7 + t) * 7 + j],
                      expected[s].attentions.at({static_cast<Index>(l), static_cast<Index>(h)})(static_cast<Index>(t),
                                                                                                static_cast<Index>(j)));
          }
        }
      }
    }
  }
}

TEST(Capture, SelectsLayersPositionsAndVariants) {
  const TempDir dir;
  const auto whole_path = dir.path() / "whole.safetensors";
  const auto part_path = dir.path() / "part.safetensors";
  CaptureOptions options = small_capture();
  options.precision = Precision::kF64;
  options.variants = {variant_named("full"), variant_named("san")};
  capture(kModel, whole_path, options);
  options.layers = {-1, 1};
  options.positions = {6, 2};
  capture(kModel, part_path, options);
  const auto whole = SafetensorsFile::open(whole_path);
  const auto part = SafetensorsFile::open(part_path);
  EXPECT_EQ(part->metadata().at("layers"), "1, 3");
  EXPECT_EQ(part->metadata().at("positions"), "2, 6");
  for (const std::string variant : {"full/", "san/"}) {
    ASSERT_THAT(part->at(variant + "hidden_states").shape, ElementsAre(2, 3, 2, 8));
    ASSERT_THAT(part->at(variant + "attentions").shape, ElementsAre(1, 3, 2, 2, 7));  // block 1; there is no block 3
    const auto some = values(*part, variant + "hidden_states");
    const auto all = values(*whole, variant + "hidden_states");
    const auto some_p = values(*part, variant + "attentions");
    const auto all_p = values(*whole, variant + "attentions");
    for (const std::size_t l : {std::size_t{0}, std::size_t{1}}) {
      for (std::size_t s = 0; s < 3; ++s) {
        for (const std::size_t t : {std::size_t{0}, std::size_t{1}}) {
          for (std::size_t c = 0; c < 8; ++c) {
            EXPECT_EQ(some[((l * 3 + s) * 2 + t) * 8 + c], all[(((2 * l + 1) * 3 + s) * 7 + (4 * t + 2)) * 8 + c]);
          }
          for (std::size_t hj = 0; hj < 14 && l == 0; ++hj) {
            const std::size_t h = hj / 7;
            const std::size_t j = hj % 7;
            EXPECT_EQ(some_p[((s * 2 + h) * 2 + t) * 7 + j], all_p[(((3 + s) * 2 + h) * 7 + (4 * t + 2)) * 7 + j]);
          }
        }
      }
    }
  }
}

TEST(Capture, ShorterSamplesAreFollowedByZeros) {
  const TempDir dir;
  const auto path = dir.path() / "out.safetensors";
  CaptureOptions options = small_capture();
  options.input = {};
  options.input.ids = dir.file("ids.json", "[[1, 2, 3], [4]]");
  capture(kModel, path, options);
  const auto file = SafetensorsFile::open(path);
  EXPECT_THAT(read_integers(DType::kI64, file->at("input_ids").bytes), ElementsAre(1, 2, 3, 4, 0, 0));
  EXPECT_THAT(read_integers(DType::kI64, file->at("attention_mask").bytes), ElementsAre(1, 1, 1, 1, 0, 0));
  const auto hidden = values(*file, "hidden_states");  // [4, 2, 3, 8]
  const auto attention = values(*file, "attentions");  // [3, 2, 2, 3, 3]
  EXPECT_NE(hidden[3 * 8], 0);
  for (std::size_t i = 4 * 8; i < 6 * 8; ++i) EXPECT_EQ(hidden[i], 0);
  EXPECT_EQ(attention[2 * 9], 1);  // a token alone looks at itself
  for (std::size_t i = 2 * 9 + 1; i < 3 * 9; ++i) EXPECT_EQ(attention[i], 0);
}

TEST(Capture, LongInputsComeInBlocks) {
  const TempDir dir;
  CaptureOptions options = small_capture();
  options.input.n_samples = 1;
  options.input.n_tokens = 300;
  const auto one = dir.path() / "one.safetensors";
  capture(kModel, one, options);
  const auto file = SafetensorsFile::open(one);
  const auto p = values(*file, "attentions");
  for (std::size_t row = 0; row < p.size() / 300; ++row) {
    double sum = 0;
    for (std::size_t j = 0; j < 300; ++j) sum += p[row * 300 + j];
    ASSERT_NEAR(sum, 1, 1e-5) << row;
  }
}

TEST(Capture, ImpossibleSelectionsLeaveNothingBehind) {
  const TempDir dir;
  const auto path = dir.path() / "out.safetensors";
  const auto refused = [&](const std::function<void(CaptureOptions&)>& spoil) {
    CaptureOptions options = small_capture();
    spoil(options);
    try {
      capture(kModel, path, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return std::string(error.what());
    }
    ADD_FAILURE() << "no Error was thrown";
    return std::string();
  };
  EXPECT_THAT(refused([](auto& o) { o.layers = {4}; }), HasSubstr("layer 4; there are 0 to 3"));
  EXPECT_THAT(refused([](auto& o) { o.layers = {-5}; }), HasSubstr("layer -5"));
  EXPECT_THAT(refused([](auto& o) { o.layers = {1, -3}; }), HasSubstr("layer 1 is given twice"));
  EXPECT_THAT(refused([](auto& o) { o.positions = {7}; }), HasSubstr("position 7; there are 0 to 6"));
  EXPECT_THAT(refused([](auto& o) { o.layers = {3}; }), HasSubstr("attention belongs to blocks 0 to 2"));
  EXPECT_EQ(dir.n_files(), 0U);
}

TEST(Capture, DoesNotReplaceWhatItIsMadeFrom) {
  const TempDir dir;
  const auto model = dir.path() / "bert";
  std::filesystem::copy(std::filesystem::path(RANKFALL_TEST_DATA) / "families/bert", model);
  CaptureOptions options;
  options.input.ids = dir.file("ids.json", "[[1, 2]]");
  const std::filesystem::path targets[] = {model / "model.safetensors", options.input.ids, "/dev/null", "", "-"};
  for (const auto& target : targets) {
    try {
      capture(model.string(), target, options);
      ADD_FAILURE() << target;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage) << error.what();
    }
  }
  EXPECT_EQ(test::read_all(dir.path() / "ids.json"), "[[1, 2]]");
}

TEST(Capture, AFailureInTheMiddleLeavesTheOldFile) {
  const TempDir dir;
  const auto path = dir.file("out.safetensors", "before");
  CaptureOptions options = small_capture();
  options.input.n_tokens = 4;
  EXPECT_THROW(capture("san:layers=3,heads=1,dim=64,norm=none,std=1000", path, options), Error);
  EXPECT_EQ(test::read_all(path), "before");
  EXPECT_EQ(dir.n_files(), 1U);
}

double metric(const Result& result, const std::string& name, const std::string& kind) {
  for (const Row& row : result.rows) {
    if (row.metric == name && row.kind == kind && (row.variant == "all" || row.variant == "full")) return *row.mean;
  }
  ADD_FAILURE() << name;
  return -1;
}

TEST(Parity, WithItsOwnCaptureIsExact) {
  const TempDir dir;
  const auto path = dir.path() / "own.safetensors";
  CaptureOptions options = small_capture();
  options.precision = Precision::kF64;
  capture(kModel, path, options);
  ParityOptions parity_options;
  parity_options.reference = path;
  parity_options.input.ids = path;
  const std::vector<std::string> models = {kModel};
  // Weights of a specification are drawn from seed 0 here, so the states differ; those of a file do not.
  EXPECT_GT(metric(parity(models, parity_options), "parity.hidden.max", "f64"), 0.1);

  const std::string bert = std::string(RANKFALL_TEST_DATA) + "/families/bert";
  options.input = {};
  options.input.ids = bert + "/input.safetensors";
  options.variants = {variant_named("full"), variant_without("norm"), variant_named("san+mlp")};
  capture(bert, path, options);
  parity_options.input.ids = options.input.ids;
  const Result result = parity(std::vector<std::string>{bert}, parity_options);
  expect_contract(result);
  for (const char* name : {"parity.hidden.max", "parity.hidden.median", "parity.attention.max"}) {
    EXPECT_EQ(metric(result, name, "f64"), 0) << name;
    EXPECT_LT(metric(result, name, "f32"), 1e-4) << name;
  }
  EXPECT_GT(metric(result, "parity.hidden.max", "f32"), 0);
}

TEST(Parity, SamplesOfDifferentLengthAndPadding) {
  const TempDir dir;
  const std::string bert = std::string(RANKFALL_TEST_DATA) + "/families/bert";
  const auto path = dir.path() / "own.safetensors";
  CaptureOptions options = small_capture();
  options.precision = Precision::kF64;
  options.input = {};
  options.input.ids = dir.file("ids.json", R"({"input_ids": [[1, 2, 3, 4, 5, 6, 7], [1, 2, 3]]})");
  capture(bert, path, options);
  ParityOptions parity_options;
  parity_options.reference = path;
  parity_options.input.ids = options.input.ids;
  EXPECT_EQ(metric(parity(std::vector<std::string>{bert}, parity_options), "parity.attention.max", "f64"), 0);

  // Padding is what follows: the same states without it, whatever lies under the mask.
  ParityOptions masked = parity_options;
  masked.input.ids = dir.file("masked.json", R"({"input_ids": [[1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 9, 9, 9, 9]],
                                                "attention_mask": [[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0, 0]]})");
  const Result result = parity(std::vector<std::string>{bert}, masked);
  EXPECT_LT(metric(result, "parity.attention.max", "f64"), 1e-12);
  EXPECT_LT(metric(result, "parity.hidden.max", "f64"), 1e-12);
}

TEST(Parity, ACapturedVariantIsComparedWithItself) {
  const TempDir dir;
  const std::string bert = std::string(RANKFALL_TEST_DATA) + "/families/bert";
  const auto path = dir.path() / "own.safetensors";
  CaptureOptions options;
  options.precision = Precision::kF64;
  options.input.ids = bert + "/input.safetensors";
  options.variants = {variant_named("san")};
  capture(bert, path, options);
  ParityOptions parity_options;
  parity_options.reference = path;
  const Result result = parity(std::vector<std::string>{bert}, parity_options);
  EXPECT_EQ(result.rows[0].variant, "san");
  EXPECT_EQ(result.rows[0].mean, 0);
  options.variants = with_attentions({variant_named("san"), variant_without("mlp")},
                                     {attention_named("performer:m=8,seed=2"), attention_named("window:w=2")});
  options.attention = true;
  capture(bert, path, options);
  const Result others = parity(std::vector<std::string>{bert}, parity_options);
  EXPECT_EQ(others.rows[0].variant, "san performer:m=8,seed=2");
  for (const Row& row : others.rows) EXPECT_TRUE(row.kind != "f64" || row.mean == 0) << row.variant;
  options.variants = {paper_variants(true)[2]};
  capture(bert, path, options);
  EXPECT_THAT(test::input_error([&] { parity(std::vector<std::string>{bert}, parity_options); }),
              HasSubstr("captured as published"));
}

TEST(Parity, LargestAndMedianWithoutKeepingAll) {
  ErrorSummary errors;
  for (int i = 1; i <= 999; ++i) errors.add(i * 1e-17);
  for (int i = 0; i < 100; ++i) errors.add(0);
  EXPECT_EQ(errors.n(), 1099);
  EXPECT_EQ(errors.largest(), 999 * 1e-17);
  EXPECT_NEAR(errors.median(), 450e-17, 450e-17 * 0.012);
  ErrorSummary twice = errors;
  twice.merge(errors);
  EXPECT_EQ(twice.median(), errors.median());
  EXPECT_EQ(twice.n(), 2198);
  EXPECT_EQ(ErrorSummary().median(), 0);
}

TEST(Parity, WithTheReferencesBesideTheModel) {
  const std::string root = std::string(RANKFALL_TEST_DATA) + "/families/";
  const std::vector<std::string> models = {root + "gpt2", root + "vit"};
  const Result result = parity(models, {});
  EXPECT_EQ(result.rows.size(), 2U * 2 * 5 * 4);  // models, precisions, variants and all, metrics
  for (const Row& row : result.rows) EXPECT_LT(*row.mean, row.kind == "f64" ? 1e-11 : 1e-4) << row.metric;
}

TEST(Parity, ReferencesThatDoNotFit) {
  const TempDir dir;
  const std::string bert = std::string(RANKFALL_TEST_DATA) + "/families/bert";
  ParityOptions options;
  options.reference = bert + "/model.safetensors";
  EXPECT_THAT(test::input_error([&] { parity(std::vector<std::string>{bert}, options); }),
              HasSubstr("found no tensor 'hidden_states'"));
  options.reference = std::string(RANKFALL_TEST_DATA) + "/families/vit/expected.safetensors";
  EXPECT_THAT(test::input_error([&] { parity(std::vector<std::string>{bert}, options); }),
              HasSubstr("expected [4, 2, 11"));
  const std::string nan = test::raw(std::nanf(""));
  options.reference =
      dir.file("r", test::safetensors(R"({"hidden_states":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", nan));
  EXPECT_THAT(test::input_error([&] { parity(std::vector<std::string>{bert}, options); }),
              HasSubstr("is [1], expected"));
}

}  // namespace
}  // namespace rankfall
