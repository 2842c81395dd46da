#include "engine/attention/kinds.h"

#include <gmock/gmock.h>

#include "engine/memory.h"
#include "engine/networks.h"
#include "engine/recorder.h"
#include "linalg/gemm.h"
#include <rankfall/decompose.h>
#include <rankfall/error.h>
#include <rankfall/process.h>
#include <rankfall/split.h>

// What holds for every kind.

namespace rankfall::attention_kinds {
namespace {

using testing::HasSubstr;

template <class T>
void expect_as_defined(double tolerance) {
  const BlasThreads one_blas_thread(1);
  const Matrix<double> q = drawn("q", kN, kD);
  const Matrix<double> k = drawn("k", kN, kD);
  const Matrix<double> v = drawn("v", kN, 4);
  for (const Case& c : kCases) {
    for (const bool padded : {false, true}) {
      SCOPED_TRACE(std::string(c.name) + (padded ? ", padded" : ""));
      const Attention a = attention_of(c);
      const auto valid = padded ? padding(kN) : std::vector<std::uint8_t>();
      const Matrix<double> expected = Plain(a, q, k, valid).p();
      const LowRankHead<T> head(a, drawn_for<T>(a, 2, 1), q.cast<T>(), k.cast<T>(), valid);
      Matrix<T> p(kN, kN);
      head.rows(0, p);
      EXPECT_LE((p.template cast<double>() - expected).cwiseAbs().maxCoeff(), tolerance);
      Matrix<T> part(5, kN);
      head.rows(11, part);
      EXPECT_LE((part.template cast<double>() - expected.middleRows(11, 5)).cwiseAbs().maxCoeff(), tolerance);
      Matrix<T> out(kN, 4);
      head.attend(v.cast<T>(), out);
      EXPECT_LE((out.template cast<double>() - expected * v).cwiseAbs().maxCoeff(), 10 * tolerance);
    }
  }
}

TEST(AttentionKinds, AreAsDefined) {
  expect_as_defined<double>(1e-12);
  expect_as_defined<float>(1e-4);
}

// One token, two, nothing but padding.
TEST(AttentionKinds, FewTokens) {
  const BlasThreads one_blas_thread(1);
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const Attention a = attention_of(c);
    for (const Index n : {Index{1}, Index{2}}) {
      const Matrix<double> q = drawn("q", n, kD);
      const Matrix<double> k = drawn("k", n, kD);
      const Matrix<double> v = drawn("v", n, 4);
      Matrix<double> p(n, n), out(n, 4);
      const LowRankHead<double> head(a, drawn_for<double>(a, 0, 0), q, k, {});
      head.rows(0, p);
      head.attend(v, out);
      EXPECT_TRUE(p.allFinite());
      EXPECT_LE((out - p * v).cwiseAbs().maxCoeff(), 1e-13);
      if (has_distributions(c.weights)) {
        EXPECT_NEAR(p.row(n - 1).sum(), 1, 1e-14);
      }
      const std::vector<std::uint8_t> none(static_cast<std::size_t>(n), 0);
      const LowRankHead<double> blind(a, drawn_for<double>(a, 0, 0), q, k, none);
      blind.rows(0, p);
      blind.attend(v, out);
      EXPECT_EQ(p, (Matrix<double>::Zero(n, n)));
      EXPECT_EQ(out, (Matrix<double>::Zero(n, 4)));
    }
  }
}

TEST(AttentionKinds, WhatIsNoNumberIsFound) {
  const Model model = open_model("san:layers=1,heads=1,dim=4,features=4,norm=none,input_norm=0,std=0.5", 2);
  for (const char* kind : {"gaussian", "linformer:k=4", "linformer:k=4,pooled=1", "nystrom:m=4", "performer:m=4",
                           "window:w=8", "bigbird:w=8,global=0"}) {
    for (const double wrong : {std::numeric_limits<double>::quiet_NaN(), 1e30}) {
      const Network network = with_attention(model.network, attention_named(kind));
      Sample sample = random_samples(network, 1, 1, 20)[0];
      std::get<Features>(sample.content).values.row(7).setConstant(wrong);
      try {
        forward<float>(network, *model.weights, std::span(&sample, 1), {});
        // Where one key is far away its weight is one or nothing, which may be right.
        EXPECT_FALSE(std::isnan(wrong)) << kind;
      } catch (const Error& e) {
        EXPECT_EQ(e.kind(), ErrorKind::kNumerical) << kind;
      }
    }
  }
}

// Neither threads nor whoever looks on change a bit.
TEST(AttentionKinds, ObserversAndThreadsChangeNothing) {
  const Model model = open_model("san:layers=2,heads=3,dim=12,mlp=16,vocab=40,std=0.3", 2);
  for (const char* kind : {"gaussian", "linformer:k=8", "linformer:k=8,pooled=1", "nystrom:m=6", "performer:m=24",
                           "window:w=3", "bigbird:w=4,global=2,random=1"}) {
    SCOPED_TRACE(kind);
    const Network network = network_with(model.network, kind);
    const Sample sample = random_samples(network, 1, 1, 150)[0];
    const Matrix<double> expected = last(network, model, sample);
    EXPECT_NE(expected, last(model.network, model, sample));
    Recorder<double> recorder;
    std::vector<Observer<double>*> observers = {&recorder};
    EXPECT_EQ(last(network, model, sample, observers), expected);
    EXPECT_EQ(recorder.attentions.size(), 6U);
    set_threads(3);
    EXPECT_EQ(last(network, model, sample), expected);
    set_threads(0);
  }
}

// Mean and residual apart, and together.
TEST(AttentionKinds, CollapseIsFollowedWhereRowsSumToOne) {
  for (const char* spec : {"san:layers=3,heads=2,dim=8,vocab=40,std=0.4,norm=none",
                           "san:layers=3,heads=2,dim=8,vocab=40,std=0.4,mlp=12,relative=xlnet"}) {
    const Model model = open_model(spec, 2);
    for (const char* kind : {"gaussian", "window:w=3,global=1", "bigbird:w=2,global=0,random=1"}) {
      SCOPED_TRACE(std::string(spec) + " " + kind);
      const Network network = network_with(model.network, kind);
      const Sample sample = random_samples(network, 1, 1, 140)[0];
      const Matrix<double> x = last(network, model, sample);
      const SplitState split = track(network, *model.weights, std::span(&sample, 1), {}, {})[0];
      const Matrix<double> joined =
          (std::exp(split.residual.log) * split.residual.value).rowwise() + std::exp(split.mean.log) * split.mean.value;
      EXPECT_LE((joined - x).cwiseAbs().maxCoeff(), 1e-11 * x.cwiseAbs().maxCoeff());
    }
  }
  const Model model = open_model("san:layers=1,heads=2,dim=8,vocab=40", 2);
  for (const char* kind : {"linformer:k=8", "nystrom:m=8", "performer:m=8"}) {
    const Network network = network_with(model.network, kind);
    const Sample sample = random_samples(network, 1, 1, 20)[0];
    try {
      track(network, *model.weights, std::span(&sample, 1), {}, {});
      ADD_FAILURE() << kind;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kUsage);
      EXPECT_THAT(e.what(), HasSubstr("P is a softmax of logits"));
    }
  }
}

