#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>
#include <sleef.h>

#include "engine/golden_cases.h"
#include "engine/plain_forward.h"
#include "engine/recorder.h"
#include <rankfall/forward.h>
#include <rankfall/model.h>
#include <rankfall/variants.h>

namespace rankfall {
namespace {

// Largest errors: of hidden states as a share of the state's largest entry, of attentions absolute.
struct Tolerance {
  double hidden, attention;
};

template <class T>
void compare(const GoldenCase& c, const Tolerance& tolerance, const char* config = "config.json") {
  const GoldenModel opened(c, config);
  const auto& samples = opened.samples;
  std::vector<Recorder<T>> recorders(samples.size());
  std::vector<Observer<T>*> observers;
  for (auto& recorder : recorders) observers.push_back(&recorder);
  auto last = forward<T>(opened.network, *opened.weights, samples, observers);

  const Expected hidden(*opened.expected->find(std::string(c.variant) + "/hidden_states"));
  const Expected attention(*opened.expected->find(std::string(c.variant) + "/attentions"));
  const Index n_samples = static_cast<Index>(samples.size());
  for (Index s = 0; s < n_samples; ++s) {
    const auto& recorder = recorders[static_cast<std::size_t>(s)];
    // OPT-350m's last state lies behind a projection, in the reference.
    ASSERT_EQ(static_cast<Index>(recorder.states.size()), hidden.shape[0] + (opened.network.head ? 1 : 0));
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
  // What is behind the last norm or projection.
  const TensorInfo* behind = opened.expected->find(std::string(c.variant) + "/last_hidden_state");
  if (!behind) return;
  const Expected end(*behind);
  if (opened.network.head) last = apply_head<T>(opened.network, *opened.weights, last);
  for (Index s = 0; s < n_samples; ++s) {
    const Matrix<double> ours = last[static_cast<std::size_t>(s)].template cast<double>();
    EXPECT_LE((ours - end.slice(s)).cwiseAbs().maxCoeff(), tolerance.hidden * end.largest(s)) << "sample " << s;
  }
}

class Golden : public testing::TestWithParam<GoldenCase> {};

// T5's reference is float64 with two steps in float32 (T5AsPublished below); its logits go up to 217, so a last bit
// of float32 moves an attention by 3e-5 in the third block, and float32 throughout by 3e-4 to 8e-4.
bool is_mixed(const GoldenCase& c) { return std::string_view(c.family) == "t5"; }

TEST_P(Golden, DoubleAgreesToElevenDigits) {
  compare<double>(GetParam(), is_mixed(GetParam()) ? Tolerance{5e-5, 1e-4} : Tolerance{1e-11, 1e-11});
}
// Rounding of float32, whose sums have the order of the CPU's BLAS kernel. The largest of all cases with OpenBLAS's
// Prescott, Nehalem, Sandybridge, Haswell, Zen, SkylakeX and Cooperlake kernels: 1.3e-4, of T5 3.7e-4 and 7.3e-4.
TEST_P(Golden, FloatAgreesAsFarAsItCarries) {
  compare<float>(GetParam(), is_mixed(GetParam()) ? Tolerance{5e-4, 1e-3} : Tolerance{2e-4, 2e-4});
}

// config.json as files of the hub spell it.
TEST(GoldenHub, OtherSpellingsOfAConfigurationMeanTheSame) {
  int n = 0;
  for (const char* family : kModernFamilies) {
    if (!std::filesystem::exists(kFamilies / family / "config.hub.json")) continue;
    SCOPED_TRACE(family);
    compare<double>({family, "full"}, {1e-11, 1e-11}, "config.hub.json");
    ++n;
  }
  EXPECT_EQ(n, 7);
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
    const GoldenModel opened({"t5", variant});
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

INSTANTIATE_TEST_SUITE_P(Families, Golden, testing::ValuesIn(golden_cases()),
                         [](const auto& test) { return std::string(test.param.family) + "_" + test.param.variant; });

}  // namespace
}  // namespace rankfall
