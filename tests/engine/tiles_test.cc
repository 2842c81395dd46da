#include <cmath>

#include <gtest/gtest.h>

#include "engine/dense/attention_impl.h"
#include "engine/layer_weights_impl.h"
#include "engine/networks.h"
#include "engine/plain_forward.h"
#include "engine/recorder.h"
#include <rankfall/error.h>
#include <rankfall/forward.h>
#include <rankfall/process.h>
#include <rankfall/variants.h>

namespace rankfall {
namespace {

constexpr Index kTokens = kTiledAbove + 203;  // a last tile and a last block that are not full

// One layer of each way in which a logit and a mask are made.
std::vector<std::string> attentions() {
  const std::string size = "san:layers=1,heads=2,dim=8,std=0.8,vocab=50";
  std::vector<std::string> all = {size,
                                  size + ",mask=causal",
                                  size + ",mask=window,window=30",
                                  size + ",mask=window,window=100,global=3",
                                  size + ",mask=window,window=30,global=700",
                                  size + ",mask=causal-window,window=600",
                                  size + ",relative=xlnet",
                                  size + ",relative=xlnet,mask=causal"};
  for (const std::string& config : small_configs()) all.push_back(config);
  // After '+': another kind of attention. Tiles of many blocks of which few are seen, and of a causal mask.
  all.push_back(size + "+gaussian");
  all.push_back(size + "+bigbird:w=20,global=3,random=1");
  all.push_back(size + ",mask=causal+bigbird:w=1,global=0,random=2,seed=4");
  return all;
}

template <class T>
struct Head {
  Matrix<T> q, k, v;
};

template <class T>
Head<T> random_head(const Attention& attention, T size) {
  const auto draw = [&](Index columns) -> Matrix<T> { return size * Matrix<T>::Random(kTokens, columns); };
  std::srand(1);
  return {draw(attention.n_heads * attention.d_head), draw(attention.n_kv_heads * attention.d_head),
          draw(attention.d_head)};
}

// Calls body(scores, head) for every attention, without and with padding and segments.
template <class T, class Body>
void for_each_attention(T size, const Body& body) {
  const BlasThreads one_blas_thread(1);
  for (const std::string& spec : attentions()) {
    Model model = open_small(spec.substr(0, spec.find('+')), 3);
    if (const auto plus = spec.find('+'); plus != std::string::npos) {
      model.network = with_attention(model.network, attention_named(spec.substr(plus + 1)));
    }
    LayerLoader<T> loader(model.network, *model.weights, kTokens);
    const LoadedLayer<T>& layer = loader.load(0);
    const Attention& attention = *layer.layer->attention();
    const Head<T> head = random_head<T>(attention, size);
    for (const bool padded : {false, true}) {
      std::vector<std::uint8_t> valid;
      std::vector<std::int32_t> segments;
      if (padded) {
        valid.assign(kTokens, 1);
        std::fill_n(valid.begin(), 520, std::uint8_t{0});  // a whole tile and more
        valid.back() = 0;
        segments.assign(kTokens, 0);
        std::fill(segments.begin() + 800, segments.end(), 1);
      }
      SCOPED_TRACE(spec + (padded ? ", padded" : ""));
      body(HeadScores<T>(attention, layer, head.q, head.k, valid, segments), head);
    }
  }
}

// Tiles against rows of P as a whole: the output, the entropy, the sink.
template <class T>
void expect_tiles_are_rows(T size, double tolerance) {
  for_each_attention<T>(size, [&](const HeadScores<T>& scores, const Head<T>& head) {
    for (Index first = 0; first < kTokens; first += kQueryRows) {
      const Index rows = std::min(kQueryRows, kTokens - first);
      Matrix<T> p(rows, kTokens), out(rows, head.v.cols());
      scores.probabilities(1, first, p);
      const Matrix<T> expected = p * head.v;
      const RowMeasures of_rows = scores.measures(p);
      RowMeasures streamed;
      scores.attend(1, first, head.v, out, &streamed);
      ASSERT_LE((out - expected).cwiseAbs().maxCoeff(), tolerance * head.v.cwiseAbs().maxCoeff()) << first;
      ASSERT_LE((streamed.entropy - of_rows.entropy).cwiseAbs().maxCoeff(), 10 * tolerance) << first;
      ASSERT_LE((streamed.sink - of_rows.sink).cwiseAbs().maxCoeff(), tolerance) << first;
      Matrix<T> unmeasured(rows, head.v.cols());
      scores.attend(1, first, head.v, unmeasured, nullptr);
      ASSERT_EQ(out, unmeasured);
    }
  });
}

TEST(Tiles, AgreeWithWholeRows) {
  expect_tiles_are_rows<double>(1, 1e-14);
  expect_tiles_are_rows<float>(1, 2e-6F);
}

// Logits of hundreds: nearly all weights underflow, and the largest comes in a late tile.
TEST(Tiles, AgreeWhereLogitsAreLarge) {
  expect_tiles_are_rows<double>(20, 1e-13);
  expect_tiles_are_rows<float>(20, 2e-5F);
}

// A tile is left out only if the mask hides all of it, and taken whole only if it hides nothing.
TEST(Tiles, AreLeftOutWhereTheMaskHidesAllOfThem) {
  const BlasThreads one_blas_thread(1);
  const Model model = open_model("san:layers=1,heads=1,dim=4,vocab=50", 3);
  Index n_none = 0;
  for (const bool causal : {false, true}) {
    for (const char* kind : {"bigbird:w=3,global=0,random=1", "bigbird:w=70,global=9,random=2,seed=5",
                             "bigbird:w=5,global=9,random=3,block=16", "window:w=500"}) {
      Network network = with_attention(model.network, attention_named(kind));
      auto& attention = std::get<Attention>(network.layers[0].branches[0].f);
      attention.mask.causal = causal;
      LayerLoader<double> loader(network, *model.weights, kTokens);
      const Matrix<double> zero = Matrix<double>::Zero(kTokens, 4);
      const HeadScores<double> scores(attention, loader.load(0), zero, zero, {}, {});
      for (Index first = 0; first < kTokens; first += kQueryRows) {
        const Index rows = std::min(kQueryRows, kTokens - first);
        Matrix<double> p(rows, kTokens);
        scores.probabilities(0, first, p);
        for (Index key = 0; key < kTokens; key += kTileKeys) {
          const Index keys = std::min(kTileKeys, kTokens - key);
          const Index seen = (p.middleCols(key, keys).array() > 0).count();
          const auto said = scores.seen(first, rows, key, keys);
          EXPECT_EQ(said == HeadScores<double>::Seen::kNone, seen == 0) << kind << " " << first << " " << key;
          if (said == HeadScores<double>::Seen::kAll) {
            EXPECT_EQ(seen, rows * keys);
          }
          if (seen == 0) ++n_none;
        }
      }
    }
  }
  EXPECT_GT(n_none, 20);
}

// Both sides of the threshold against the definitions, one number at a time.
TEST(Tiles, BothSidesOfTheThresholdEqualThePlainForwardPass) {
  const std::string size = "san:layers=1,heads=1,dim=4,std=0.8,vocab=50";
  struct Kind {
    std::string spec;
    const char* attention = "full";
  };
  for (const auto& [spec, kind] :
       {Kind{size}, Kind{size + ",mask=causal"}, Kind{size + ",mask=window,window=100,global=3"},
        Kind{size, "bigbird:w=20,global=3,random=2"}, Kind{size + ",mask=causal", "bigbird:w=20,global=70,random=1"}}) {
    const Model model = open_model(spec, 3);
    const Network network = with_attention(model.network, attention_named(kind));
    for (const Index n : {kTiledAbove, kTiledAbove + 1}) {
      const Sample sample = random_samples(network, 5, 1, n)[0];
      const auto ours = forward<double>(network, *model.weights, std::span(&sample, 1), {})[0];
      const auto plain = plain::Forward<double>(network, *model.weights).states(sample).back();
      double worst = 0;
      for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < ours.cols(); ++j) {
          worst =
              std::max(worst, std::abs(ours(i, j) - plain[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]));
        }
      }
      EXPECT_LE(worst, 1e-13 * ours.cwiseAbs().maxCoeff()) << spec << " " << kind << ", " << n << " tokens";
    }
  }
}

