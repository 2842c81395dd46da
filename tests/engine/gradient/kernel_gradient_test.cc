#include "engine/gradient/kernel_gradient.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/kernel/kernel_activation.h"
#include "engine/networks.h"
#include <rankfall/process.h>
#include <rankfall/variants.h>

namespace rankfall {
namespace {

using Block = PredictedGradients::Block;

// The variance of a drawn map per output: K of K by one.
void set_variance(Network& network, const Linear& linear, double per_output) {
  TensorSpec& w = network.tensors[static_cast<std::size_t>(linear.w.tensor)];
  w.init = {Init::Kind::kNormal, std::sqrt(per_output / static_cast<double>(linear.n_in()))};
  if (linear.b) network.tensors[static_cast<std::size_t>(linear.b->tensor)].init = {Init::Kind::kConstant, 0};
}

// Attention that is uniform because queries are zero, with branches alpha / sqrt(L).
Network noci_network(Index n_layers, Index d, double alpha, double skip = 1) {
  Network network =
      open_model("san:layers=" + std::to_string(n_layers) + ",heads=2,dim=" + std::to_string(d) + ",norm=none", 0)
          .network;
  for (SubLayer& layer : network.layers) {
    layer.branches[0].scale = alpha / std::sqrt(static_cast<double>(n_layers));
    layer.skip = skip;
    const Attention* attention = layer.attention();
    set_variance(network, attention->q, 0);
    for (const Linear* map : {&attention->k, &attention->v, &attention->o}) set_variance(network, *map, 1);
  }
  return network;
}

Sample given(const Matrix<double>& x) {
  Sample sample;
  sample.content = HiddenState{x};
  return sample;
}

Matrix<double> tokens_of(Index n, Index d, double spread) {
  Matrix<double> x(n, d);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < d; ++j) {
      x(i, j) = std::sin(static_cast<double>(3 * j + 1)) + spread * std::cos(static_cast<double>((i + 2) * (j + 1)));
    }
  }
  return x;
}

struct Squares {
  double q = 0, v = 0;
};

// In the setting of Noci et al. (2022), uniform attention P = 11^T/n, the derivatives of one attention's output S = P X
// W_V by its weights are
//   E |dS/dW_V|^2 = d n |x|^2,   E |dS/dW_Q|^2 = s_V^2 s_K^2 d / n^2 |X|^2 |X^T X - n x x^T|^2,
// x the mean token. The derivative of the output of L blocks has mean tokens that grow by (1 + b)^(L-l-1) on the way
// back, b = alpha^2 / L, and those of the state have grown by (1 + b)^l, so that no block differs from another.
Squares noci(const Matrix<double>& x, Index n_layers, double alpha) {
  const auto n = static_cast<double>(x.rows());
  const auto d = static_cast<double>(x.cols());
  const double b = alpha * alpha / static_cast<double>(n_layers);
  const double growth = std::pow(1 + b, static_cast<double>(n_layers - 1));
  const RowVector<double> mean = x.colwise().mean();
  const Matrix<double> apart = x.rowwise() - mean;
  const double spread = (apart.transpose() * apart).squaredNorm();  // |X^T X - n x x^T|^2
  Squares out;
  out.v = b * growth * d * n * mean.squaredNorm();
  out.q = b * spread * (apart.squaredNorm() + growth * n * mean.squaredNorm()) / (d * n * n);
  return out;
}

std::vector<Block> predicted(const Network& network, const Sample& sample, bool sampled = false, Index draws = 64) {
  KernelOptions options;
  if (sampled) options.closed_below = -1;
  options.draws = draws;
  return predicted_gradients(network, std::span(&sample, 1), 1, options)[0].blocks;
}

TEST(KernelGradient, MeetsNociExactly) {
  for (const Index n_layers : {1, 2, 7, 60}) {
    for (const double alpha : {0.5, 1.0, 3.0}) {
      const Matrix<double> x = tokens_of(6, 8, 0.7);
      const Squares exact = noci(x, n_layers, alpha);
      for (const Block& of : predicted(noci_network(n_layers, 8, alpha), given(x))) {
        EXPECT_NEAR(std::exp(2 * of.log_q) / exact.q, 1, 1e-12);
        EXPECT_NEAR(std::exp(2 * of.log_v) / exact.v, 1, 1e-12);
        EXPECT_EQ(of.log_k, kLogZero);  // no queries
      }
    }
  }
}

