#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include <rankfall/measure.h>
#include <rankfall/sample.h>

namespace rankfall {
namespace {

// Padding takes part in nothing: a padded sample measures as the same sample without its padding.
TEST(Padding, ChangesNoMetric) {
  std::vector<Sample> with;
  std::vector<Sample> without;
  for (const Index length : {6, 3}) {
    TokenIds ids(12, 0);
    std::iota(ids.begin(), ids.begin() + length, 10);
    Sample sample;
    sample.content = ids;
    sample.valid.assign(12, 0);
    std::fill_n(sample.valid.begin(), length, 1);
    with.push_back(sample);
    ids.resize(static_cast<std::size_t>(length));
    without.push_back({ids, {}, {}});
  }
  for (const char* spec : {"san:layers=2,heads=2,dim=8,vocab=600,mlp=16,std=0.5,positions=20",
                           "san:layers=2,heads=2,dim=8,vocab=600,relative=xlnet,std=0.5",
                           "san:layers=2,heads=2,dim=8,vocab=600,mask=causal,std=0.5"}) {
    const Model model = open_model(spec, 1);
    MeasureOptions options;
    options.metrics = {"all"};
    options.precision = Precision::kF64;
    const Result a = measure(model, with, options);
    const Result b = measure(model, without, options);
    ASSERT_EQ(a.rows.size(), b.rows.size());
    for (std::size_t i = 0; i < a.rows.size(); ++i) {
      if (b.rows[i].status != Status::kNone) continue;  // where a residual is rounding, so is its agreement
      const double tolerance = 1e-12 + 1e-9 * std::abs(*b.rows[i].mean);
      EXPECT_NEAR(*a.rows[i].mean, *b.rows[i].mean, tolerance) << spec << a.rows[i].metric;
    }
  }
}

}  // namespace
}  // namespace rankfall
