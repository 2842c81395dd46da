#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <gtest/gtest.h>
#include <sleef.h>

#include "model/file_source.h"
#include "model/plain_forward.h"
#include "model/recorder.h"
#include <rankfall/forward.h>
#include <rankfall/model.h>
#include <rankfall/variants.h>

// Hidden states and attentions of tiny random models, computed in float64 by Hugging Face transformers 4.25
// (data/families).

namespace rankfall {
namespace {

const std::filesystem::path kFamilies = std::filesystem::path(RANKFALL_TEST_DATA) / "families";

struct Case {
  const char* family;
  const char* variant;  // name in expected.safetensors
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.family << " " << c.variant; }

Parts parts_of(std::string_view variant) {
  return {.attn_skip = variant == "no_attn_skip" || variant == "san", .mlp = variant == "no_mlp" || variant == "san"};
}

// A tensor [..., rows, cols] of a file as doubles, leading indices flattened.
struct Expected {
  explicit Expected(const TensorInfo& info) : shape(info.shape), values(count(info)) {
    widen<double>(info.dtype, info.bytes, std::span<double>(values));
  }
  static std::size_t count(const TensorInfo& info) {
    std::size_t n = 1;
    for (const Index s : info.shape) n *= static_cast<std::size_t>(s);
    return n;
  }
  Eigen::Map<const Matrix<double>> slice(Index leading) const {
    const Index rows = shape[shape.size() - 2];
    const Index cols = shape[shape.size() - 1];
    return {values.data() + leading * rows * cols, rows, cols};
  }
  double largest(Index leading) const { return slice(leading).cwiseAbs().maxCoeff(); }
  std::vector<Index> shape;
  std::vector<double> values;
};

std::vector<Sample> read_samples(const Network& network, const std::filesystem::path& file) {
  const auto input = SafetensorsFile::open(file);
  if (const TensorInfo* pixels = input->find("pixel_values")) {
    const Expected values(*pixels);  // [samples, channels, rows, columns]
    std::vector<Sample> samples(static_cast<std::size_t>(pixels->shape[0]));
    const Index channels = pixels->shape[1];
    const Index area = pixels->shape[2] * pixels->shape[3];
    for (std::size_t s = 0; s < samples.size(); ++s) {
      samples[s].content = Pixels{Eigen::Map<const Matrix<double>>(
                                      values.values.data() + static_cast<Index>(s) * channels * area, channels, area),
                                  std::get<PatchInput>(network.input.source).n_tokens()};
    }
    return samples;
  }
  const TensorInfo* info = input->find("input_ids");
  const std::vector<std::int64_t> ids = read_integers(info->dtype, info->bytes);
  std::vector<Sample> samples(static_cast<std::size_t>(info->shape[0]));
  const auto n = static_cast<std::size_t>(info->shape[1]);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    samples[s].content = TokenIds(ids.begin() + static_cast<std::ptrdiff_t>(s * n),
                                  ids.begin() + static_cast<std::ptrdiff_t>((s + 1) * n));
  }
  return samples;
}

// A case's network, weights and inputs.
struct Opened {
  explicit Opened(const Case& c) : folder(kFamilies / c.family), base(read_network(folder)) {
    network = without(base, parts_of(c.variant));
    weights = std::make_unique<FileSource>(base.tensors, folder / "model.safetensors");
    samples = read_samples(network, folder / "input.safetensors");
    expected = SafetensorsFile::open(folder / "expected.safetensors");
  }
  static Network read_network(const std::filesystem::path& folder) {
    std::ostringstream config;
    config << std::ifstream(folder / "config.json").rdbuf();
    return network_from_config(config.str(), "config.json");
  }
  std::filesystem::path folder;
  Network base, network;
  std::unique_ptr<FileSource> weights;
  std::vector<Sample> samples;
  std::shared_ptr<const SafetensorsFile> expected;
};

// Largest errors: of hidden states as a share of the state's largest entry, of attentions absolute.
struct Tolerance {
  double hidden, attention;
};

template <class T>
void compare(const Case& c, const Tolerance& tolerance) {
  const Opened opened(c);
  const auto& samples = opened.samples;
  std::vector<Recorder<T>> recorders(samples.size());
  std::vector<Observer<T>*> observers;
  for (auto& recorder : recorders) observers.push_back(&recorder);
  forward<T>(opened.network, *opened.weights, samples, observers);

  const Expected hidden(*opened.expected->find(std::string(c.variant) + "/hidden_states"));
  const Expected attention(*opened.expected->find(std::string(c.variant) + "/attentions"));
  const Index n_samples = static_cast<Index>(samples.size());
  for (Index s = 0; s < n_samples; ++s) {
    const auto& recorder = recorders[static_cast<std::size_t>(s)];
    ASSERT_EQ(static_cast<Index>(recorder.states.size()), hidden.shape[0]);
    for (Index l = 0; l < hidden.shape[0]; ++l) {
      const Matrix<double> ours = recorder.states[static_cast<std::size_t>(l)].template cast<double>();
      EXPECT_LE((ours - hidden.slice(l * n_samples + s)).cwiseAbs().maxCoeff(),
                tolerance.hidden * hidden.largest(l * n_samples + s))
          << "state " << l << " sample " << s;
    }
    for (Index l = 0; l < attention.shape[0]; ++l) {
      for (Index h = 0; h < attention.shape[2]; ++h) {
        const Matrix<double> ours = recorder.attentions.at({l, h}).template cast<double>();
        EXPECT_LE((ours - attention.slice((l * n_samples + s) * attention.shape[2] + h)).cwiseAbs().maxCoeff(),
                  tolerance.attention)
            << "block " << l << " head " << h << " sample " << s;
      }
    }
  }
}

class Golden : public testing::TestWithParam<Case> {};

// T5's reference is float64 with two steps in float32 (T5AsPublished below); its logits go up to 217, so a last bit
// of float32 moves an attention by 3e-5 in the third block, and float32 throughout by 3e-4.
bool is_mixed(const Case& c) { return std::string_view(c.family) == "t5"; }

TEST_P(Golden, DoubleAgreesToElevenDigits) {
  compare<double>(GetParam(), is_mixed(GetParam()) ? Tolerance{5e-5, 1e-4} : Tolerance{1e-11, 1e-11});
}
TEST_P(Golden, FloatAgreesToFourDigits) {
  compare<float>(GetParam(), is_mixed(GetParam()) ? Tolerance{2e-4, 5e-4} : Tolerance{1e-4, 1e-4});
}

#ifdef __AVX2__  // which SLEEF wants for this exponential
// The plain pass with the two steps that transformers does in float32 whatever the model's type, as PyTorch 1.13 does
// them on a machine with vectors of 8: the mean of squares, and softmax.
class T5AsPublished : public plain::Forward<double> {
 public:
  using Forward::Forward;