// What is exact at infinite width is the mean over weights at any width.
TEST(KernelGradient, NociIsTheMeanOverSeeds) {
  const Matrix<double> x = tokens_of(6, 16, 0.7);
  const Network network = noci_network(3, 16, 1.5);
  const Squares exact = noci(x, 3, 1.5);
  const Sample sample = given(x);
  constexpr int kSeeds = 400;
  Squares mean[3], square[3];
  for (int seed = 0; seed < kSeeds; ++seed) {
    const auto weights = draw_weights(network.tensors, static_cast<std::uint64_t>(seed));
    const auto norms = gradient_norms(network, *weights, std::span(&sample, 1),
                                      {.n_probes = 2, .seed = static_cast<std::uint64_t>(seed)});
    for (std::size_t l = 0; l < 3; ++l) {
      const double q = norms[0][l].q * norms[0][l].q, v = norms[0][l].v * norms[0][l].v;
      mean[l].q += q / kSeeds;
      mean[l].v += v / kSeeds;
      square[l].q += q * q / kSeeds;
      square[l].v += v * v / kSeeds;
    }
  }
  for (std::size_t l = 0; l < 3; ++l) {
    const double q_error = std::sqrt((square[l].q - mean[l].q * mean[l].q) / kSeeds);
    const double v_error = std::sqrt((square[l].v - mean[l].v * mean[l].v) / kSeeds);
    EXPECT_NEAR(mean[l].q, exact.q, 4 * q_error);
    EXPECT_NEAR(mean[l].v, exact.v, 4 * v_error);
    EXPECT_LT(q_error, 0.1 * exact.q);
    EXPECT_LT(v_error, 0.1 * exact.v);
  }
}

// Their conclusion: as tokens become alike the gradient of W_Q falls with the square of their distance, that of W_V
// stays; behind uniform attention without a skip there is none for W_Q at all.
TEST(KernelGradient, OfQueriesVanishesAsTokensBecomeAlike) {
  const Network network = noci_network(4, 8, 1);
  const auto at = [&](double spread) { return predicted(network, given(tokens_of(6, 8, spread))).front(); };
  const Block near = at(1e-3), nearer = at(1e-6);
  EXPECT_NEAR(near.log_q - nearer.log_q, std::log(1e6), 0.01);
  EXPECT_NEAR(near.log_v, nearer.log_v, 0.01);
  const auto pure = predicted(noci_network(4, 8, 1, 0), given(tokens_of(6, 8, 0.7)));
  EXPECT_TRUE(std::isfinite(pure[0].log_q));
  for (std::size_t l = 0; l < 4; ++l) {
    EXPECT_EQ(pure[l].log_q == kLogZero, l > 0) << l;
    EXPECT_TRUE(std::isfinite(pure[l].log_v)) << l;
  }
}

// Drawn queries, keys, values and derivatives against the closed form.
TEST(KernelGradient, DrawnMeetsClosed) {
  for (const char* text : {"san:layers=3,heads=4,dim=64,norm=post,mlp=128", "san:layers=3,heads=4,dim=64,norm=pre"}) {
    const Model model = open_model(text, 0);
    const Sample sample = random_samples(model.network, 1, 1, 12)[0];
    KernelOptions options;
    const auto closed = predicted_gradients(model.network, std::span(&sample, 1), 1, options);
    ASSERT_FALSE(closed[0].sampled) << text;
    const auto drawn = predicted(model.network, sample, true, 2048);
    for (std::size_t l = 0; l < drawn.size(); ++l) {
      EXPECT_NEAR(drawn[l].log_q, closed[0].blocks[l].log_q, 0.06) << text << l;
      EXPECT_NEAR(drawn[l].log_k, closed[0].blocks[l].log_k, 0.06) << text << l;
      EXPECT_NEAR(drawn[l].log_v, closed[0].blocks[l].log_v, 0.03) << text << l;
    }
  }
}

