#include "train/autograd.h"

#include <gtest/gtest.h>

#include "train/attention_kernel.h"
#include "train/batches.h"
#include <rankfall/error.h>
#include <rankfall/forward.h>
#include <rankfall/model.h>

namespace rankfall {
namespace {

Batch batch_of(const std::vector<Sample>& samples) { return to_batch({samples, {}, {}}); }

class ForwardPass : public testing::TestWithParam<const char*> {};

// libtorch and our engine are one network.
TEST_P(ForwardPass, AgreesWithDense) {
  const Model model = open_model(std::string("san:layers=3,heads=2,dim=16,std=0.3,labels=5,") + GetParam(), 3);
  auto samples = random_samples(model.network, 1, 4, 7);
  if (std::string_view(GetParam()).find("mask") == std::string_view::npos) {
    samples[1].valid = {1, 1, 1, 1, 1, 0, 0};
    samples[2].valid = {0, 1, 1, 1, 1, 1, 1};
  }
  const auto expected =
      apply_head<float>(model.network, *model.weights, forward<float>(model.network, *model.weights, samples, {}));
  const Parameters parameters(model.network, *model.weights);
  const torch::NoGradGuard no_gradient;
  std::vector<torch::Tensor> states;
  Autograd domain(parameters, 0, {});
  const torch::Tensor output = domain.forward(model.network, batch_of(samples), &states);
  EXPECT_EQ(states.size(), 4U);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const Matrix<float> found = to_matrix(output[static_cast<std::int64_t>(s)]);
    const float size = expected[s].cwiseAbs().maxCoeff();
    for (Index t = 0; t < found.rows(); ++t) {
      if (!samples[s].valid.empty() && samples[s].valid[static_cast<std::size_t>(t)] == 0) continue;
      EXPECT_LT((found.row(t) - expected[s].row(t)).cwiseAbs().maxCoeff(), 1e-5F * size) << s << " " << t;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Networks, ForwardPass,
                         testing::Values("vocab=20,positions=10", "vocab=20,norm=pre,mlp=24",
                                         "vocab=20,norm=none,attn_skip=0.5,mlp=24,mlp_skip=0,act=relu",
                                         "features=3,feature_layers=2,mlp=8,act=gelu_new",
                                         "features=2,norm=none,branch=0.5", "vocab=20,mask=causal",
                                         "vocab=20,mask=window,window=1,global=1", "vocab=20,shared=1,bias=0",
                                         "vocab=20,embed=8,init=published,input_norm=0"));

TEST(Autograd, RefusesPositionsInLogits) {
  const Model model = open_model("san:layers=1,heads=1,dim=4,vocab=9,relative=xlnet", 0);
  const Parameters parameters(model.network, *model.weights);
  Autograd domain(parameters, 0, {});
  EXPECT_THROW(domain.forward(model.network, batch_of(random_samples(model.network, 1, 1, 3))), Error);
}

// The kernel's gradients are those of the same thing in torch's own operations, with dropout and padding, below and
// above the size where BLAS takes over.
TEST(Attend, AndItsGradientsAreTorchs) {
  torch::manual_seed(1);
  for (const Index n : {5, 40}) {
    const auto leaf = [&] { return torch::randn({3, n, 8}).set_requires_grad(true); };
    const torch::Tensor q = leaf();
    const torch::Tensor k = leaf();
    const torch::Tensor v = leaf();
    torch::Tensor valid = torch::ones({3, n}, torch::kBool);
    valid[1][n - 1] = false;
    const torch::Tensor kept = torch::empty({3, 2, n, n}).bernoulli_(0.7).div_(0.7);
    const auto heads = [&](const torch::Tensor& x) { return x.view({3, n, 2, 4}).transpose(1, 2); };
    const torch::Tensor logits = (torch::matmul(heads(q), heads(k).transpose(2, 3)) * 0.5)
                                     .masked_fill(valid.logical_not().unsqueeze(1).unsqueeze(1), -INFINITY);
    const torch::Tensor expected =
        torch::matmul(torch::softmax(logits, -1) * kept, heads(v)).transpose(1, 2).reshape({3, n, 8});
    const torch::Tensor weights = torch::randn({3, n, 8});
    const auto by_torch = torch::autograd::grad({(expected * weights).sum()}, {q, k, v});
    const torch::Tensor found = attend(q, k, v, 2, 0.5, valid, kept);
    const auto ours = torch::autograd::grad({(found * weights).sum()}, {q, k, v});
    EXPECT_LT((found - expected).abs().max().item<double>(), 1e-5);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_LT((ours[i] - by_torch[i]).abs().max().item<double>(), 2e-5) << n << " " << i;
      EXPECT_GT(ours[i].abs().max().item<double>(), 0.01);
    }
  }
}

}  // namespace
}  // namespace rankfall
