#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "model/file_source.h"
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
  double largest() const {
    return Eigen::Map<const RowVector<double>>(values.data(), static_cast<Index>(values.size())).cwiseAbs().maxCoeff();
  }
  std::vector<Index> shape;
  std::vector<double> values;
};

std::vector<Sample> read_samples(const std::filesystem::path& file) {
  const auto input = SafetensorsFile::open(file);
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

template <class T>
void compare(const Case& c, double tolerance) {
  const auto folder = kFamilies / c.family;
  std::ostringstream config;
  config << std::ifstream(folder / "config.json").rdbuf();
  const Network base = network_from_config(config.str(), "config.json");
  const FileSource weights(base.tensors, folder / "model.safetensors");
  const Network network = without(base, parts_of(c.variant));
  const auto samples = read_samples(folder / "input.safetensors");
  std::vector<Recorder<T>> recorders(samples.size());
  std::vector<Observer<T>*> observers;
  for (auto& recorder : recorders) observers.push_back(&recorder);
  forward<T>(network, weights, samples, observers);

  const auto file = SafetensorsFile::open(folder / "expected.safetensors");
  const Expected hidden(*file->find(std::string(c.variant) + "/hidden_states"));
  const Expected attention(*file->find(std::string(c.variant) + "/attentions"));
  const Index n_samples = static_cast<Index>(samples.size());
  for (Index s = 0; s < n_samples; ++s) {
    const auto& recorder = recorders[static_cast<std::size_t>(s)];
    ASSERT_EQ(static_cast<Index>(recorder.states.size()), hidden.shape[0]);
    for (Index l = 0; l < hidden.shape[0]; ++l) {
      const Matrix<double> ours = recorder.states[static_cast<std::size_t>(l)].template cast<double>();
      EXPECT_LE((ours - hidden.slice(l * n_samples + s)).cwiseAbs().maxCoeff(), tolerance * hidden.largest())
          << "state " << l << " sample " << s;
    }
    for (Index l = 0; l < attention.shape[0]; ++l) {
      for (Index h = 0; h < attention.shape[2]; ++h) {
        const Matrix<double> ours = recorder.attentions.at({l, h}).template cast<double>();
        EXPECT_LE((ours - attention.slice((l * n_samples + s) * attention.shape[2] + h)).cwiseAbs().maxCoeff(),
                  tolerance)
            << "block " << l << " head " << h << " sample " << s;
      }
    }
  }
}

class Golden : public testing::TestWithParam<Case> {};

TEST_P(Golden, DoubleAgreesToElevenDigits) { compare<double>(GetParam(), 1e-11); }
TEST_P(Golden, FloatAgreesToFourDigits) { compare<float>(GetParam(), 1e-4); }

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* family : {"albert", "bert", "distilbert", "electra", "roberta", "xlnet"}) {
    for (const char* variant : {"full", "no_attn_skip", "no_mlp", "san"}) all.push_back({family, variant});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Families, Golden, testing::ValuesIn(cases()),
                         [](const auto& test) { return std::string(test.param.family) + "_" + test.param.variant; });

}  // namespace
}  // namespace rankfall
