#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "engine/layer_weights.h"
#include "engine/recorder.h"
#include "linalg/norms.h"
#include "linalg/norms_impl.h"
#include "linalg/spectra.h"
#include <rankfall/error.h>
#include <rankfall/forward.h>
#include <rankfall/measure.h>
#include <rankfall/process.h>
#include <rankfall/sample.h>

namespace rankfall {
namespace {

MeasureOptions small_measure() {
  MeasureOptions options;
  options.input.n_samples = 3;
  options.input.n_tokens = 12;
  return options;
}

const std::vector<std::string> kTinyMeasured = {"san:layers=4,heads=2,dim=16,std=0.2,mlp=24"};

const Row& find(const Result& result, std::string_view variant, Index layer, std::string_view metric,
                std::optional<Index> head = std::nullopt) {
  for (const Row& row : result.rows) {
    if (row.variant == variant && row.layer == layer && row.metric == metric && row.head == head && !row.seed)
      return row;
  }
  throw std::runtime_error("no such row: " + std::string(metric));
}

TEST(Measure, OneRowPerVariantStateAndMetric) {
  const Result result = measure(kTinyMeasured, small_measure());
  EXPECT_EQ(result.rows.size(), 4u * 5 * 10);
  for (const Row& row : result.rows) {
    EXPECT_EQ(row.n, 3);
    EXPECT_TRUE(row.mean.has_value()) << row.metric;
    EXPECT_TRUE(row.std.has_value()) << row.metric;
  }
}

TEST(Measure, VariantsShareInputAndWeights) {
  const Result result = measure(kTinyMeasured, small_measure());
  const double at_input = *find(result, "full", 0, "residual.frobenius").mean;
  for (const char* variant : {"san", "san+mlp", "san+skip"}) {
    EXPECT_EQ(*find(result, variant, 0, "residual.frobenius").mean, at_input);
  }
}

TEST(Measure, NormsAreOrderedAsTheyMustBe) {
  const Result result = measure(kTinyMeasured, small_measure());
  for (Index layer = 0; layer <= 4; ++layer) {
    for (const char* variant : {"full", "san"}) {
      const auto value = [&](const char* metric) { return *find(result, variant, layer, metric).mean; };
      EXPECT_LE(value("cosine.mean"), value("cosine.mean_abs") + 1e-12);
      // Of any matrix: ||.||_F^2 <= ||.||_1 ||.||_inf, so the composite is never below the Frobenius norm / sqrt(min(n,
      // d)).
      EXPECT_GE(value("residual.composite") * 4.001, value("residual.frobenius"));
    }
  }
}

// The whole story: attention alone is dead at layer 2 and is marked so; with skips the residual lives.
TEST(Measure, PureAttentionReachesTheFloorAndIsMarked) {
  const std::vector<std::string> models = {"bert-tiny@init"};
  MeasureOptions options = small_measure();
  options.input.n_tokens = 64;
  const Result result = measure(models, options);
  EXPECT_EQ(find(result, "san", 2, "relative_residual.composite").status, Status::kRoundingFloor);
  EXPECT_EQ(find(result, "san", 2, "residual.composite").status, Status::kRoundingFloor);
  EXPECT_EQ(find(result, "san", 1, "relative_residual.composite").status, Status::kNone);
  EXPECT_EQ(find(result, "full", 2, "relative_residual.composite").status, Status::kNone);
  EXPECT_GT(*find(result, "full", 2, "relative_residual.composite").mean, 0.4);
  options.precision = Precision::kF64;
  const Result exact = measure(models, options);
  EXPECT_EQ(find(exact, "san", 2, "relative_residual.composite").status, Status::kNone)
      << "double carries one layer more";
  EXPECT_NEAR(*find(exact, "san", 1, "relative_residual.composite").mean,
              *find(result, "san", 1, "relative_residual.composite").mean, 1e-6);
}

const std::vector<std::string> kCollapsing = {"san:layers=4,heads=2,dim=16,mlp=24"};

// Whatever is computed from a state that is rounding is rounding too, and says so.
TEST(Measure, EveryMetricOfACollapsedStateIsMarked) {
  MeasureOptions options = small_measure();
  options.variants = {variant_named("san"), variant_named("full")};
  options.metrics = {"all"};
  const Result result = measure(kCollapsing, options);
  for (const char* metric : {"relative_residual.composite", "residual.spectral", "cosine.mean", "cosine.mean_abs",
                             "rank.stable", "rank.effective", "rank.participation", "rank.numerical", "singular.min"}) {
    for (const Index layer : {3, 4}) {
      EXPECT_EQ(find(result, "san", layer, metric).status, Status::kRoundingFloor) << metric << ' ' << layer;
    }
    for (Index layer = 0; layer <= 4; ++layer) {
      EXPECT_EQ(find(result, "full", layer, metric).status, Status::kNone) << metric << ' ' << layer;
    }
    EXPECT_EQ(find(result, "san", 1, metric).status, Status::kNone) << metric;
  }
  // What tells the rows of P apart is rounding where the block's tokens are; P itself is not.
  for (const char* metric : {"attention.sigma2", "attention.rank1_distance", "attention.dobrushin"}) {
    EXPECT_EQ(find(result, "san", 3, metric, 0).status, Status::kRoundingFloor) << metric;
    EXPECT_EQ(find(result, "san", 1, metric, 0).status, Status::kNone) << metric;
  }
  for (const char* metric : {"attention.entropy", "attention.sink", "attention.sigma1"}) {
    EXPECT_EQ(find(result, "san", 3, metric, 0).status, Status::kNone) << metric;
  }
  // In double the same layer is carried.
  options.precision = Precision::kF64;
  const Result exact = measure(kCollapsing, options);
  EXPECT_EQ(find(exact, "san", 2, "rank.participation").status, Status::kNone);
}

// A metric is marked whether or not the one that decides was asked for.
TEST(Measure, MarksDoNotDependOnWhatElseIsAsked) {
  MeasureOptions options;
  options.input.n_samples = 1;
  options.input.n_tokens = 4;
  options.variants = {variant_named("san")};
  options.metrics = {"residual.spectral", "minimal_residual.one", "minimal_residual_lower.inf",
                     "minimal_residual_gap.inf"};
  const Result result = measure(std::vector<std::string>{"san:layers=3,heads=1,dim=4"}, options);
  for (const std::string& metric : options.metrics) {
    EXPECT_EQ(find(result, "san", 0, metric).status, Status::kNone) << metric;
    EXPECT_EQ(find(result, "san", 3, metric).status, Status::kRoundingFloor) << metric;
  }
}

// Rows of causal attention differ however alike the tokens are.
TEST(Measure, AttentionThatDependsOnPlaceIsNotMarked) {
  MeasureOptions options = small_measure();
  options.variants = {variant_named("san")};
  options.metrics = {"attention"};
  const Result result =
      measure(std::vector<std::string>{"san:layers=40,heads=2,dim=16,mask=causal,norm=post"}, options);
  EXPECT_EQ(find(result, "san", 39, "relative_residual.composite").status, Status::kRoundingFloor);
  EXPECT_EQ(find(result, "san", 39, "attention.dobrushin", 0).status, Status::kNone);
  EXPECT_GT(*find(result, "san", 39, "attention.dobrushin", 0).mean, 0.5);
}

TEST(Measure, FurtherMetricsOnRequest) {
  MeasureOptions options = small_measure();
  options.metrics = {"rank", "spectral", "attention"};
  const Result result = measure(kTinyMeasured, options);
  for (Index layer = 0; layer <= 4; ++layer) {
    const auto value = [&](const char* metric) { return *find(result, "full", layer, metric).mean; };
    EXPECT_GE(value("rank.stable"), 1 - 1e-12);
    EXPECT_LE(value("rank.stable"), 12);
    EXPECT_LE(value("rank.effective"), 12 + 1e-9);
    EXPECT_LE(value("residual.spectral"), value("residual.frobenius") * (1 + 1e-6));
    EXPECT_LE(value("rank.numerical"), 12);
  }
  for (Index block = 0; block < 4; ++block) {
    for (Index head = 0; head < 2; ++head) {
      const auto value = [&](const char* metric) { return *find(result, "full", block, metric, head).mean; };
      EXPECT_GT(value("attention.entropy"), 0);
      EXPECT_LE(value("attention.entropy"), std::log(12) + 1e-6);
      EXPECT_GE(value("attention.sigma1"), 1 - 1e-6);
      EXPECT_LE(value("attention.dobrushin"), 1 + 1e-6);
      EXPECT_NEAR(value("attention.rank1_distance"), value("attention.sigma2") / value("attention.sigma1"), 1e-2);
    }
  }
}

// Entropy and sink are sums over rows, over tiles where samples are long; with others P is whole. The numbers agree.
TEST(Measure, MeasuresOfRowsEqualThoseOfTheWhole) {
  for (const Index n : {150, 1100}) {
    MeasureOptions rows = small_measure();
    rows.input.n_samples = 1;
    rows.input.n_tokens = n;
    rows.variants = {variant_named("full")};
    rows.metrics = {"attention.entropy", "attention.sink"};
    MeasureOptions whole = rows;
    whole.metrics = {"attention.entropy", "attention.sink", "attention.dobrushin"};
    const std::vector<std::string> models = {"san:layers=1,heads=2,dim=8,std=0.5,mask=causal"};
    const Result a = measure(models, rows);
    const Result b = measure(models, whole);
    for (const Index head : {0, 1}) {
      for (const char* metric : {"attention.entropy", "attention.sink"}) {
        EXPECT_NEAR(*find(a, "full", 0, metric, head).mean, *find(b, "full", 0, metric, head).mean,
                    n > 1024 ? 1e-6 : 1e-12)
            << metric << ", " << n << " tokens";
      }
      // A causal row i gives the first token at least 0 and row 0 all; more than the mean of 1/(i+1) by chance only.
      EXPECT_GT(*find(a, "full", 0, "attention.sink", head).mean, 1.0 / static_cast<double>(n));
      EXPECT_LT(*find(a, "full", 0, "attention.sink", head).mean, 1);
    }
  }
}

TEST(Measure, SeedsGiveRowsEachAndOverAll) {
  MeasureOptions options = small_measure();
  options.n_seeds = 3;
  options.seed = 40;
  const Result result = measure(kTinyMeasured, options);
  std::map<std::uint64_t, double> means;
  for (const Row& row : result.rows) {
    if (row.variant == "san" && row.layer == 1 && row.metric == "cosine.mean" && row.seed) means[*row.seed] = *row.mean;
  }
  ASSERT_EQ(means.size(), 3u);
  EXPECT_EQ(means.begin()->first, 40u);
  const Row& over = find(result, "san", 1, "cosine.mean");
  EXPECT_EQ(over.kind, "seeds");
  EXPECT_EQ(over.n, 3);
  double sum = 0;
  for (const auto& [seed, mean] : means) sum += mean / 3;
  EXPECT_NEAR(*over.mean, sum, 1e-14);
  MeasureOptions single = small_measure();
  single.seed = 41;
  EXPECT_EQ(*find(measure(kTinyMeasured, single), "san", 1, "cosine.mean").mean, means[41]);
}

TEST(Measure, OffersTheOtherMeanAndIntervalsAndChangesNothingElse) {
  MeasureOptions options = small_measure();
  options.precision = Precision::kF64;
  options.input.n_samples = 8;
  const Result plain = measure(kTinyMeasured, options);
  options.geometric = options.intervals = true;
  const Result result = measure(kTinyMeasured, options);
  for (const Row& row : plain.rows) {
    EXPECT_EQ(find(result, row.variant, *row.layer, row.metric).mean, row.mean) << row.metric;
  }
  const auto value = [&](Index layer, const char* metric) { return *find(result, "full", layer, metric).mean; };
  for (Index layer = 0; layer <= 4; ++layer) {
    EXPECT_LE(value(layer, "geometric_relative_residual.one"), value(layer, "relative_residual.one"));
    for (const std::string metric : {"relative_residual.composite", "cosine.mean"}) {
      const double low = value(layer, ("interval_low." + metric).c_str());
      const double high = value(layer, ("interval_high." + metric).c_str());
      const double mean = value(layer, metric.c_str());
      EXPECT_LT(low, mean) << metric;
      EXPECT_GT(high, mean) << metric;
      // Of the mean of 8 values: about 1.96 standard errors to each side, less what 8 values hide.
      const double error = *find(result, "full", layer, metric).std / std::sqrt(8.0);
      EXPECT_NEAR((high - low) / (2 * 1.96 * error), 0.94, 0.16) << metric;
    }
  }
}

TEST(Measure, IntervalsAreReproducible) {
  MeasureOptions options = small_measure();
  options.intervals = true;
  options.variants = {variant_named("full")};
  const Result one = measure(kTinyMeasured, options), other = measure(kTinyMeasured, options);
  EXPECT_EQ(find(one, "full", 2, "interval_low.cosine.mean").mean,
            find(other, "full", 2, "interval_low.cosine.mean").mean);
  options.input.n_samples = 1;
  for (const Row& row : measure(kTinyMeasured, options).rows) {
    EXPECT_FALSE(row.metric.starts_with("interval_")) << "one sample says nothing of others";
  }
}

// Samples of one seed share its weights. The interval over seeds must reflect how much seeds differ, which an interval
// over all samples alike would not.
TEST(Measure, IntervalsOverSeedsResampleSeedsAndThenSamples) {
  MeasureOptions options = small_measure();
  options.precision = Precision::kF64;
  options.intervals = true;
  options.n_seeds = 6;
  options.input.n_samples = 8;
  options.variants = {variant_named("full"), variant_named("san")};
  const Result result = measure(kTinyMeasured, options);
  for (const char* metric : {"relative_residual.composite", "cosine.mean"}) {
    for (const Index layer : {1, 2, 4}) {
      const Row& over = find(result, "full", layer, metric);
      ASSERT_EQ(over.kind, "seeds");
      const Row& low = find(result, "full", layer, std::string("interval_low.") + metric);
      const Row& high = find(result, "full", layer, std::string("interval_high.") + metric);
      EXPECT_EQ(low.kind, "seeds");
      EXPECT_EQ(low.n, 6);
      EXPECT_LT(*low.mean, *over.mean);
      EXPECT_GT(*high.mean, *over.mean);
      // The variance over resamples: 5/6 of that of the seeds' means, and 7/8 of the mean one of samples.
      double samples = 0;
      for (const Row& row : result.rows) {
        if (row.seed && row.variant == "full" && row.layer == layer && row.metric == metric)
          samples += *row.std * *row.std / 6;
      }
      const double variance = (5.0 / 6 * *over.std * *over.std + 7.0 / 8 * samples / 8) / 6;
      EXPECT_NEAR((*high.mean - *low.mean) / (2 * 1.96 * std::sqrt(variance)), 1, 0.15) << metric << layer;
    }
  }
  const int n_threads = threads();
  set_threads(n_threads == 1 ? 3 : 1);
  const Result again = measure(kTinyMeasured, options);
  set_threads(n_threads);
  EXPECT_EQ(find(again, "san", 2, "interval_low.cosine.mean").mean,
            find(result, "san", 2, "interval_low.cosine.mean").mean);
}

TEST(Measure, GeometricMeansOverSeeds) {
  MeasureOptions options = small_measure();
  options.geometric = options.intervals = true;
  options.n_seeds = 2;
  options.variants = {variant_named("full")};
  const Result result = measure(kTinyMeasured, options);
  double product = 1;
  for (const Row& row : result.rows) {
    if (row.metric == "geometric_relative_residual.inf" && row.layer == 1 && row.seed) product *= *row.mean;
  }
  const Row& mean = find(result, "full", 1, "geometric_relative_residual.inf");
  EXPECT_NEAR(*mean.mean, std::sqrt(product), 1e-12);
  EXPECT_EQ(mean.kind, "seeds");
  EXPECT_EQ(mean.n, 2);
}

TEST(Measure, OneTokenHasNoPairsAndNoResidual) {
  MeasureOptions options = small_measure();
  options.input.n_tokens = 1;
  const Result result = measure(kTinyMeasured, options);
  EXPECT_FALSE(find(result, "full", 1, "cosine.mean").mean.has_value());
  EXPECT_EQ(*find(result, "full", 1, "residual.composite").mean, 0);
  EXPECT_EQ(find(result, "full", 1, "residual.composite").status, Status::kExactlyZero);
  MeasureOptions with_ranks = options;
  with_ranks.metrics = {"rank"};
  EXPECT_EQ(find(measure(kTinyMeasured, with_ranks), "full", 1, "rank.stable").status, Status::kNone);
  // Several tokens that rounding made equal are at the floor, even where the difference is no longer there at all.
  const std::vector<std::string> deep = {"san:layers=6,heads=2,dim=16,norm=none"};
  const Result collapsed = measure(deep, small_measure());
  EXPECT_EQ(find(collapsed, "san", 6, "residual.composite").status, Status::kRoundingFloor);
}

TEST(Measure, MistakesAreNamed) {
  MeasureOptions options = small_measure();
  options.metrics = {"rank.unstable"};
  EXPECT_THROW(measure(kTinyMeasured, options), Error);
  options = small_measure();
  options.input.n_tokens = 0;
  EXPECT_THROW(measure(kTinyMeasured, options), Error);
  const std::vector<std::string> wrong = {kTinyMeasured[0], "nonsense@init"};
  EXPECT_THROW(measure(wrong, small_measure()), Error);
  EXPECT_THROW(measure(std::vector<std::string>{}, small_measure()), Error);
  options = small_measure();
  options.variants = paper_variants(true);
  EXPECT_THROW(measure(kTinyMeasured, options), Error) << "the published code knows no san";
}

TEST(Measure, PaddedTokensChangeNothing) {
  const Model model = open_model(kTinyMeasured[0], 0);
  std::vector<Sample> samples = random_samples(model.network, 1, 2, 10);
  MeasureOptions options;
  options.metrics = {"all"};
  options.precision = Precision::kF64;
  const Result before = measure(model, samples, options);
  for (Sample& sample : samples) {
    auto& ids = std::get<TokenIds>(sample.content);
    ids.insert(ids.begin(), {5, 6, 7});
    ids.push_back(8);
    sample.valid.assign(14, 1);
    for (const std::size_t i : {0u, 1u, 2u, 13u}) sample.valid[i] = 0;
  }
  const Result after = measure(model, samples, options);
  ASSERT_EQ(before.rows.size(), after.rows.size());
  for (std::size_t i = 0; i < before.rows.size(); ++i) {
    // Without skips the deeper states are close to rounding, where no metric keeps nine digits.
    const bool collapsing = before.rows[i].variant == "san" || before.rows[i].variant == "san+mlp";
    if (collapsing && *before.rows[i].layer > 1) continue;
    EXPECT_NEAR(*before.rows[i].mean, *after.rows[i].mean, 1e-9 * (1 + std::abs(*before.rows[i].mean)))
        << before.rows[i].variant << " " << before.rows[i].metric << " " << *before.rows[i].layer;
  }
}

TEST(Measure, AMassiveTokenIsComparedWithTheOthers) {
  const Model model = open_model("san:layers=1,heads=1,dim=4", 0);
  Matrix<double> x = Matrix<double>::Ones(4, 4);
  x.row(2) *= 9;
  x.row(3) *= 100;  // padding
  std::vector<Sample> samples(1);
  samples[0].content = HiddenState{x};
  samples[0].valid = {1, 1, 1, 0};
  MeasureOptions options;
  options.variants = {variant_named("full")};
  options.metrics = {"token.massive_ratio"};
  options.precision = Precision::kF64;
  const Result result = measure(model, samples, options);
  const auto found = std::ranges::find_if(
      result.rows, [](const Row& row) { return row.metric == "token.massive_ratio" && row.layer == 0; });
  ASSERT_NE(found, result.rows.end());
  EXPECT_NEAR(found->mean.value(), 9, 1e-12);
}

// Each from its formula, on states and attentions of a forward pass.
TEST(Measure, TokensBlocksPoolsAndLogitsAreTheirFormulas) {
  const Model model = open_model("san:layers=3,heads=2,dim=8,std=0.4,vocab=50,mask=causal,mlp=12", 3);
  std::vector<Sample> samples = random_samples(model.network, 4, 3, 6);
  samples[1].valid = {1, 1, 0, 1, 1, 0};
  MeasureOptions options;
  options.metrics = {"token", "block.influence", "rankme", "logits"};
  options.precision = Precision::kF64;
  options.variants = {variant_named("full")};
  const Result result = measure(model, samples, options);

  std::vector<Recorder<double>> recorders(samples.size());
  std::vector<Observer<double>*> watch;
  for (auto& recorder : recorders) watch.push_back(&recorder);
  forward<double>(model.network, *model.weights, samples, watch);
  const auto rows_of = [&](std::size_t s) { return valid_rows(6, samples[s].valid); };

  for (Index state = 0; state <= 3; ++state) {
    Matrix<double> all(0, 8);
    double influence = 0, rest = 0;
    for (std::size_t s = 0; s < samples.size(); ++s) {
      const Matrix<double> x = recorders[s].states[static_cast<std::size_t>(state)](rows_of(s), Eigen::all);
      all.conservativeResize(all.rows() + x.rows(), 8);
      all.bottomRows(x.rows()) = x;
      const auto lengths = x.rowwise().norm().eval();
      Index largest = 0;  // the first of those that are as long
      while (lengths(largest) < (1 - 1e-5) * lengths.maxCoeff()) ++largest;
      std::vector<Index> others;
      for (Index i = 0; i < x.rows(); ++i) {
        if (i != largest) others.push_back(i);
      }
      const Matrix<double> y = x(others, Eigen::all);
      const CentredNorms norms = centred_norms<double>(y, {});
      rest += norms.residual.composite() / norms.state.composite() / 3;
      if (state == 0) continue;
      const Matrix<double> before = recorders[s].states[static_cast<std::size_t>(state) - 1](rows_of(s), Eigen::all);
      double cosine = 0;
      for (Index i = 0; i < x.rows(); ++i) cosine += before.row(i).normalized().dot(x.row(i).normalized());
      influence += (1 - cosine / static_cast<double>(x.rows())) / 3;
    }
    EXPECT_NEAR(*find(result, "full", state, "token.rest_residual").mean, rest, 1e-12);
    EXPECT_NEAR(*find(result, "full", state, "rank.pooled").mean, rank_measures<double>(all, {}).effective, 1e-9);
    EXPECT_EQ(find(result, "full", state, "rank.pooled").n, 1);
    const std::optional<double> found = find(result, "full", state, "block.influence").mean;
    ASSERT_EQ(found.has_value(), state > 0);
    EXPECT_NEAR(found.value_or(0), influence, 1e-12);
  }
  // Logits of a row differ as logarithms of its attention do.
  for (Index head = 0; head < 2; ++head) {
    double range = 0;
    for (std::size_t s = 0; s < samples.size(); ++s) {
      double widest = 0;
      for (const Index i : rows_of(s)) {
        const auto row = recorders[s].attentions.at({1, head}).row(i);
        double least = 1;
        for (const Index j : rows_of(s)) {
          if (j <= i) least = std::min(least, row(j));
        }
        widest = std::max(widest, std::log(row.maxCoeff() / least));
      }
      range += widest / 3;
    }
    EXPECT_NEAR(*find(result, "full", 1, "attention.logit_range", head).mean, range, 1e-10);
  }
}

// The largest logit, from the weights; the same for long samples, whose attention is worked on in tiles.
TEST(Measure, TheLargestLogitIsThatOfQueriesAndKeys) {
  const Model model = open_model("san:layers=1,heads=1,dim=4,std=0.7,features=4,norm=none,input_norm=0", 5);
  for (const Index n : {7, 1100}) {
    Matrix<double> x = Matrix<double>::NullaryExpr(
        n, 4, [](Index i, Index j) { return std::sin(1 + 0.7 * static_cast<double>(i) + static_cast<double>(j)); });
    const std::vector<Sample> samples = {{.content = HiddenState{x}}};
    MeasureOptions options;
    options.metrics = {"logits"};
    options.precision = Precision::kF64;
    options.variants = {variant_named("full")};
    const Result result = measure(model, samples, options);
    const Attention& a = *model.network.layers[0].attention();
    const auto map = [&](const Linear& f) {
      const LayerWeights<double> weights(slices_of(f), model.network.tensors, *model.weights);
      return Matrix<double>((x * weights.matrix(f.w).stored.transpose()).rowwise() +
                            RowVector<double>(weights.vector(f.b)));
    };
    const Matrix<double> z = a.scale * map(a.q) * map(a.k).transpose();
    EXPECT_NEAR(*find(result, "full", 0, "attention.max_logit", 0).mean, z.maxCoeff(), 1e-12);
    EXPECT_NEAR(*find(result, "full", 0, "attention.logit_range", 0).mean,
                (z.rowwise().maxCoeff() - z.rowwise().minCoeff()).maxCoeff(), 1e-12);
  }
}

}  // namespace
}  // namespace rankfall