// E f'(u) f'(v) is the derivative of E f(u) f(v) by the covariance.
TEST(KernelGradient, SlopesAreDerivatives) {
  const Tokens tokens(3, {});
  for (const auto act : {Activation::kIdentity, Activation::kRelu, Activation::kGelu, Activation::kGeluTanh,
                         Activation::kSilu, Activation::kTanh}) {
    for (const double size : {0.01, 1.0, 9.0}) {
      Matrix<double> k(3, 3);
      k << 1, 0.5, -0.3, 0.5, 1.7, 0.9, -0.3, 0.9, 0.8;
      k *= size;
      const JointActivation joint(act, k.diagonal().transpose(), tokens);
      const Matrix<double> slopes = joint.slopes_with(joint, k);
      const double step = 1e-5 * size;
      Matrix<double> above = k, below = k;
      for (Index i = 0; i < 3; ++i) {
        for (Index j = 0; j < 3; ++j) {
          if (i == j) continue;
          above(i, j) += step;
          below(i, j) -= step;
        }
      }
      const Matrix<double> difference = (joint.with(joint, above) - joint.with(joint, below)) / (2 * step);
      for (Index i = 0; i < 3; ++i) {
        for (Index j = 0; j < 3; ++j) {
          if (i == j) continue;
          EXPECT_NEAR(slopes(i, j), difference(i, j), 1e-5) << static_cast<int>(act) << " " << size;
        }
        EXPECT_GE(slopes(i, i), 0);
      }
    }
  }
}

struct Case {
  std::string text;
  double tolerance = 0.06;  // of log10
};

// The root of the mean square over seeds, beside the prediction. Errors are those of the width: n/d for states, and a
// few draws of 8 to 12 seeds.
TEST(KernelGradient, PredictsWhatIsMeasured) {
  const std::string size = "san:layers=3,heads=4,dim=192,vocab=100";
  const std::vector<Case> cases = {
      {size + ",mlp=384"},
      {size + ",norm=pre,mlp=384,mask=causal,act=relu"},
      {size + ",norm=pre,mlp=384,std=0.08,act=tanh"},
      {size + ",norm=none,mask=window,window=2"},
      {size + ",relative=xlnet,mlp=384,act=silu"},
      {R"({"model_type": "llama", "hidden_size": 192, "intermediate_size": 384, "num_hidden_layers": 3,
          "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_act": "silu", "rms_norm_eps": 1e-6,
          "vocab_size": 100, "max_position_embeddings": 64, "initializer_range": 0.05})"},
      {R"({"model_type": "gemma2", "hidden_size": 192, "intermediate_size": 384, "num_hidden_layers": 3,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 48, "query_pre_attn_scalar": 48,
          "attn_logit_softcapping": 2.0, "sliding_window": 3, "vocab_size": 100, "initializer_range": 0.05})"},
      {R"({"model_type": "olmo3", "hidden_size": 192, "intermediate_size": 384, "num_hidden_layers": 3,
          "num_attention_heads": 4, "num_key_value_heads": 2, "sliding_window": 3, "vocab_size": 100,
          "initializer_range": 0.05})"},
      {R"({"model_type": "gpt_neox", "hidden_size": 192, "intermediate_size": 384, "num_hidden_layers": 3,
          "num_attention_heads": 4, "rotary_pct": 0.5, "vocab_size": 100, "initializer_range": 0.05})"},
  };
  constexpr int kSeeds = 8;
  for (const Case& c : cases) {
    const Network network = open_small(c.text, 0).network;
    ASSERT_FALSE(kernel_gradient_not_carried(network));
    const Sample sample = random_samples(network, 1, 1, 8)[0];
    std::vector<BlockGradients> squares(3);
    for (int seed = 0; seed < kSeeds; ++seed) {
      const auto weights = draw_weights(network.tensors, static_cast<std::uint64_t>(seed));
      const auto norms = gradient_norms(network, *weights, std::span(&sample, 1), {4, 100 + std::uint64_t(seed)});
      for (std::size_t l = 0; l < 3; ++l) {
        squares[l].q += norms[0][l].q * norms[0][l].q / kSeeds;
        squares[l].k += norms[0][l].k * norms[0][l].k / kSeeds;
        squares[l].v += norms[0][l].v * norms[0][l].v / kSeeds;
      }
    }
    const auto blocks = predicted(network, sample, false, 512);
    for (std::size_t l = 0; l < 3; ++l) {
      const auto off = [](double square, double log) { return 0.5 * std::log10(square) - log / std::log(10.0); };
      EXPECT_NEAR(off(squares[l].q, blocks[l].log_q), 0, c.tolerance) << c.text << " W_Q of block " << l;
      EXPECT_NEAR(off(squares[l].k, blocks[l].log_k), 0, c.tolerance) << c.text << " W_K of block " << l;
      EXPECT_NEAR(off(squares[l].v, blocks[l].log_v), 0, c.tolerance) << c.text << " W_V of block " << l;
    }
  }
}

