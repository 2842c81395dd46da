#include "engine/gradient/gradient.h"

#include <cmath>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "base/random.h"
#include "engine/golden_cases.h"
#include "engine/gradient/editable_weights.h"
#include "engine/networks.h"
#include <rankfall/process.h>
#include <rankfall/variants.h>

namespace rankfall {
namespace {

constexpr Index kProbes = 2;
constexpr std::uint64_t kSeed = 5;

// By sample, probe, layer and projection.
using Gradients = std::map<std::tuple<Index, Index, Index, ProjectionName>, Matrix<double>>;

struct Measured {
  std::vector<std::vector<BlockGradients>> norms;
  Gradients gradients;
};

Measured measured(const Network& network, const WeightSource& weights, std::span<const Sample> samples) {
  Measured out;
  std::mutex mutex;
  out.norms = gradient_norms(network, weights, samples, {kProbes, kSeed}, {},
                             [&](const GradientOf& of, const MatrixRef<double>& gradient) {
                               const std::lock_guard lock(mutex);
                               out.gradients[{of.sample, of.probe, of.layer, of.projection}] = gradient;
                             });
  return out;
}

const Linear& map_of(const Attention& attention, ProjectionName projection) {
  return projection == ProjectionName::kQ ? attention.q : projection == ProjectionName::kK ? attention.k : attention.v;
}

Matrix<double> direction(Index rows, Index cols, Index number) {
  std::vector<float> drawn(static_cast<std::size_t>(rows * cols));
  fill_normal(random_key(7, "direction " + std::to_string(number)), 0, drawn, 1.0);
  const Matrix<double> out = Eigen::Map<const Matrix<float>>(drawn.data(), rows, cols).cast<double>();
  return out / out.norm();
}

// The change of <G, Y> along random directions in the space of weights is their product with the gradient: by central
// differences of step h, whose error is about f''' h^2 / 6 and 1e-16 |Y| / h. What blocks share is moved in all of
// them, and their gradients add up. Returns the number of gradients that were compared.
int expect_finite_differences(const Network& network, const WeightSource& source, std::span<const Sample> samples,
                              const std::string& name) {
  constexpr double kStep = 1e-5;
  EditableWeights weights(network.tensors, source);
  const Measured found = measured(network, weights, samples);
  int compared = 0;
  Index number = 0;
  for (Index l = 0; l < std::ssize(network.layers); ++l) {
    const Attention* attention = network.layers[static_cast<std::size_t>(l)].attention();
    if (!attention) continue;
    for (const auto projection : {ProjectionName::kQ, ProjectionName::kK, ProjectionName::kV}) {
      const Linear& map = map_of(*attention, projection);
      const Matrix<double> d = direction(map.n_out(), map.n_in(), ++number);
      weights.add(map.w, kStep * d);
      const auto above = forward<double>(network, weights, samples, {});
      weights.add(map.w, -2 * kStep * d);
      const auto below = forward<double>(network, weights, samples, {});
      weights.add(map.w, kStep * d);
      for (std::size_t s = 0; s < samples.size(); ++s) {
        const auto sample = static_cast<Index>(s);
        for (Index p = 0; p < kProbes; ++p) {
          double ours = 0, size = 0;
          for (Index m = 0; m < std::ssize(network.layers); ++m) {
            const Attention* other = network.layers[static_cast<std::size_t>(m)].attention();
            if (!other || !(map_of(*other, projection).w == map.w)) continue;
            const Matrix<double>& gradient = found.gradients.at({sample, p, m, projection});
            ours += gradient.cwiseProduct(d).sum();
            size += gradient.norm();
          }
          const Matrix<double> probe = gradient_probe(kSeed, sample, p, above[s].cols(), samples[s]);
          const double theirs = probe.cwiseProduct(above[s] - below[s]).sum() / (2 * kStep);
          const double scale = probe.cwiseProduct(above[s]).cwiseAbs().sum();
          EXPECT_NEAR(ours, theirs, 2e-6 * size + 1e-9 * scale)
              << name << ", layer " << l << ", projection " << static_cast<int>(projection);
          ++compared;
        }
      }
    }
  }
  // The norms are those of the matrices.
  for (std::size_t s = 0; s < samples.size(); ++s) {
    std::map<Index, double> squares;
    for (const auto& [of, gradient] : found.gradients) {
      const auto& [sample, probe, layer, projection] = of;
      if (sample != static_cast<Index>(s) || projection != ProjectionName::kK) continue;
      squares[network.layers[static_cast<std::size_t>(layer)].block] += gradient.squaredNorm() / kProbes;
    }
    for (const auto& [block, square] : squares) {
      const BlockGradients& norms = found.norms[s][static_cast<std::size_t>(block)];
      EXPECT_TRUE(norms.has_attention);
      EXPECT_NEAR(norms.k, std::sqrt(square), 1e-12 * norms.k) << name;
    }
  }
  return compared;
}

TEST(Gradient, OfSmallNetworksIsThatOfFiniteDifferences) {
  for (const std::string& text : all_small_networks()) {
    const Model model = open_small(text, 3);
    const auto samples = random_samples(model.network, 1, 2, 7);
    for (const char* variant : {"full", "san"}) {
      const Network network = without(model.network, parts_of(variant));
      EXPECT_GT(expect_finite_differences(network, *model.weights, samples, text + " " + variant), 0);
    }
  }
}

TEST(Gradient, OfEveryFamilyIsThatOfFiniteDifferences) {
  for (const GoldenCase& c : golden_cases()) {
    if (std::string_view(c.variant) == "no_mlp" || std::string_view(c.variant) == "no_attn_skip") continue;
    const GoldenModel golden(c);
    const std::span<const Sample> one(golden.samples.data(), 1);
    EXPECT_GT(expect_finite_differences(golden.network, *golden.weights, one, std::string(c.family) + " " + c.variant),
              0);
  }
}

TEST(Gradient, PassesPaddingSegmentsAndOtherKindsOfAttention) {
  for (const char* text : {"san:layers=2,heads=2,dim=8,std=0.4,vocab=30,mlp=12",
                           "san:layers=2,heads=2,dim=8,std=0.4,vocab=30,relative=xlnet,norm=none"}) {
    const Model model = open_model(text, 4);
    auto samples = random_samples(model.network, 2, 2, 8);
    samples[0].valid = {0, 1, 1, 1, 1, 1, 1, 0};
    samples[1].segments = {0, 0, 0, 1, 1, 1, 0, 1};
    expect_finite_differences(model.network, *model.weights, samples, text);
  }
  const Model model = open_model("san:layers=2,heads=2,dim=8,std=0.5,vocab=30,mlp=12", 4);
  const auto samples = random_samples(model.network, 2, 1, 80);
  for (const char* kind : {"gaussian", "window:w=4,global=1", "bigbird:w=2,global=1,random=1,block=8"}) {
    const Network network = with_attention(model.network, attention_named(kind));
    expect_finite_differences(network, *model.weights, samples, kind);
  }
}

// What padding holds changes nothing.
TEST(Gradient, DoesNotSeePadding) {
  const Model model = open_model("san:layers=2,heads=2,dim=8,std=0.4,vocab=30,mlp=12", 4);
  auto samples = random_samples(model.network, 2, 1, 8);
  samples[0].valid = {1, 1, 1, 1, 1, 0, 0, 0};
  const auto before = gradient_norms(model.network, *model.weights, samples);
  std::get<TokenIds>(samples[0].content)[6] = (std::get<TokenIds>(samples[0].content)[6] + 1) % 30;
  const auto after = gradient_norms(model.network, *model.weights, samples);
  for (std::size_t b = 0; b < 2; ++b) {
    EXPECT_EQ(before[0][b].q, after[0][b].q);
    EXPECT_EQ(before[0][b].v, after[0][b].v);
  }
}

// The expectation over G of |d<G, Y>/dW|^2 is |dY/dW|_F^2, here with every entry of Y as a probe of its own: many
// probes come close to it.
TEST(Gradient, IsTheJacobianOnAverage) {
  const Model model = open_model("san:layers=2,heads=2,dim=4,std=0.5,vocab=30", 4);
  const auto samples = random_samples(model.network, 2, 1, 5);
  EditableWeights weights(model.network.tensors, *model.weights);
  const Linear& map = model.network.layers[0].attention()->q;
  constexpr double kStep = 1e-5;
  double square = 0;
  for (Index i = 0; i < map.n_out(); ++i) {
    for (Index j = 0; j < map.n_in(); ++j) {
      Matrix<double> d = Matrix<double>::Zero(map.n_out(), map.n_in());
      d(i, j) = kStep;
      weights.add(map.w, d);
      const auto above = forward<double>(model.network, weights, samples, {});
      weights.add(map.w, -2 * d);
      const auto below = forward<double>(model.network, weights, samples, {});
      weights.add(map.w, d);
      square += ((above[0] - below[0]) / (2 * kStep)).squaredNorm();
    }
  }
  const auto norms = gradient_norms(model.network, *model.weights, samples, {4000, 1});
  EXPECT_NEAR(norms[0][0].q / std::sqrt(square), 1, 0.05);
}

// Tokens that are all alike: the queries' and keys' weights have no gradient at all, the values' have one.
TEST(Gradient, OfQueriesAndKeysIsZeroForEqualTokens) {
  const Model model = open_model("san:layers=2,heads=2,dim=8,std=0.4,vocab=30", 4);
  Sample sample;
  sample.content = TokenIds(6, 3);
  const auto norms = gradient_norms(model.network, *model.weights, std::span(&sample, 1));
  for (const BlockGradients& of : norms[0]) {
    EXPECT_EQ(of.residual, 0);
    EXPECT_EQ(of.q, 0);
    EXPECT_EQ(of.k, 0);
    EXPECT_GT(of.v, 0.01);
  }
}

// Tokens that differ by 1e-11 of their size: the gradient falls with the square of the difference, to four digits.
TEST(Gradient, KeepsItsDigitsNearEqualTokens) {
  const Model model = open_model("san:layers=1,heads=2,dim=8,std=0.4,features=8,norm=none", 4);
  Sample sample = random_samples(model.network, 2, 1, 6)[0];
  const Matrix<double> values = std::get<Features>(sample.content).values;
  const RowVector<double> mean = values.colwise().mean();
  const auto at = [&](double size) {
    sample.content = HiddenState{(size * (values.rowwise() - mean)).rowwise() + mean};
    return gradient_norms(model.network, *model.weights, std::span(&sample, 1))[0][0];
  };
  const BlockGradients near = at(1e-5);
  const BlockGradients nearer = at(1e-11);
  EXPECT_NEAR(near.q / nearer.q, 1e12, 1e8);
  EXPECT_NEAR(near.k / nearer.k, 1e12, 1e8);
  EXPECT_NEAR(near.v / nearer.v, 1, 1e-4);
}

TEST(Gradient, RefusesProductsOfThinMatrices) {
  const Model model = open_model("san:layers=2,heads=2,dim=8", 4);
  EXPECT_FALSE(gradient_not_carried(model.network));
  for (const char* kind : {"linformer:k=4", "nystrom:m=4", "performer:m=8"}) {
    const auto refused = gradient_not_carried(with_attention(model.network, attention_named(kind)));
    ASSERT_TRUE(refused) << kind;
    EXPECT_EQ(refused->reason, Reason::kLowRank);
  }
}

TEST(Gradient, DoesNotDependOnThreads) {
  const Model model = open_model("san:layers=2,heads=3,dim=210,mlp=400,vocab=100,norm=pre", 4);
  const auto samples = random_samples(model.network, 2, 3, 20);
  set_threads(1);
  const auto one = gradient_norms(model.network, *model.weights, samples);
  for (const int n : {2, 3}) {
    set_threads(n);
    const auto many = gradient_norms(model.network, *model.weights, samples);
    for (std::size_t s = 0; s < samples.size(); ++s) {
      for (std::size_t b = 0; b < 2; ++b) {
        EXPECT_EQ(one[s][b].q, many[s][b].q);
        EXPECT_EQ(one[s][b].k, many[s][b].k);
        EXPECT_EQ(one[s][b].v, many[s][b].v);
      }
    }
  }
  set_threads(2);
}

}  // namespace
}  // namespace rankfall
