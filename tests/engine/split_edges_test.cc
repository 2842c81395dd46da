#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "engine/networks.h"
#include "engine/split/split.h"
#include "engine/split/split_activation.h"
#include "engine/split_oracle.h"
#include "io/dtype.h"
#include <rankfall/variants.h>

// Where digits could be lost.

namespace rankfall {
namespace {

ManyDigits activated(Activation act, const ManyDigits& x) {
  Matrix<ManyDigits> m(1, 1);
  m(0, 0) = x;
  activate<ManyDigits>(act, m);
  return m(0, 0);
}

TEST(SplitActivation, DividedDifferencesAreRightToRounding) {
  const Digits enough(400);  // to see 10^-270 beside 1, which is what the definitions subtract
  // The density e^(-a^2/2) itself has a relative error of a^2/2 roundings.
  for (const Activation act : {Activation::kIdentity, Activation::kRelu, Activation::kGelu, Activation::kGeluTanh,
                               Activation::kGeluBloom, Activation::kGeluFast, Activation::kSilu, Activation::kTanh}) {
    for (const double a :
         {-30.0, -12.0, -5.5, -1.3, -0.75, -1e-3, -1e-30, 1e-200, 1e-9, 0.3, 0.9, 2.0, 7.0, 30.0, 500.0}) {
      const ManyDigits at_a = activated(act, ManyDigits(a));
      for (const double size :
           {1e-40, 1e-17, 1e-9, 3e-5, 2e-3, 0.017, 0.09, 0.2, 0.33, 0.5, 0.69, 0.71, 1.5, 4.0, 11.0, 90.0}) {
        for (const double e : {size, -size}) {
          const ManyDigits expected = (activated(act, ManyDigits(a) + ManyDigits(e)) - at_a) / ManyDigits(e);
          const double ours = divided_difference(act, a, e);
          // Where the function turns round the difference itself may vanish: its two terms are the measure.
          const double terms =
              std::abs(expected.convert_to<double>()) + std::abs(ManyDigits(at_a / ManyDigits(a)).convert_to<double>());
          const double error = std::abs(ManyDigits(ManyDigits(ours) - expected).convert_to<double>());
          EXPECT_LE(error, (2e-14 + 4e-16 * a * a) * terms + 1e-300)
              << "activation " << static_cast<int>(act) << " a " << a << " e " << e;
        }
      }
    }
  }
}

// Some tensors of a source times a factor.
class FactorSource final : public WeightSource {
 public:
  FactorSource(const Model& model, std::string part_of_name, double factor)
      : model_(model), part_(std::move(part_of_name)), factor_(factor) {
    const auto fits = [&](const TensorSpec& spec) { return spec.name.find(part_) != std::string::npos; };
    EXPECT_TRUE(std::ranges::any_of(model.network.tensors, fits)) << part_;
  }

  TensorData rows(int tensor, Index first, Index count) const override {
    const TensorSpec& spec = model_.network.tensors[static_cast<std::size_t>(tensor)];
    TensorData data = model_.weights->rows(tensor, first, count);
    if (spec.name.find(part_) == std::string::npos) return data;
    const std::size_t n = static_cast<std::size_t>(count * spec.matrix_cols());
    auto values = std::make_shared<std::vector<double>>(n);
    widen<double>(data.dtype, data.bytes, std::span<double>(*values));
    for (double& value : *values) value *= factor_;
    return {DType::kF64, std::as_bytes(std::span<const double>(*values)), values};
  }

