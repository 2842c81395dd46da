#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "result/statistics.h"
#include <rankfall/theory.h>

// Predictions beside measurements of many networks, compared in log10. What theory leaves out is of the order of n/d,
// tokens over width, and in pure attention each layer triples the logarithm of every error before it.

namespace rankfall {
namespace {

struct RandomNetwork {
  std::string spec;
  Index n_tokens = 0;
  double share = 0;  // n/d
};

// Network i: every mask with every place of norms and every activation, n/d from 1/64 to 1/2.
RandomNetwork random_network(int i) {
  constexpr const char* kMasks[] = {"", ",mask=causal", ",mask=window,window=3", ",mask=causal-window,window=4"};
  constexpr const char* kNorms[] = {"post", "pre", "none"};
  constexpr const char* kActs[] = {"gelu", "relu", "silu", "tanh", "gelu_new"};
  constexpr Index kTokens[] = {8, 16, 32};
  const Index n = kTokens[i % 3];
  const Index part = Index{2} << (i % 6);  // d / n
  const Index d = n * part;
  const Index heads = d <= 32 ? 2 : 4;
  // The variance of what a linear map makes of unit channels: 1/4 to 1.
  const double gain = 0.5 + 0.125 * (i % 5);
  std::string spec = fmt::format("san:layers=3,heads={},dim={},std={:.6f},norm={}{}", heads, d,
                                 gain / std::sqrt(static_cast<double>(d)), kNorms[i % 3], kMasks[(i / 3) % 4]);
  if (i % 4 != 3) spec += fmt::format(",mlp={},act={}", 2 * d, kActs[i % 5]);
  if (i % 7 == 0) spec += fmt::format(",qk_std={:.6f}", 1.5 / std::sqrt(static_cast<double>(d)));
  if (i % 5 == 4) spec += ",attn_skip=0.5";
  if (i % 8 == 6) spec += ",branch=0.5";
  return {spec, n, static_cast<double>(n) / static_cast<double>(d)};
}

struct Difference {
  double predicted = 0, measured = 0, error_of_mean = 0, standard_error = 0;
  double bias() const { return measured - predicted; }
};
// By variant, layer and metric.
using Differences = std::map<std::tuple<std::string, Index, std::string>, Difference>;

Differences compared(const std::string& spec, Index n_tokens, Index n_seeds) {
  TheoryOptions options;
  options.variants = {variant_named("full"), variant_named("san")};
  options.compare = true;
  options.n_seeds = n_seeds;
  options.input.n_tokens = n_tokens;
  options.input.n_samples = 1;
  Differences out;
  const Result result = theory(std::vector<std::string>{spec}, options);
  const auto at = [&](const Row& row, std::string_view prefix) -> Difference& {
    return out[{row.variant, *row.layer, row.metric.substr(prefix.size())}];
  };
  for (const Row& row : result.rows) {
    if (!row.layer || *row.layer == 0 || !row.mean) continue;
    if (row.metric.starts_with("measured.")) {
      Difference& d = at(row, "measured.");
      d.measured = *row.mean;
      d.error_of_mean = row.std.value_or(0) / std::sqrt(static_cast<double>(row.n.value_or(1)));
    } else if (row.metric.starts_with("standard_error.")) {
      at(row, "standard_error.").standard_error = *row.mean;
    } else if (!row.metric.starts_with("deviations.")) {
      at(row, "").predicted = *row.mean;
    }
  }
  return out;
}

constexpr const char* kResidual = "log10_relative_residual.frobenius";

int wanted(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

// Every state of the full network and the first two of pure attention. RANKFALL_RANDOM_NETWORKS=40 takes all of them
// and twenty seeds.
TEST(RandomNetworks, AreAsPredicted) {
  const int n_networks = wanted("RANKFALL_RANDOM_NETWORKS", 5);
  const Index n_seeds = n_networks >= 40 ? 20 : 6;
  int n_compared = 0;
  for (int i = 0; i < n_networks; ++i) {
    const RandomNetwork network = random_network(n_networks >= 40 ? i : 7 * i);
    for (const auto& [place, of] : compared(network.spec, network.n_tokens, n_seeds)) {
      const auto& [variant, layer, metric] = place;
      if (metric != kResidual || (variant == "san" && layer > 2)) continue;
      ++n_compared;
      const double growth = variant == "san" ? std::pow(3.0, static_cast<double>(layer - 1)) : 1;
      const double bias = (variant == "san" ? 1 : 0.1) * growth * network.share + 0.005;
      const double allowed = 4 * std::hypot(of.error_of_mean, of.standard_error) + bias;
      EXPECT_LE(std::abs(of.bias()), allowed) << network.spec << " tokens " << network.n_tokens << " " << variant << " "
                                              << layer << ": " << of.measured << " predicted " << of.predicted;
      if (std::getenv("RANKFALL_SHOW")) {
        fmt::print("{:3} {:5} {} n/d {:.4f} bias {:+.4f} (+- {:.4f} {:.4f}) {}\n", i, variant, layer, network.share,
                   of.bias(), of.error_of_mean, of.standard_error, network.spec);
      }
    }
  }
  EXPECT_EQ(n_compared, n_networks * 5);
}

// The same network at width d, 2 d and 4 d, its weights' variance as 1/d: theory predicts the same, and what the
// second state of pure attention differs by halves, as n/d does.
TEST(RandomNetworks, TheBiasShrinksWithWidth) {
  const int n_networks = wanted("RANKFALL_RANDOM_NETWORKS", 0) >= 40 ? 12 : 3;
  constexpr const char* kKinds[] = {"norm=none,std={}", "norm=post,std={},mlp={}", "norm=pre,std={},bias=0"};
  std::vector<Statistics> of_width(3);
  for (int i = 0; i < n_networks; ++i) {
    const Index n = 6 + 2 * (i / 3);
    for (std::size_t w = 0; w < 3; ++w) {
      const Index d = (8 * n) << w;
      const std::string stddev = fmt::format("{:.6f}", 0.9 / std::sqrt(static_cast<double>(d)));
      const std::string spec =
          fmt::format("san:layers=2,heads=2,dim={},", d) + fmt::format(fmt::runtime(kKinds[i % 3]), stddev, 2 * d);
      const Differences found = compared(spec, n, 200);
      const Difference& of = found.at({"san", 2, kResidual});
      of_width[w].add(of.bias());
      if (std::getenv("RANKFALL_SHOW")) {
        fmt::print("{} bias {:+.4f} +- {:.4f}\n", spec, of.bias(), of.error_of_mean);
      }
    }
  }
  const auto bias = [&](std::size_t w) { return *of_width[w].mean(); };
  EXPECT_GT(bias(2), 0);
  EXPECT_LT(bias(1), 0.75 * bias(0));
  EXPECT_LT(bias(2), 0.75 * bias(1));
}

}  // namespace
}  // namespace rankfall