// Heads that share keys, and rotary positions, in a network: P of each head from the plain pass's queries and keys.
TEST(AttentionKinds, HeadsMayShareKeys) {
  const Model model = open_small(small_configs()[1], 3);
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    Network network = model.network;
    for (SubLayer& layer : network.layers) {
      auto* a = std::get_if<Attention>(&layer.branches[0].f);
      if (!a) continue;
      a->mask.causal = c.causal;
      a->weights = c.weights;
    }
    Sample sample = random_samples(network, 1, 1, kN)[0];
    sample.valid = padding(kN);
    Recorder<double> recorder;
    std::vector<Observer<double>*> observers = {&recorder};
    last(network, model, sample, observers);
    const Opened opened(network, *model.weights);
    for (const SubLayer& layer : network.layers) {
      const auto* a = std::get_if<Attention>(&layer.branches[0].f);
      if (!a) continue;
      ASSERT_LT(a->n_kv_heads, a->n_heads);
      const auto x = opened.normed(layer, recorder.states[static_cast<std::size_t>(layer.block)]);
      const Matrix<double> q = opened.projected(*a, a->q, x);
      const Matrix<double> k = opened.projected(*a, a->k, x);
      for (Index h = 0; h < a->n_heads; ++h) {
        const Matrix<double> expected =
            Plain(*a, q.middleCols(h * a->d_head, a->d_head),
                  k.middleCols(h * a->n_kv_heads / a->n_heads * a->d_head, a->d_head), sample.valid, layer.block, h)
                .p();
        EXPECT_LE((recorder.attentions.at({layer.block, h}) - expected).cwiseAbs().maxCoeff(), 1e-10);
      }
    }
  }
}