 private:
  double norm_scale(const std::vector<double>& row, const double& /*mean*/, double eps) const override {
    std::array<float, 8> lanes{};
    for (std::size_t j = 0; j < row.size(); ++j)
      lanes[j % 8] += static_cast<float>(row[j]) * static_cast<float>(row[j]);
    float sum = 0;
    for (const float lane : lanes) sum += lane;
    const float var = sum / static_cast<float>(row.size()) + static_cast<float>(eps);
    return 1.0 / double{1.0F / std::sqrt(var)};
  }

  void softmax(std::vector<double>& logits, const std::vector<bool>& /*seen*/) const override {
    const auto top = static_cast<float>(*std::ranges::max_element(logits));
    std::array<float, 8> lanes{};
    for (std::size_t j = 0; j < logits.size(); ++j) {
      logits[j] = Sleef_finz_expf1_u10purecfma(static_cast<float>(logits[j]) - top);
      lanes[j % 8] += static_cast<float>(logits[j]);
    }
    for (const std::size_t half : {std::size_t{4}, std::size_t{2}, std::size_t{1}}) {
      for (std::size_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
    }
    for (double& p : logits) p = static_cast<float>(p) * (1.0F / lanes[0]);
  }
};

TEST(GoldenT5, ReferenceIsThePlainPassWithTwoStepsInFloat32) {
  for (const char* variant : {"full", "no_attn_skip", "no_mlp", "san"}) {
    const Opened opened({"t5", variant});
    const Expected hidden(*opened.expected->find(std::string(variant) + "/hidden_states"));
    const Index n_samples = static_cast<Index>(opened.samples.size());
    for (Index s = 0; s < n_samples; ++s) {
      T5AsPublished plain(opened.network, *opened.weights);
      const auto states = plain.states(opened.samples[static_cast<std::size_t>(s)]);
      for (Index l = 0; l < hidden.shape[0]; ++l) {
        const auto expected = hidden.slice(l * n_samples + s);
        for (Index i = 0; i < expected.rows(); ++i) {
          for (Index j = 0; j < expected.cols(); ++j) {
            const double ours =
                states[static_cast<std::size_t>(l)][static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
            ASSERT_NEAR(ours, expected(i, j), 1e-11 * hidden.largest(l * n_samples + s)) << variant << " state " << l;
          }
        }
      }
    }
  }
}

#endif

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* family : {"albert", "bert", "distilbert", "electra", "gpt2", "roberta", "t5", "vit", "xlnet"}) {
    for (const char* variant : {"full", "no_attn_skip", "no_mlp", "san"}) all.push_back({family, variant});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Families, Golden, testing::ValuesIn(cases()),
                         [](const auto& test) { return std::string(test.param.family) + "_" + test.param.variant; });

}  // namespace
}  // namespace rankfall
