#include <cmath>
#include <limits>
#include <memory>

#include <gmock/gmock.h>

#include <rankfall/array_metrics.h>
#include <rankfall/error.h>
#include <rankfall/forward.h>
#include <rankfall/measure.h>

namespace rankfall {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string error_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

struct Keeper final : Observer<double> {
  std::vector<Matrix<double>> states;
  Matrix<double> attention_of_last;
  Needs needs() const override { return {.hidden = true, .attention = Needs::Attention::kWhole}; }
  void hidden(Index /*state*/, const MatrixRef<double>& x) override { states.emplace_back(x); }
  void attention(Index /*block*/, Index head, const MatrixRef<double>& p) override {
    if (head == 1) attention_of_last = p;
  }
};

// What a user computes from states is what `measure` says of the network that made them, to the last bit.
TEST(ArrayMetrics, EqualMeasure) {
  const Model model = open_model("san:layers=2,heads=2,dim=16,norm=pre,mlp=32", 3);
  const std::vector<Sample> samples = random_samples(model.network, 1, 1, 12);
  MeasureOptions options;
  options.variants = {variant_named("full")};
  options.precision = Precision::kF64;
  options.metrics = {"all"};
  const Result result = measure(model, samples, options);
  Keeper keeper;
  const std::vector<Observer<double>*> observers = {&keeper};
  forward<double>(model.network, *model.weights, samples, observers);
  int n_compared = 0;
  for (Index state = 0; state <= 2; ++state) {
    const ArrayBatch<double> batch{{keeper.states[static_cast<std::size_t>(state)]}};
    const ArrayMetrics metrics = state_metrics(batch, {"all"});
    EXPECT_THAT(metrics.names, Not(Contains("block.influence")));
    for (std::size_t m = 0; m < metrics.names.size(); ++m) {
      for (const Row& row : result.rows) {
        if (row.metric != metrics.names[m] || row.layer != state || row.head) continue;
        EXPECT_EQ(row.mean, metrics.values(0, static_cast<Index>(m))) << row.metric << " of state " << state;
        ++n_compared;
      }
    }
  }
  EXPECT_GE(n_compared, 3 * 15);
  const ArrayMetrics attention = attention_metrics(ArrayBatch<double>{{keeper.attention_of_last}});
  for (std::size_t m = 0; m < attention.names.size(); ++m) {
    for (const Row& row : result.rows) {
      if (row.metric != attention.names[m] || row.layer != 1 || row.head != 1) continue;
      EXPECT_NEAR(*row.mean, attention.values(0, static_cast<Index>(m)), 1e-12) << row.metric;
    }
  }
  const ArrayBatch<double> before{{keeper.states[1]}}, after{{keeper.states[2]}};
  for (const Row& row : result.rows) {
    if (row.metric != "block.influence" || row.layer != 2) continue;
    EXPECT_EQ(row.mean, block_influence(before, after)[0]);
  }
}

TEST(ArrayMetrics, PaddingDoesNotCount) {
  const Matrix<float> x = Matrix<float>::Random(5, 3);
  Matrix<float> padded(7, 3);
  padded << x, Matrix<float>::Constant(2, 3, 1e6F);
  const auto plain = state_metrics(ArrayBatch<float>{{x}}, {"all"});
  const auto masked = state_metrics(ArrayBatch<float>{{padded}, {{1, 1, 1, 1, 1, 0, 0}}}, {"all"});
  EXPECT_EQ(plain.values, masked.values);
}

TEST(ArrayMetrics, OnlyWhatIsAskedFor) {
  const Matrix<double> x = Matrix<double>::Random(4, 3);
  const ArrayBatch<double> batch{{x, x}};
  EXPECT_EQ(state_metrics(batch, {"cosine.mean"}).names, std::vector<std::string>{"cosine.mean"});
  EXPECT_THAT(state_metrics(batch).names, Contains("relative_residual.composite"));
  EXPECT_EQ(state_metrics(batch).values.rows(), 2);
  EXPECT_EQ(state_metrics(ArrayBatch<double>{}).values.rows(), 0);
  EXPECT_THAT(error_of([&] { state_metrics(batch, {"cosine.meen"}); }), HasSubstr("did you mean 'cosine.mean'"));
  EXPECT_THAT(error_of([&] { state_metrics(batch, {"attention.sink"}); }), HasSubstr("not one of a state"));
  EXPECT_THAT(error_of([&] { attention_metrics(batch, {"cosine.mean"}); }),
              HasSubstr("not one of an attention matrix"));
}

TEST(ArrayMetrics, LogitsOfQueriesAndKeys) {
  Matrix<double> q(2, 2), k(3, 2);
  q << 1, 0, 0, 2;
  k << 1, 1, -1, 2, 3, -4;
  // q k^T = [1 -1 3; 2 4 -8]
  const auto all = logit_measures<double>(q, k, 0.5, false);
  EXPECT_EQ(all.max_logit, 2);
  EXPECT_EQ(all.logit_range, 6);
  const auto causal = logit_measures<double>(q, k, 1, true);  // the first query sees two keys, the second three
  EXPECT_EQ(causal.max_logit, 4);
  EXPECT_EQ(causal.logit_range, 12);
  const std::vector<std::uint8_t> valid = {1, 1, 0};
  EXPECT_EQ(logit_measures<double>(q, k, 1, false, valid).logit_range, 2);
  const std::vector<std::uint8_t> none = {0, 0, 0};
  EXPECT_TRUE(std::isnan(logit_measures<double>(q, k, 1, false, none).max_logit));
  EXPECT_THAT(error_of([&] { logit_measures<double>(q, Matrix<double>::Ones(2, 3), 1, false); }), HasSubstr("width"));
}

TEST(ArrayMetrics, WhatIsWrongIsNamed) {
  Matrix<double> x = Matrix<double>::Random(4, 3);
  x(2, 1) = std::numeric_limits<double>::quiet_NaN();
  const Matrix<double> good = Matrix<double>::Random(4, 3);
  EXPECT_THAT(error_of([&] {
                state_metrics(ArrayBatch<double>{{good, x}});
              }),
              HasSubstr("sample 1: nan in row 2, column 1"));
  EXPECT_THAT(error_of([&] { state_metrics(ArrayBatch<double>{{Matrix<double>(0, 3)}}); }), HasSubstr("0 x 3"));
  EXPECT_THAT(error_of([&] { state_metrics(ArrayBatch<double>{{good}, {{1, 1}}}); }), HasSubstr("mask of 2 entries"));
  EXPECT_THAT(error_of([&] { state_metrics(ArrayBatch<double>{{good}, {{0, 0, 0, 0}}}); }), HasSubstr("no token"));
  EXPECT_THAT(error_of([&] { attention_metrics(ArrayBatch<double>{{good}}); }), HasSubstr("expected n x n"));
}

}  // namespace
}  // namespace rankfall