// A head that is run by itself has its own random numbers.
TEST(AttentionKinds, ReRunHeadsKeepTheirNumbers) {
  const Model model = open_model("san:layers=3,heads=3,dim=12,vocab=40,std=0.4,norm=none,attn_skip=0", 2);
  for (const char* kind : {"linformer:k=5", "performer:m=8", "nystrom:m=4", "bigbird:w=2,global=0"}) {
    SCOPED_TRACE(kind);
    const Network network = network_with(model.network, kind);
    const Sample sample = random_samples(network, 1, 1, 14)[0];
    const Network rerun = rerun_network(network, {{}, {{2, 1}}});
    Network block = network;  // block 2 alone, its numbers kept
    std::erase_if(block.layers, [](const SubLayer& layer) { return layer.block != 2; });
    const auto p_of = [&](const Network& of) {
      Recorder<double> recorder({.attention = Needs::Attention::kWhole});
      std::vector<Observer<double>*> observers = {&recorder};
      forward<double>(of, *model.weights, std::span(&sample, 1), observers);
      return recorder.attentions;
    };
    EXPECT_EQ(p_of(rerun).at({0, 0}), p_of(block).at({2, 1}));
  }
}

std::string refusal(const char* spec, const char* kind) {
  try {
    network_with(open_model(spec, 0).network, kind);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kUsage);
    return e.what();
  }
  return "";
}

TEST(AttentionKinds, WhatDoesNotFitIsRefused) {
  const char* causal = "san:layers=1,heads=2,dim=8,vocab=9,mask=causal";
  EXPECT_THAT(refusal(causal, "linformer"), HasSubstr("attention linformer: the model is causal"));
  EXPECT_THAT(refusal(causal, "nystrom:m=4"), HasSubstr("the model is causal"));
  EXPECT_EQ(refusal(causal, "performer"), "");
  EXPECT_EQ(refusal(causal, "window"), "");
  EXPECT_EQ(refusal(causal, "gaussian"), "");
  EXPECT_TRUE(
      std::get<Attention>(network_with(open_model(causal, 0).network, "window").layers[0].branches[0].f).mask.causal);
  EXPECT_THAT(refusal("san:layers=1,heads=2,dim=8,vocab=9,relative=xlnet", "performer"), HasSubstr("distances"));
  EXPECT_THAT(refusal("san:layers=1,heads=2,dim=8,vocab=9,mask=window,window=2", "nystrom"), HasSubstr("a window"));
}

TEST(AttentionKinds, ThinMatricesNeedLessMemoryThanTheirProduct) {
  const Network network = open_model("san:layers=2,heads=2,dim=16,vocab=40", 0).network;
  const MemoryPlan plan{.n_tokens = 100'000, .precision = Precision::kF32};
  const double full = memory_needed(network, plan);
  const double few = memory_needed(network_with(network, "performer:m=64"), plan);
  const double many = memory_needed(network_with(network, "performer:m=4096"), plan);
  EXPECT_GT(few, full);  // tiles of P are smaller than what they are made of
  EXPECT_GT(many, few + 2 * 4096 * 100'000.0 * sizeof(float));
  EXPECT_LT(many, 100'000.0 * 100'000.0 * sizeof(float));
  EXPECT_EQ(memory_needed(network_with(network, "window"), plan), full);
}

}  // namespace
}  // namespace rankfall::attention_kinds