TEST(KernelGradient, GoesBelowEveryDouble) {
  Network network = open_model("san:layers=12,heads=4,dim=64", 0).network;
  network = without(network, {.attn_skip = true, .mlp = true});
  const Sample sample = random_samples(network, 1, 1, 8)[0];
  const auto blocks = predicted(network, sample);
  EXPECT_LT(blocks.back().log_q, -1000);  // e^-1000 is no double
  EXPECT_TRUE(std::isfinite(blocks.back().log_q));
  EXPECT_NEAR(blocks.back().log_v, blocks.front().log_v, 5);
}

TEST(KernelGradient, IgnoresPadding) {
  const Model model = open_model("san:layers=3,heads=4,dim=64,mlp=128,mask=causal", 0);
  Sample sample = random_samples(model.network, 1, 1, 8)[0];
  const auto alone = predicted(model.network, sample);
  std::get<TokenIds>(sample.content).resize(11, 3);
  sample.valid.assign(11, 1);
  for (std::size_t i = 8; i < 11; ++i) sample.valid[i] = 0;
  const auto padded = predicted(model.network, sample);
  for (std::size_t l = 0; l < 3; ++l) {
    EXPECT_NEAR(alone[l].log_q, padded[l].log_q, 0.2);
    EXPECT_NEAR(alone[l].log_v, padded[l].log_v, 0.1);
  }
}

TEST(KernelGradient, RefusesSharedWeights) {
  const auto refused = kernel_gradient_not_carried(open_model("san:layers=3,heads=2,dim=8,shared=1", 0).network);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, Reason::kSharedWeights);
  const Network thin =
      with_attention(open_model("san:layers=2,heads=2,dim=8", 0).network, attention_named("linformer:k=4"));
  EXPECT_EQ(kernel_gradient_not_carried(thin)->reason, Reason::kLowRank);
}

TEST(KernelGradient, DoesNotDependOnThreads) {
  const Model model = open_model("san:layers=2,heads=3,dim=48,mlp=96,mask=causal", 0);
  const auto samples = random_samples(model.network, 1, 2, 9);
  KernelOptions options;
  set_threads(1);
  const auto one = predicted_gradients(model.network, samples, 2, options);
  set_threads(3);
  const auto three = predicted_gradients(model.network, samples, 2, options);
  set_threads(2);
  for (std::size_t job = 0; job < one.size(); ++job) {
    for (std::size_t l = 0; l < 2; ++l) {
      EXPECT_EQ(one[job].blocks[l].log_q, three[job].blocks[l].log_q);
      EXPECT_EQ(one[job].blocks[l].log_k, three[job].blocks[l].log_k);
      EXPECT_EQ(one[job].blocks[l].log_v, three[job].blocks[l].log_v);
    }
  }
  EXPECT_NE(one[0].blocks[0].log_q, one[1].blocks[0].log_q);  // chains have numbers of their own
}

}  // namespace
}  // namespace rankfall
