#include "engine/kernel/shared_kernel.h"

#include <cmath>
#include <fstream>
#include <numbers>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/kernel/carried.h"
#include <rankfall/model.h>
#include <rankfall/process.h>

namespace rankfall {
namespace {

// tests/data/theory/shared.json: the recursion by an independent program, whose sums over keys are plain.
nlohmann::json golden() {
  return nlohmann::json::parse(std::ifstream(std::string(RANKFALL_TEST_DATA) + "/theory/shared.json"));
}

Matrix<double> rows_of(const nlohmann::json& rows) {
  Matrix<double> out(std::ssize(rows), std::ssize(rows[0]));
  for (Index i = 0; i < out.rows(); ++i) {
    for (Index j = 0; j < out.cols(); ++j) out(i, j) = rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  }
  return out;
}

// A state of so many channels with this Gram matrix and without channel means: the Cholesky factor, its columns along
// cosines, which have none.
Sample state_with(const Matrix<double>& k, Index width) {
  const Index n = k.rows();
  Matrix<double> lower = Matrix<double>::Zero(n, n);
  for (Index j = 0; j < n; ++j) {
    for (Index i = j; i < n; ++i) {
      const double left = k(i, j) - lower.row(i).head(j).dot(lower.row(j).head(j));
      lower(i, j) = i == j ? std::sqrt(left) : left / lower(j, j);
    }
  }
  Matrix<double> cosines(n, width);
  for (Index j = 0; j < n; ++j) {
    for (Index c = 0; c < width; ++c) {
      cosines(j, c) = std::numbers::sqrt2 * std::cos(std::numbers::pi * static_cast<double>(j + 1) *
                                                     (static_cast<double>(c) + 0.5) / static_cast<double>(width));
    }
  }
  Sample sample;
  sample.content = HiddenState{lower * cosines};
  return sample;
}

class States final : public KernelObserver {
 public:
  void hidden(Index, const Gram& k, const Tokens& tokens) override {
    last = plain(k);
    const double n = tokens.count();
    residual.push_back(std::sqrt(1 - last.sum() / (n * last.trace())));
  }
  std::vector<double> residual;
  Matrix<double> last;
};

Network network_of(const nlohmann::json& c) {
  Network network =
      open_model(
          fmt::format("san:layers={},heads={},dim={},mlp={},norm={},std={},shared=1,act={},branch={},attn_skip={},"
                      "mlp_skip={},mask={}",
                      c["L"].get<int>(), c["H"].get<int>(), c["d"].get<int>(),
                      c["mlp"].get<bool>() ? c["m"].get<int>() : 0, c["norm"].get<std::string>(), c["s"].get<double>(),
                      c["act"].get<std::string>(), c["branch"].get<double>(), c["attn_skip"].get<double>(),
                      c["mlp_skip"].get<double>(), c["causal"].get<bool>() ? "causal" : "complete"),
          0)
          .network;
  // Groups of blocks beyond the first get tensors of their own.
  const auto n_tensors = static_cast<int>(network.tensors.size());
  for (SubLayer& layer : network.layers) {
    const int group = c["groups"][static_cast<std::size_t>(layer.block)];
    if (group == 0) continue;
    while (std::ssize(network.tensors) < (group + 1) * n_tensors) {
      network.tensors.push_back(network.tensors[network.tensors.size() % static_cast<std::size_t>(n_tensors)]);
    }
    const auto move = [&](Linear& linear) {
      linear.w.tensor += group * n_tensors;
      if (linear.b) linear.b->tensor += group * n_tensors;
    };
    for (Branch& branch : layer.branches) {
      if (auto* attention = std::get_if<Attention>(&branch.f)) {
        for (Linear* linear : {&attention->q, &attention->k, &attention->v, &attention->o}) move(*linear);
      } else {
        auto& mlp = std::get<Mlp>(branch.f);
        for (Linear* linear : {&mlp.up, &mlp.down}) move(*linear);
      }
    }
  }
  return network;
}

TEST(SharedKernel, PredictsAsAnIndependentProgramDoes) {
  const auto cases = golden();
  int n_causal = 0;
  for (const auto& c : cases) {
    const std::string name = c["name"];
    const Network network = network_of(c);
    ASSERT_TRUE(shares_weights(network)) << name;
    ASSERT_FALSE(not_carried(network)) << name;
    const Sample sample = state_with(rows_of(c["K0"]), network.sizes.d_model);
    States seen;
    KernelObserver* observer = &seen;
    const KernelRun run =
        run_kernel(network, std::span(&sample, 1), 1, std::span(&observer, 1), {.closed_below = 1e9, .draws = 512}, {});
    const bool causal = c["causal"];
    EXPECT_EQ(run.sampled, causal) << name;
    n_causal += causal ? 1 : 0;
    const auto expected = c["predicted"]["residual"].get<std::vector<double>>();
    ASSERT_EQ(seen.residual.size(), expected.size()) << name;
    for (std::size_t l = 0; l < expected.size(); ++l) {
      // Draws: two per cent for 512 heads, whose errors add up over layers.
      EXPECT_NEAR(seen.residual[l], expected[l], causal ? 0.02 * expected[l] : 1e-9) << name << " state " << l;
    }
    if (causal) continue;
    const Matrix<double> last = rows_of(c["predicted"]["K_last"]);
    EXPECT_LE((seen.last - last).cwiseAbs().maxCoeff(), 1e-9 * last.cwiseAbs().maxCoeff()) << name;
  }
  EXPECT_GE(cases.size(), 18U);
  EXPECT_EQ(n_causal, 2);
}

// Drawn attention in place of the closed form, where both are there.
TEST(SharedKernel, DrawnAttentionMeetsTheClosedForm) {
  for (const char* spec : {"san:layers=6,heads=4,dim=64,mlp=128,std=0.06,shared=1",
                           "san:layers=6,heads=4,dim=64,mlp=128,std=0.06,shared=1,norm=pre"}) {
    const Network network = open_model(spec, 0).network;
    const Sample sample = state_with(Matrix<double>::Identity(16, 16), 64);
    std::vector<States> seen(2);
    for (std::size_t i = 0; i < 2; ++i) {
      KernelObserver* observer = &seen[i];
      const KernelRun run = run_kernel(network, std::span(&sample, 1), 1, std::span(&observer, 1),
                                       {.closed_below = i == 0 ? 1e9 : -1, .draws = 256}, {});
      EXPECT_EQ(run.sampled, i == 1);
    }
    for (std::size_t l = 0; l < seen[0].residual.size(); ++l) {
      EXPECT_NEAR(seen[1].residual[l], seen[0].residual[l], 0.01 * seen[0].residual[l]) << spec << " state " << l;
    }
  }
}

// With weights of their own in every block both domains are one recursion: shared weights that are used once.
TEST(SharedKernel, IsThePlainRecursionWhereNothingIsShared) {
  const Network network = open_model("san:layers=1,heads=2,dim=32,mlp=64,act=silu,std=0.1,shared=1", 0).network;
  ASSERT_FALSE(shares_weights(network));
  const Sample sample = state_with(Matrix<double>::Identity(6, 6) + Matrix<double>::Constant(6, 6, 0.3), 32);
  States plain_run, shared_run;
  KernelObserver* observer = &plain_run;
  const KernelOptions options{.closed_below = 1e9};
  run_kernel(network, std::span(&sample, 1), 1, std::span(&observer, 1), options, {});
  SharedKernel domain(&network, &sample, &shared_run, options, 0);
  SharedKernel::State x = domain.start();
  domain.hidden(0, x);
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const DescribedLayer layer{static_cast<Index>(l), &network.layers[l]};
    domain.enter(layer);
    x = step(domain, network.layers[l], std::move(x));
  }
  domain.hidden(1, x);
  EXPECT_LE((shared_run.last - plain_run.last).cwiseAbs().maxCoeff(), 1e-12 * plain_run.last.maxCoeff());
}

TEST(SharedKernel, DoesNotDependOnThreads) {
  const Network network = open_model("san:layers=4,heads=2,dim=32,mlp=64,mask=causal,std=0.2,shared=1", 0).network;
  const Sample sample = state_with(Matrix<double>::Identity(8, 8), 32);
  std::vector<std::vector<double>> seen;
  for (const int n : {1, 2, 5}) {
    set_threads(n);
    States readings;
    KernelObserver* observer = &readings;
    EXPECT_TRUE(run_kernel(network, std::span(&sample, 1), 1, std::span(&observer, 1), {.draws = 8}, {}).sampled);
    seen.push_back(readings.residual);
  }
  set_threads(2);
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
}

// Padding changes nothing for the other tokens.
TEST(SharedKernel, IgnoresPadding) {
  const Network network = open_model("san:layers=5,heads=2,dim=32,mlp=64,std=0.1,shared=1", 0).network;
  const Matrix<double> k = Matrix<double>::Identity(5, 5) + Matrix<double>::Constant(5, 5, 0.2);
  Sample padded = state_with(k, 32);
  padded.valid = {1, 1, 1, 0, 0};
  const Sample shorter = state_with(k.topLeftCorner(3, 3), 32);
  std::vector<States> seen(2);
  for (std::size_t i = 0; i < 2; ++i) {
    KernelObserver* observer = &seen[i];
    run_kernel(network, std::span(i == 0 ? &padded : &shorter, 1), 1, std::span(&observer, 1), {.closed_below = 1e9},
               {});
  }
  for (Index i = 0; i < 3; ++i) {
    for (Index j = 0; j < 3; ++j) EXPECT_NEAR(seen[0].last(i, j), seen[1].last(i, j), 1e-12);
  }
}

}  // namespace
}  // namespace rankfall
