#include <array>
#include <cmath>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/kernel/kernel.h"

// Theory that others have published, met by the same recursion.

namespace rankfall {
namespace {

nlohmann::json published() {
  return nlohmann::json::parse(std::ifstream(std::string(RANKFALL_TEST_DATA) + "/theory/published.json"));
}

Matrix<double> matrix_of(const nlohmann::json& rows) {
  Matrix<double> out(std::ssize(rows), std::ssize(rows[0]));
  for (Index i = 0; i < out.rows(); ++i) {
    for (Index j = 0; j < out.cols(); ++j) out(i, j) = rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  }
  return out;
}

// A sub-layer's weights get these variances: per output, so that one makes K of K.
void set_variance(Network& network, const Linear& linear, double per_output, double bias) {
  TensorSpec& w = network.tensors[static_cast<std::size_t>(linear.w.tensor)];
  w.init = {Init::Kind::kNormal, std::sqrt(per_output / static_cast<double>(linear.n_in()))};
  if (linear.b) {
    network.tensors[static_cast<std::size_t>(linear.b->tensor)].init = {Init::Kind::kNormal, std::sqrt(bias)};
  }
}

Network uniform_attention(const std::string& spec) {
  Network network = open_model(spec, 0).network;
  for (const SubLayer& layer : network.layers) {
    const Attention* attention = layer.attention();
    if (!attention) continue;
    set_variance(network, attention->q, 0, 0);
    set_variance(network, attention->k, 0, 0);
    set_variance(network, attention->v, 1, 0);
    set_variance(network, attention->o, 1, 0);
  }
  return network;
}

// States from a given Gram matrix on.
std::vector<KernelState> states_from(const Network& network, const Matrix<double>& k) {
  Sample sample;
  sample.content = TokenIds(static_cast<std::size_t>(k.rows()), 0);
  const KernelOptions options;
  Kernel kernel(&network, &sample, nullptr, options, 0);
  const Tokens tokens(k.rows(), {});
  std::vector<KernelState> out = {{gram_of(k, tokens), {}}};
  for (Index l = 0; l < std::ssize(network.layers); ++l) {
    const DescribedLayer layer{l, &network.layers[static_cast<std::size_t>(l)]};
    kernel.enter(layer);
    out.push_back(step(kernel, *layer.layer, out.back()));
  }
  return out;
}

// Noci et al. 2022: uniform attention with branches alpha / sqrt(L), exact for every L.
TEST(Kernel, MeetsNociExactly) {
  const auto data = published();
  for (const auto& c : data["noci"]) {
    const Index n_layers = c["layers"];
    const double alpha = c["alpha"];
    Network network = uniform_attention("san:layers=" + std::to_string(n_layers) + ",heads=1,dim=8,norm=none");
    for (SubLayer& layer : network.layers) layer.branches[0].scale = alpha / std::sqrt(static_cast<double>(n_layers));
    const Matrix<double> k0 = matrix_of(c["K0"]);
    const Matrix<double> k = plain(states_from(network, k0).back().gram);
    const double n = static_cast<double>(k.rows());
    EXPECT_LE((k - matrix_of(c["K_L"])).cwiseAbs().maxCoeff(), 1e-12 * k.cwiseAbs().maxCoeff());
    const double e = std::pow(1 + alpha * alpha / static_cast<double>(n_layers), static_cast<double>(n_layers));
    const double formula = n * e * k0.sum() / ((n - 1) * (n * k0.trace() + k0.sum() * (e - 1))) - 1 / (n - 1);
    EXPECT_NEAR((k.sum() - k.trace()) / ((n - 1) * k.trace()), formula, 1e-12);
    EXPECT_NEAR(formula, c["rho_L"].get<double>(), 1e-12);
  }
}

// Cosines of n tokens, all alike, behind these blocks of a ReLU network with uniform attention.
std::vector<double> giorlandino_cosines(Index n, const std::string& norm, bool centred, std::span<const int> layers) {
  Network network = uniform_attention("san:layers=20,heads=1,dim=8,mlp=16,act=relu,eps=0,norm=" + norm);
  for (SubLayer& layer : network.layers) {
    if (layer.attention() && centred) layer.branches[0].scale = 0;  // which is what centred uniform attention adds
    if (const Branch* branch = layer.with<Mlp>()) {
      const Mlp& mlp = std::get<Mlp>(branch->f);
      set_variance(network, mlp.up, 0.2, 4e-4);
      set_variance(network, mlp.down, 0.2, 4e-4);
    }
  }
  Matrix<double> k0 = Matrix<double>::Constant(n, n, 0.2);
  k0.diagonal().setOnes();
  const std::vector<KernelState> states = states_from(network, k0);
  std::vector<double> out;
  for (const int layer : layers) {
    const Matrix<double> k = plain(states[static_cast<std::size_t>(2 * layer)].gram);
    out.push_back(k(0, 1) / k(0, 0));
  }
  return out;
}

// Giorlandino & Goldt 2025: cosines at layers 1, 2, 5, 10, 20 with uniform attention and a ReLU MLP, for infinitely
// many tokens. The difference to n tokens is a series in 1/n, whose first term 64 and 128 tokens take out; four digits
// are published.
TEST(Kernel, MeetsGiorlandinoAndGoldt) {
  constexpr std::array kLayers = {1, 2, 5, 10, 20};
  const auto data = published()["giorlandino"];
  for (const std::string norm : {"post", "pre"}) {
    for (const bool centred : {false, true}) {
      if (centred && norm == "pre") continue;
      const std::vector<double> few = giorlandino_cosines(64, norm, centred, kLayers);
      const std::vector<double> many = giorlandino_cosines(128, norm, centred, kLayers);
      const auto& curve = data[centred ? "post-centred" : norm]["published"];
      for (std::size_t p = 0; p < kLayers.size(); ++p) {
        const double expected =
            curve.is_array() ? curve[p].get<double>() : curve[std::to_string(kLayers[p])].get<double>();
        EXPECT_NEAR(2 * many[p] - few[p], expected, 1e-3) << norm << (centred ? " centred" : "") << " " << kLayers[p];
      }
    }
  }
}

}  // namespace
}  // namespace rankfall
