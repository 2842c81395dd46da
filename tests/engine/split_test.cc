#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/golden_cases.h"
#include "engine/networks.h"
#include "engine/recorder.h"
#include "engine/split_recorder.h"
#include "io/array_file.h"
#include <rankfall/forward.h>

namespace rankfall {
namespace {

const std::filesystem::path kCollapse = std::filesystem::path(RANKFALL_TEST_DATA) / "collapse";

Variant variant_of(const std::string& name) {
  if (name == "full") return variant_named("full");
  std::string parts;
  for (const char c : name) {
    if (c != '-') parts += c;
  }
  return variant_without(parts);
}

// 1e-11 absolute or 1e-13 relative, whichever is larger.
void expect_log_near(double ours, double expected, const std::string& what) {
  EXPECT_NEAR(ours, expected, std::max(1e-11, 1e-13 * std::abs(expected))) << what;
}

// data/collapse: 1,600-digit arithmetic by an independent program.
TEST(Split, EqualsSixteenHundredDigits) {
  const Model model = open_model(kCollapse.string(), 0);
  Sample sample;
  sample.content =
      HiddenState{Expected(*SafetensorsFile::open(kCollapse / "hidden.safetensors")->find("hidden_states")).slice(0)};
  const auto expected = nlohmann::json::parse(std::ifstream(kCollapse / "expected.json"));
  ASSERT_EQ(expected.size(), 6U);
  for (const auto& [name, layers] : expected.items()) {
    const Network network = apply(variant_of(name), model.network);
    const auto recorders = tracked(network, *model.weights, std::span(&sample, 1));
    ASSERT_EQ(recorders[0].states.size(), layers.size());
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const SplitNorms ours = split_norms(recorders[0].states[l], {}, true);
      const auto check = [&](const LogNorms& norms, const nlohmann::json& truth, const std::string& what) {
        expect_log_near(norms.one, truth["one"].get<double>(), what + " one");
        expect_log_near(norms.inf, truth["inf"].get<double>(), what + " inf");
        expect_log_near(norms.composite, truth["composite"].get<double>(), what + " composite");
        expect_log_near(norms.frobenius, truth["frobenius"].get<double>(), what + " frobenius");
        EXPECT_LE(norms.spectral, norms.frobenius + 1e-14);
      };
      const std::string where = name + " state " + std::to_string(l);
      check(ours.residual, layers[l]["log10_residual"], where + " residual");
      check(ours.state, layers[l]["log10_state"], where + " state");
    }
  }
}

// Where the residual is not small the tracker is another way to compute the same thing.
void expect_equals_dense(const Network& network, const WeightSource& weights, std::span<const Sample> samples) {
  std::vector<Recorder<double>> dense(samples.size());
  std::vector<Observer<double>*> observers;
  for (auto& recorder : dense) observers.push_back(&recorder);
  forward<double>(network, weights, samples, observers);
  const auto split = tracked(network, weights, samples);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    ASSERT_EQ(split[s].states.size(), dense[s].states.size());
    for (std::size_t l = 0; l < dense[s].states.size(); ++l) {
      const Matrix<double> ours = joined(split[s].states[l]);
      const Matrix<double>& theirs = dense[s].states[l];
      for (Index i = 0; i < ours.rows(); ++i) {
        if (!samples[s].valid.empty() && samples[s].valid[static_cast<std::size_t>(i)] == 0) continue;
        EXPECT_LE((ours.row(i) - theirs.row(i)).cwiseAbs().maxCoeff(), 1e-12 * theirs.cwiseAbs().maxCoeff())
            << "sample " << s << " state " << l << " token " << i;
      }
    }
  }
}

class SplitFamilies : public testing::TestWithParam<GoldenCase> {};

TEST_P(SplitFamilies, EqualsDense) {
  const GoldenModel model(GetParam());
  expect_equals_dense(model.network, *model.weights, model.samples);
}

INSTANTIATE_TEST_SUITE_P(Golden, SplitFamilies, testing::ValuesIn(golden_cases()),
                         [](const auto& test) { return std::string(test.param.family) + "_" + test.param.variant; });

class SplitNetworks : public testing::TestWithParam<std::string> {};

TEST_P(SplitNetworks, EqualsDense) {
  const Model model = open_model(GetParam(), 3);
  for (const char* variant : {"full", "san", "san+mlp", "no-norm"}) {
    const Network network = apply(variant_named(variant), model.network);
    for (const Index n : {1, 2, 7}) {
      Sample sample = random_samples(network, 5, 1, n)[0];
      if (n == 7) {
        sample.valid.assign(7, 1);
        sample.valid[0] = sample.valid[5] = 0;
      }
      expect_equals_dense(network, *model.weights, std::span(&sample, 1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Small, SplitNetworks, testing::ValuesIn(small_networks()),
                         [](const auto& test) { return std::to_string(test.index); });

// Logits far beyond a soft cap, where its tanh is one to rounding.
TEST(Split, EqualsDenseWhereCapsAreSaturated) {
  for (const double cap : {3.0, 0.3, 0.02}) {
    const Model model = open_model("san:layers=3,heads=2,dim=8,std=1,norm=pre,mlp=8", 3);
    Network network = model.network;
    for (SubLayer& layer : network.layers) {
      if (auto* attention = std::get_if<Attention>(&layer.branches[0].f)) attention->soft_cap = cap;
    }
    const auto samples = random_samples(network, 5, 4, 9);
    expect_equals_dense(network, *model.weights, samples);
  }
}

}  // namespace
}  // namespace rankfall