TEST(Tiles, NeitherObserversNorThreadsChangeTheResult) {
  const Model model = open_model("san:layers=2,heads=2,dim=16,std=0.3,mask=causal", 2);
  const Sample sample = random_samples(model.network, 1, 1, kTokens)[0];
  const auto run = [&](Needs::Attention attention, int n_threads) {
    set_threads(n_threads);
    Recorder<float> recorder({.hidden = true, .attention = attention});
    std::vector<Observer<float>*> observers = {&recorder};
    auto states = forward<float>(model.network, *model.weights, std::span(&sample, 1), observers);
    set_threads(2);
    return states[0];
  };
  const Matrix<float> alone = run(Needs::Attention::kNone, 1);
  EXPECT_EQ(alone, run(Needs::Attention::kNone, 3));
  EXPECT_EQ(alone, run(Needs::Attention::kMeasures, 2));
  EXPECT_EQ(alone, run(Needs::Attention::kRows, 2));
  EXPECT_EQ(alone, run(Needs::Attention::kWhole, 2));
}

// What the first tile holds may not hide what a later one does.
TEST(Tiles, NotANumberAnywhereIsFound) {
  const Model model = open_model("san:layers=1,heads=1,dim=4,features=4,norm=none,input_norm=0,std=0.5", 2);
  Sample sample = random_samples(model.network, 1, 1, kTokens)[0];
  std::get<Features>(sample.content).values(kTokens - 1, 2) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(forward<float>(model.network, *model.weights, std::span(&sample, 1), {}), Error);
}

}  // namespace
}  // namespace rankfall
