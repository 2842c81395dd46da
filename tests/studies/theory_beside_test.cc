#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rankfall/theory.h>

namespace rankfall {
namespace {

// The mean of ten seeds lies within three of their deviations, which is far more than the prediction is off by.
TEST(Theory, PredictsWhatIsMeasured) {
  const std::vector<std::string> models = {
      "san:layers=4,heads=4,dim=256,mlp=1024",
      "san:layers=4,heads=4,dim=256,mlp=1024,norm=pre,mask=causal,act=silu",
      "san:layers=4,heads=4,dim=256,norm=none,std=0.05,mask=window,window=2",
      "san:layers=4,heads=4,dim=256,relative=xlnet,std=0.05",
      "san:layers=4,heads=4,dim=256,mlp=1024,std=0.035,shared=1",
  };
  int n_compared = 0;
  for (const std::string& model : models) {
    TheoryOptions options;
    options.variants = {variant_named("full"), variant_named("san")};
    options.compare = true;
    options.n_seeds = 10;
    options.draws = 64;
    options.input.n_samples = 2;
    options.input.n_tokens = 8;
    const Result result = theory(std::vector<std::string>{model}, options);
    for (const Row& row : result.rows) {
      if (row.metric != "deviations.cosine.mean" && row.metric != "deviations.log10_relative_residual.frobenius")
        continue;
      // Pure attention triples the logarithm of every error with each layer.
      const bool deep = row.variant == "san" && *row.layer > 2;
      if (row.layer == 0 || deep) continue;
      EXPECT_LE(std::abs(row.mean.value_or(0)), 3)
          << model << " " << row.variant << " " << *row.layer << " " << row.metric;
      ++n_compared;
    }
  }
  EXPECT_GE(n_compared, 30);
}

}  // namespace
}  // namespace rankfall
