#include "engine/kernel/kernel.h"

#include <array>
#include <cmath>
#include <fstream>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/kernel/carried.h"
#include "engine/kernel/closed_attention.h"
#include "engine/kernel/kernel_activation.h"
#include "engine/kernel/shared_kernel.h"
#include <rankfall/process.h>
#include <rankfall/variants.h>

namespace rankfall {
namespace {

// tests/data/theory: made by an independent program, most of it in hundreds of digits.
nlohmann::json golden(const std::string& name) {
  return nlohmann::json::parse(std::ifstream(std::string(RANKFALL_TEST_DATA) + "/theory/" + name + ".json"));
}

Matrix<double> matrix_of(const nlohmann::json& rows) {
  Matrix<double> out(std::ssize(rows), std::ssize(rows[0]));
  for (Index i = 0; i < out.rows(); ++i) {
    for (Index j = 0; j < out.cols(); ++j) out(i, j) = rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  }
  return out;
}

RowVector<double> row_of(const nlohmann::json& row) { return matrix_of(nlohmann::json::array({row})).row(0); }

class Readings final : public KernelObserver {
 public:
  void hidden(Index, const Gram& k, const Tokens& tokens) override {
    const Distances x = distances_of(k, tokens);
    const RowVector<double> s = relative_lengths(x, tokens);
    const Matrix<double> products = plain(k, x.log);
    double sum = 0;
    for (const Index i : tokens.rows()) {
      for (const Index j : tokens.rows()) sum += i == j ? 0 : products(i, j) / (s(i) * s(j));
    }
    cosine.push_back(sum / (tokens.count() * (tokens.count() - 1)));
    const double square = k.rest.log + log_or_zero(k.rest.value.trace());
    log10_residual.push_back(0.5 * square / std::log(10.0));
    log10_relative.push_back(0.5 * (square - x.log - std::log(tokens.count())) / std::log(10.0));
    last = k;
  }
  std::vector<double> cosine, log10_residual, log10_relative;
  Gram last;
};

struct Predicted {
  std::vector<Readings> chains;
  bool sampled = false;
};

Predicted run_of(const Network& network, const Sample& sample, const KernelOptions& options, Index n_chains = 1) {
  Predicted out;
  out.chains.resize(static_cast<std::size_t>(n_chains));
  std::vector<KernelObserver*> pointers;
  for (Readings& chain : out.chains) pointers.push_back(&chain);
  out.sampled = run_kernel(network, std::span(&sample, 1), n_chains, pointers, options, {}).sampled;
  return out;
}

Sample tokens_of(const nlohmann::json& ids) {
  Sample sample;
  sample.content = ids.get<TokenIds>();
  return sample;
}

TEST(ClosedAttention, EqualsFourHundredDigits) {
  const auto data = golden("attention_closed");
  int n_cases = 0;
  for (const auto& c : data["cases"]) {
    const Index n = c["n"];
    const Tokens tokens(n, {});
    // One head of width 4: the deviation of logits is 4 times the variance of weights.
    const Model model = open_model("san:layers=1,heads=1,dim=4,std=" + std::string("0.1"), 0);
    Network network = model.network;
    for (TensorSpec& tensor : network.tensors) {
      if (tensor.init.kind == Init::Kind::kNormal) tensor.init.scale = std::sqrt(c["a"].get<double>() / 4);
    }
    Gram k = zero_gram(n);
    k.log_mean = std::log(c["in_mean"].get<double>());
    k.cross = scaled<RowVector<double>>(row_of(c["in_rowmean"]));
    k.rest = scaled<Matrix<double>>(matrix_of(c["in_centred"]));
    const Gram out = closed_mixing(network, *network.layers[0].attention(), k, tokens);
    const std::string where = c.dump().substr(0, 60);
    EXPECT_NEAR(out.log_mean, std::log(c["out_mean"].get<double>()), 1e-10) << where;
    const Matrix<double> expected = matrix_of(c["out_centred"]);
    const Matrix<double> rest = plain(out.rest);
    const double size = expected.cwiseAbs().maxCoeff();
    EXPECT_LE((rest - expected).cwiseAbs().maxCoeff(), 2e-7 * size) << where;
    ++n_cases;
  }
  EXPECT_GE(n_cases, 24);
}

// Smooth functions to rounding as long as their kink is wide beside the deviation; beyond, what the last Hermite
// coefficients leave.
TEST(KernelActivation, EqualsQuadrature) {
  const std::map<std::string, Activation> names = {
      {"linear", Activation::kIdentity},    {"relu", Activation::kRelu}, {"gelu", Activation::kGelu},
      {"gelu_tanh", Activation::kGeluTanh}, {"silu", Activation::kSilu}, {"tanh", Activation::kTanh}};
  const Tokens tokens(2, {});
  const auto data = golden("activations");
  std::map<std::string, double> worst;
  int n_values = 0;
  for (const auto& c : data["cases"]) {
    const double kii = c["kii"], delta = c["kjj_minus_kii"];
    Distances x;
    x.log = std::log(kii + 0.5 * delta);
    RowVector<double> spread(2);
    spread << -0.5 * delta, 0.5 * delta;
    x.spread = scaled<RowVector<double>>(spread / (kii + 0.5 * delta));
    Matrix<double> squared = Matrix<double>::Zero(2, 2);
    squared(0, 1) = squared(1, 0) = c["D"].get<double>();
    x.squared = scaled<Matrix<double>>(squared);
    for (const auto& [name, act] : names) {
      if (c["Dprime"][name].is_null()) continue;
      const Distances y = activated(act, x, tokens);
      const bool exact = name == "linear" || name == "relu";
      const double tolerance = exact ? 1e-9 : kii <= 2 ? 3e-8 : kii <= 200 ? 1e-4 : 0.05;
      const double expected = c["Dprime"][name];
      const double got = y.squared.value(0, 1) * std::exp(y.squared.log);
      EXPECT_NEAR(got, expected, tolerance * expected) << name << " " << c.dump().substr(0, 100);
      EXPECT_NEAR(std::exp(log_length(y, 0)), c["Eii"][name].get<double>(),
                  (kii > 200 ? 1e-4 : 1e-7) * c["Eii"][name].get<double>())
          << name << " " << c.dump().substr(0, 100);
      ++n_values;
    }
  }
  EXPECT_GE(n_values, 600);
}

TEST(Kernel, PredictsWholeNetworksAsAnIndependentProgramDoes) {
  const auto data = golden("networks");
  EXPECT_GE(data["networks"].size(), 8U);
  for (const auto& c : data["networks"]) {
    const Model model = open_model(c["spec"].get<std::string>(), 0);
    const Predicted run = run_of(model.network, tokens_of(c["ids"]), {.closed_below = 1e9});
    EXPECT_FALSE(run.sampled);
    const Readings& ours = run.chains[0];
    for (std::size_t l = 0; l < ours.cosine.size(); ++l) {
      const std::string where = c["spec"].get<std::string>() + " state " + std::to_string(l);
      const double log10_relative = c["log10rel"][l];
      EXPECT_NEAR(ours.log10_relative[l], log10_relative, 2e-6 * std::max(1.0, std::abs(log10_relative))) << where;
      EXPECT_NEAR(ours.cosine[l], c["cosine"][l].get<double>(), 1e-6) << where;
    }
  }
}

Sample distinct(Index n) {
  TokenIds ids;
  for (Index i = 0; i < n; ++i) ids.push_back(static_cast<std::int32_t>(i));
  Sample sample;
  sample.content = ids;
  return sample;
}

// Where logits are small the two ways agree, as closely as draws can tell.
TEST(Kernel, DrawnAttentionMeetsTheClosedForm) {
  const Network network = open_model("san:layers=3,heads=4,dim=64,mlp=128,attn_skip=0,std=0.06", 0).network;
  const Readings closed = run_of(network, distinct(48), {.closed_below = 1e9}).chains[0];
  const Predicted drawn = run_of(network, distinct(48), {.closed_below = -1, .draws = 64}, 4);
  EXPECT_TRUE(drawn.sampled);
  for (std::size_t l = 1; l < closed.cosine.size(); ++l) {
    double mean = 0, square = 0;
    for (const Readings& chain : drawn.chains) mean += chain.log10_relative[l] / 4;
    for (const Readings& chain : drawn.chains) square += std::pow(chain.log10_relative[l] - mean, 2) / 12;
    // Three in four chains' standard error has few degrees of freedom; the closed form is off by up to 1 % here.
    EXPECT_NEAR(mean, closed.log10_relative[l], 8 * std::sqrt(square) + 0.004 * std::pow(3.0, static_cast<double>(l)))
        << l;
  }
}

TEST(Kernel, DoesNotDependOnThreads) {
  const Network network = open_model("san:layers=2,heads=4,dim=32,mlp=64,norm=pre,mask=causal,std=0.2", 0).network;
  std::vector<std::vector<double>> seen;
  for (const int n : {1, 2, 5}) {
    set_threads(n);
    const Predicted run = run_of(network, distinct(20), {.draws = 8}, 2);
    EXPECT_TRUE(run.sampled);
    seen.push_back(run.chains[1].log10_relative);
  }
  set_threads(2);
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
}

TEST(Kernel, SaysWhatItDoesNotCarry) {
  const auto reason = [](const std::string& spec, const std::string& variant) {
    const auto found = not_carried(apply(variant_named(variant), open_model(spec, 0).network));
    return found ? found->reason : Reason::kNone;
  };
  // The output weights of block 0 again, behind other values.
  Network half = open_model("san:layers=2,heads=2,dim=8,mlp=0", 0).network;
  Attention& second = std::get<Attention>(half.layers[1].branches[0].f);
  second.o = half.layers[0].attention()->o;
  EXPECT_EQ(not_carried(half)->reason, Reason::kSharedWeights);
  EXPECT_EQ(not_carried(half)->where, "block 1");
  half.layers[1].skip = 0;
  EXPECT_FALSE(not_carried(half));
  EXPECT_EQ(reason("albert-base@init", "full"), Reason::kNone);
  for (const char* spec : {"bert-base@init", "xlnet-base@init", "gpt2@init", "tinyllama@init", "vit-base@init",
                           "t5-base@init", "pythia-70m@init"}) {
    EXPECT_EQ(reason(spec, "full"), Reason::kNone) << spec;
  }
  const Network published = as_published(open_model("albert-base@init", 0).network, PaperVariant::kSan);
  EXPECT_EQ(not_carried(published)->reason, Reason::kNoWeights);
}

}  // namespace
}  // namespace rankfall
