#include "view/metric_text.h"

#include <gtest/gtest.h>

namespace rankfall {
namespace {

TEST(MetricText, SaysNormAndFormula) {
  const MetricText text = metric_text("relative_residual.composite");
  EXPECT_EQ(text.words, "relative residual");
  EXPECT_EQ(text.formula, "‖X − 1·mean‖ / ‖X‖, composite norm √(‖·‖₁ ‖·‖∞)");
  EXPECT_TRUE(text.is_share);
  EXPECT_TRUE(text.is_relative_residual);
  EXPECT_FALSE(metric_text("residual.composite").is_relative_residual);
}

// Every name of the design has words of its own, and an ASCII form in which no sign was forgotten.
TEST(MetricText, KnowsEveryMetric) {
  for (const char* metric : {"residual.composite",
                             "residual.one",
                             "residual.inf",
                             "residual.frobenius",
                             "residual.spectral",
                             "relative_residual.composite",
                             "relative_residual.one",
                             "relative_residual.inf",
                             "relative_residual.frobenius",
                             "relative_residual.spectral",
                             "cosine.mean",
                             "cosine.mean_abs",
                             "rank.stable",
                             "rank.effective",
                             "rank.participation",
                             "rank.numerical",
                             "singular.min",
                             "attention.entropy",
                             "attention.sink",
                             "attention.sigma1",
                             "attention.sigma2",
                             "attention.rank1_distance",
                             "attention.dobrushin",
                             "attention.gap",
                             "attention.rank.stable",
                             "attention.rank.effective",
                             "attention.rank.numerical",
                             "attention.singular",
                             "attention.energy",
                             "scaling.sigma2",
                             "scaling.exponent",
                             "jl.failure",
                             "jl.k_claimed",
                             "jl.k_needed",
                             "jl.growth",
                             "state.distance",
                             "state.distance.residual",
                             "layer.seconds",
                             "layer.exponent",
                             "log10_residual.composite",
                             "log10_relative_residual.composite",
                             "local_exponent",
                             "growth_factor",
                             "paths.count",
                             "paths.norm.frobenius",
                             "paths.share.projection",
                             "paths.share.norm",
                             "paths.share.residual",
                             "reconstruction_error",
                             "beta",
                             "gamma",
                             "range",
                             "bound.T2.2",
                             "tightness.T2.2",
                             "accuracy",
                             "loss",
                             "gflops",
                             "share_of_peak"}) {
    const MetricText text = metric_text(metric);
    EXPECT_TRUE(text.words.find(' ') != std::string::npos || !text.formula.empty() || text.words == "loss") << metric;
  }
}

TEST(MetricText, OfAnUnknownMetricIsItsName) {
  EXPECT_EQ(metric_text("entropy.of.tea").words, "entropy.of.tea");
  EXPECT_EQ(metric_text("residual.teapot").words, "residual.teapot");
  EXPECT_EQ(metric_text("").words, "");
}

}  // namespace
}  // namespace rankfall