 private:
  const Model& model_;
  std::string part_;
  double factor_;
};

Matrix<double> normal(Index rows, Index cols, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> draw;
  Matrix<double> x(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) x(i, j) = draw(engine);
  }
  return x;
}

// mean size * (one row), residual size * (noise).
Sample hidden(Index n, Index d, double mean, double residual) {
  Matrix<double> x = residual * normal(n, d, 1);
  x.rowwise() += RowVector<double>(mean * normal(1, d, 2));
  return {HiddenState{x}, {}, {}};
}

// A large mean and a small residual: one key takes all the attention, the others e^-gap of it.
TEST(SplitEdges, AttentionSinks) {
  const Model model = open_model("san:layers=3,heads=2,dim=8,std=0.4,norm=none,features=8", 3);
  const Network network = apply(variant_named("san"), model.network);
  for (const double mean : {30.0, 300.0, 3e3, 3e4, 3e5}) {
    const Depth depth = compare(900, network, *model.weights, hidden(6, 8, mean, 0.1), "mean " + std::to_string(mean));
    EXPECT_LT(depth.relative, -5);
  }
}

// The same with residuals that are not small: what the sink leaves is below any double.
TEST(SplitEdges, AttentionSinksBelowTheRangeOfDouble) {
  const Model model = open_model("san:layers=2,heads=1,dim=8,std=0.4,norm=none,features=8", 3);
  const Network network = apply(variant_named("san"), model.network);
  double deepest = 0;
  for (const double mean : {30.0, 60.0, 100.0, 150.0}) {
    for (const double residual : {0.5, 2.0, 10.0}) {
      const Depth depth = compare(1500, network, *model.weights, hidden(6, 8, mean, residual),
                                  std::to_string(mean) + " " + std::to_string(residual));
      deepest = std::min(deepest, depth.residual);
    }
  }
  EXPECT_LT(deepest, -400);
}

// A token far larger than the others, or far smaller: norms make them equal again, and their digits must still be
// there.
TEST(SplitEdges, OutlierTokens) {
  for (const char* norm : {"pre", "none"}) {
    const Model model = open_model(std::string("san:layers=2,heads=2,dim=8,std=0.3,features=8,mlp=8,norm=") + norm, 3);
    for (const char* variant : {"san", "full"}) {
      const Network network = apply(variant_named(variant), model.network);
      for (const double factor : {1e4, 1e8, 1e-6, 0.0}) {
        Sample sample = hidden(6, 8, 1, 1);
        std::get<HiddenState>(sample.content).values.row(2) *= factor;
        compare(400, network, *model.weights, sample, std::string(norm) + variant + std::to_string(factor));
      }
    }
  }
  const Model llama = open_small(small_configs()[1], 3);
  for (const double factor : {1e4, 1e8, 1e-6}) {
    Sample sample = hidden(6, 16, 1, 1);
    std::get<HiddenState>(sample.content).values.row(2) *= factor;
    compare(100, llama.network, *llama.weights, sample, "llama " + std::to_string(factor));
  }
}

TEST(SplitEdges, QueriesAndKeysWhoseProductUnderflows) {
  const Model model = open_model("san:layers=2,heads=2,dim=8,std=0.4,norm=none,features=8,bias=0", 3);
  const Network network = apply(variant_named("san"), model.network);
  const FactorSource queries(model, ".q.weight", 1e-200);
  Model scaled = model;
  scaled.weights = std::make_shared<FactorSource>(queries);
  const FactorSource both(scaled, ".k.weight", 1e-200);
  const Depth depth = compare(1500, network, both, hidden(4, 8, 1, 1), "query and key 1e-200");
  EXPECT_LT(depth.residual, -350);
}

TEST(SplitEdges, ANotANumberIsAnErrorAndNotZero) {
  const Model model = open_model("san:layers=1,heads=2,dim=8,std=0.4,norm=none,features=8", 3);
  const FactorSource nothing(model, ".v.", std::numeric_limits<double>::quiet_NaN());
  const Sample sample = hidden(4, 8, 1, 1);
  EXPECT_THROW(track(model.network, nothing, std::span(&sample, 1), {}), Error);
}

// Position terms far smaller than the content's, at first: cubic decay until they are all that is left.
TEST(SplitEdges, TinyPositionTermsOfXlnet) {
  const Model model = open_model("san:layers=3,heads=2,dim=8,std=0.5,norm=none,relative=xlnet,features=8,bias=1", 3);
  const Network network = repeat(apply(variant_named("san"), model.network), 4);
  for (const double factor : {1e-3, 1e-12, 1e-40, 0.0}) {
    const FactorSource weights(model, ".r.weight", factor);
    const Depth depth = compare(900, network, weights, hidden(6, 8, 1, 1), "positions " + std::to_string(factor));
    EXPECT_LT(depth.relative, -5);
  }
}

TEST(SplitEdges, TinyPositionTermsOfT5) {
  const Model model = open_small(small_configs()[0], 3);
  const Network network = repeat(apply(variant_without("attn_skip,mlp,norm"), model.network), 4);
  for (const double factor : {1e-3, 1e-12, 1e-40, 0.0}) {
    const FactorSource weights(model, "relative_attention_bias", factor);
    compare(900, network, weights, hidden(6, 12, 1, 1), "positions " + std::to_string(factor));
  }
}

TEST(SplitEdges, TinyPositionTermsOfRotary) {
  const Model model = open_small(small_configs()[1], 3);
  Network network = repeat(apply(variant_without("attn_skip,mlp,norm"), model.network), 4);
  for (const double factor : {1e3, 1e9, 1e25}) {
    for (SubLayer& layer : network.layers) {
      auto& attention = std::get<Attention>(layer.branches[0].f);
      attention.mask = {};
      std::get<RotaryPositions>(attention.positions).scaling = LinearScaling{factor};
    }
    const Depth depth =
        compare(900, network, *model.weights, hidden(6, 16, 1, 1), "angles / " + std::to_string(factor));
    EXPECT_LT(depth.relative, -20);
  }
}

const VectorView<double> kNone(nullptr, 0);

Norm plain_norm(Norm::Kind kind, double eps) {
  Norm norm;
  norm.kind = kind;
  norm.eps = eps;
  return norm;
}

// log10 of the residual after a norm, by the tracker and in truth.
struct AfterNorm {
  double ours, truth;
};
AfterNorm after_norm(const Norm& norm, const Matrix<double>& x) {
  SplitState state = normalised(norm, kNone, kNone, {}, split(x, {}));
  recentre(state, {});
  const Digits hundred(100);
  Matrix<ManyDigits> truth = x.cast<ManyDigits>();
  normalise_rows<ManyDigits>(norm, VectorView<ManyDigits>(nullptr, 0), VectorView<ManyDigits>(nullptr, 0), truth);
  return {split_norms(state, {}, false).residual.frobenius,
          log10_of(centred_norm_sums<ManyDigits>(truth, {}).residual.frobenius())};
}

// Tokens that differ in length more than in direction: a norm leaves the direction only. The residual's own rounding
// is enlarged by that ratio, and nothing else is lost.
TEST(SplitEdges, NearlyParallelTokensInNorms) {
  const Index n = 5;
  const Index d = 8;
  for (const Norm::Kind kind : {Norm::Kind::kLayer, Norm::Kind::kRms}) {
    for (const double noise : {1e-2, 1e-5, 1e-8}) {
      const RowVector<double> direction = normal(1, d, 4);
      const RowVector<double> lengths = normal(1, n, 5);
      Matrix<double> x = noise * normal(n, d, 6);
      for (Index i = 0; i < n; ++i) x.row(i) += (1 + 0.3 * lengths(i)) * direction;
      const AfterNorm result = after_norm(plain_norm(kind, 1e-12), x);
      EXPECT_NEAR(result.ours, result.truth, 4e-16 / noise) << noise;
    }
  }
}

// Exactly parallel: all that a norm leaves comes from its eps, far below rounding of the parts it is the difference of.
TEST(SplitEdges, ParallelTokensInNorms) {
  const Index n = 4;
  const Index d = 8;
  const RowVector<double> direction = RowVector<double>::LinSpaced(d, -3.5, 3.5);  // sums to zero
  Matrix<double> x(n, d);
  for (Index i = 0; i < n; ++i) x.row(i) = static_cast<double>(2 * i + 1) * direction;  // mean 4: all exact so far
  for (const Norm::Kind kind : {Norm::Kind::kLayer, Norm::Kind::kRms}) {
    for (const double eps : {1e-5, 1e-12, 1e-30}) {
      const AfterNorm result = after_norm(plain_norm(kind, eps), x);
      EXPECT_NEAR(result.ours, result.truth, 1e-13) << eps;
    }
  }
}

// Scales whose squares are subnormal or underflow, up and down.
TEST(SplitEdges, SubnormalScales) {
  const Model model = open_model("san:layers=3,heads=2,dim=8,std=0.4,norm=none,mlp=12,act=gelu,features=8", 3);
  for (const char* parts : {"attn_skip,mlp", "attn_skip,mlp_skip"}) {
    const Network network = apply(variant_without(parts), model.network);
    for (const double size : {1e-100, 1e-154, 1e-160, 1e-162, 1e-200, 1e-290}) {
      compare(1500, network, *model.weights, hidden(4, 8, size, size), "size " + std::to_string(std::log10(size)));
      compare(1500, network, *model.weights, hidden(4, 8, 1, size), "residual " + std::to_string(std::log10(size)));
    }
  }
}

TEST(SplitEdges, EqualTokensHaveNoResidualForEver) {
  for (const std::string& spec : all_small_networks()) {
    const Model model = open_small(spec, 3);
    if (model.network.sizes.vocab == 0) continue;
    Sample sample = random_samples(model.network, 1, 1, 1)[0];
    const auto one = tracked(model.network, *model.weights, std::span(&sample, 1));
    for (const SplitState& state : one[0].states) EXPECT_TRUE(state.residual.is_zero());
    sample.content = TokenIds(4, std::get<TokenIds>(sample.content)[0]);
    if (std::get<TokenInput>(model.network.input.source).positions) continue;
    const auto four = tracked(model.network, *model.weights, std::span(&sample, 1));
    for (const SplitState& state : four[0].states) EXPECT_TRUE(state.residual.is_zero()) << spec;
  }
}

}  // namespace
}  // namespace rankfall
