#include "studies/layer_costs/layer_costs.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "contract.h"
#include "linalg/gemm.h"
#include "result/prose_format.h"
#include "studies/collapse/growth.h"
#include "studies/layer_costs/reference_layers.h"
#include <rankfall/error.h>
#include <rankfall/process.h>

namespace rankfall {
namespace {

// Sums of d terms in another order differ by d roundings; the LSTM carries them on, damped by its gates. 1e-12 is some
// thousand roundings.
constexpr double kTolerance = 1e-12;

Matrix<double> states(Index n, Index d) {
  Matrix<float> x(n, d);
  fill_normal(random_key(7, "states"), 0, std::span(x.data(), static_cast<std::size_t>(x.size())), 1);
  return x.cast<double>();
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// As reference_layers.h says it, entry by entry.
Matrix<double> plain_lstm(const LstmLayer<double>& w, const Matrix<double>& x) {
  const Index d = x.cols();
  Matrix<double> y(x.rows(), d);
  std::vector<double> c(static_cast<std::size_t>(d), 0.0);
  for (Index t = 0; t < x.rows(); ++t) {
    const auto z = [&](Index row) {
      double sum = w.bias(row);
      for (Index j = 0; j < d; ++j) {
        sum += w.input(row, j) * x(t, j) + (t > 0 ? w.recurrent(row, j) * y(t - 1, j) : 0);
      }
      return sum;
    };
    for (Index j = 0; j < d; ++j) {
      double& cell = c[static_cast<std::size_t>(j)];
      cell = logistic(z(d + j)) * cell + logistic(z(j)) * std::tanh(z(2 * d + j));
      y(t, j) = logistic(z(3 * d + j)) * std::tanh(cell);
    }
  }
  return y;
}

Matrix<double> plain_convolution(const ConvolutionLayer<double>& w, const Matrix<double>& x) {
  const Index d = x.cols();
  const auto kernel = static_cast<Index>(w.taps.size());
  Matrix<double> y(x.rows(), d);
  for (Index t = 0; t < x.rows(); ++t) {
    for (Index i = 0; i < d; ++i) {
      double sum = w.bias(i);
      for (Index j = 0; j < kernel; ++j) {
        const Index from = t + j - (kernel - 1) / 2;
        if (from < 0 || from >= x.rows()) continue;
        for (Index k = 0; k < d; ++k) sum += w.taps[static_cast<std::size_t>(j)](i, k) * x(from, k);
      }
      y(t, i) = sum;
    }
  }
  return y;
}

TEST(ReferenceLayers, TheLstmIsTheRecurrence) {
  const BlasThreads one_blas_thread(1);
  for (const Index d : {1, 8, 9, 200}) {  // 200: two panels
    const LstmLayer<double> w(d, 1);
    for (const Index n : {1, 2, 17}) {
      const Matrix<double> x = states(n, d);
      const Matrix<double> expected = plain_lstm(w, x);
      const auto out = w.run(x);
      EXPECT_LE((out.y - expected).norm(), kTolerance * expected.norm()) << "n=" << n << " d=" << d;
      EXPECT_EQ(out.n_steps, n);
      const auto single = LstmLayer<float>(d, 1).run(x.cast<float>());
      EXPECT_LE((single.y.cast<double>() - expected).norm(), 1e-5 * expected.norm()) << "n=" << n << " d=" << d;
    }
  }
}

TEST(ReferenceLayers, TheConvolutionIsTheSum) {
  const BlasThreads one_blas_thread(1);
  for (const Index d : {1, 8, 200}) {
    for (const Index kernel : {1, 2, 3, 5, 8}) {
      const ConvolutionLayer<double> w(d, kernel, 1);
      for (const Index n : {1, 2, 4, 33}) {  // also fewer tokens than the kernel has
        const Matrix<double> x = states(n, d);
        const Matrix<double> expected = plain_convolution(w, x);
        const auto out = w.run(x);
        EXPECT_LE((out.y - expected).norm(), kTolerance * expected.norm()) << n << " " << d << " " << kernel;
        EXPECT_EQ(out.n_steps, 1);
      }
    }
  }
}

TEST(ReferenceLayers, TheProjectionsAreThose) {
  const BlasThreads one_blas_thread(1);
  for (const Index d : {1, 9, 200}) {
    const ProjectionLayer<double> w(d, 1);
    const Matrix<double> x = states(5, d);
    const std::uint64_t before = flops_done();
    const Matrix<double> y = w.run(x).y;
    EXPECT_EQ(flops_done() - before, static_cast<std::uint64_t>(8 * 5 * d * d));
    const Matrix<double> expected = x * w.v.transpose() * w.o.transpose();
    EXPECT_LE((y - expected).norm(), kTolerance * expected.norm());
  }
}

TEST(ReferenceLayers, AreTheSameWithAnyNumberOfThreads) {
  const BlasThreads one_blas_thread(1);
  const int before = threads();
  const Matrix<float> x = states(9, 400).cast<float>();
  const LstmLayer<float> lstm_weights(400, 1);
  const ConvolutionLayer<float> convolution_weights(400, 3, 1);
  set_threads(1);
  const auto lstm = lstm_weights.run(x);
  const auto convolution = convolution_weights.run(x);
  set_threads(3);
  EXPECT_EQ(lstm_weights.run(x).y, lstm.y);
  EXPECT_EQ(convolution_weights.run(x).y, convolution.y);
  set_threads(before);
}

TEST(Growth, OfAPowerIsItsExponent) {
  const std::vector<Index> tokens = {256, 512, 1024, 2048, 4096, 8192, 16384};
  for (const double exponent : {0.0, 0.5, 1.0, 2.0, 3.0}) {
    std::vector<std::optional<double>> values;
    for (const Index n : tokens) values.emplace_back(1e-7 * std::pow(static_cast<double>(n), exponent));
    const auto fit = growth_of(tokens, values);
    ASSERT_TRUE(fit);
    EXPECT_NEAR(fit->slope, exponent, 1e-12);
    EXPECT_NEAR(fit->slope_error, 0, 1e-12);
    EXPECT_EQ(fit->n, 4);
  }
}

// log2 of the values: 0, 3, 2 over 0, 1, 2; slope 1, off by 2/3, -4/3, 2/3: error sqrt((24/9) / 1 / 2).
TEST(Growth, HasTheErrorOfItsSlope) {
  const auto fit = growth_of(std::vector<Index>{1, 2, 4}, std::vector<std::optional<double>>{1.0, 8.0, 4.0});
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->slope, 1, 1e-12);
  EXPECT_NEAR(fit->slope_error, std::sqrt(4.0 / 3), 1e-12);
}

TEST(Growth, LooksAtTheLargestHalfAndAtWhatIsThere) {
  const std::vector<Index> tokens = {1, 2, 4, 8, 16, 32};
  const auto fit = growth_of(tokens, std::vector<std::optional<double>>{900.0, 1.0, 70.0, 8.0, 16.0, 32.0});
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->slope, 1, 1e-12);
  EXPECT_EQ(fit->n, 3);
  const std::vector<std::optional<double>> few = {1.0, 2.0, 4.0, 8.0, std::nullopt, 32.0};
  EXPECT_FALSE(growth_of(tokens, few));
  const std::vector<std::optional<double>> zero = {1.0, 2.0, 4.0, 8.0, 0.0, 32.0};
  EXPECT_FALSE(growth_of(tokens, zero));
  EXPECT_FALSE(growth_of(std::vector<Index>{}, std::vector<std::optional<double>>{}));
}

LayerCostOptions tiny() {
  LayerCostOptions options;
  options.d_model = 8;
  options.n_heads = 2;
  options.tokens = {3, 20, 70};
  options.n_rounds = 1;
  return options;
}

const Row* find_row(const Result& result, const std::string& variant, const std::string& metric, const char* kind,
                    std::optional<Index> tokens) {
  const auto found = std::ranges::find_if(result.rows, [&](const Row& row) {
    return row.variant == variant && row.metric == metric && row.kind == kind && row.tokens == tokens;
  });
  return found == result.rows.end() ? nullptr : &*found;
}

TEST(LayerCosts, HasEveryLayerAndLength) {
  for (const Precision precision : {Precision::kF32, Precision::kF64}) {
    LayerCostOptions options = tiny();
    options.precision = precision;
    double last = 0;
    double all = 0;
    options.progress = [&](double done, double total, std::string_view) {
      last = done;
      all = total;
    };
    const Result result = layer_costs(options);
    EXPECT_EQ(result.command, "layer_costs");
    EXPECT_EQ(last, all);
    std::vector<std::string> names = attention_names();
    const std::size_t n_kinds = names.size();
    names.insert(names.end(), {"projections", "lstm", "convolution"});
    for (std::size_t i = 0; i < names.size(); ++i) {
      for (const Index n : options.tokens) {
        for (const char* metric : {"layer.seconds", "layer.gflop", "layer.sequential"}) {
          const Row* row = find_row(result, names[i], metric, "", n);
          ASSERT_TRUE(row) << names[i] << " " << metric;
          EXPECT_GT(row->mean.value(), 0) << names[i] << " " << metric;
          EXPECT_EQ(row->model, "d=8 H=2");
        }
        EXPECT_EQ(find_row(result, names[i], "layer.sequential", "", n)->mean,
                  names[i] == "lstm" ? static_cast<double>(n) : 1.0);
        EXPECT_EQ(find_row(result, names[i], "mixing.gflop", "", n) != nullptr, i < n_kinds);
      }
      for (const char* kind : {"seconds", "flops"}) {
        const Row* row = find_row(result, names[i], "layer.exponent", kind, {});
        ASSERT_TRUE(row) << names[i];
        EXPECT_TRUE(row->std);
        EXPECT_EQ(row->n, 3);
        EXPECT_THAT(fmt::to_string(row->verdict), testing::StartsWith("O("));
      }
    }
  }
}

TEST(LayerCosts, CountsTheOperationsOfTheFormulas) {
  LayerCostOptions options = tiny();
  options.attention = {attention_named("full"), attention_named("linformer:k=4")};
  const Result result = layer_costs(options);
  expect_contract(result);
  const auto gflop = [&](const char* variant, const char* metric) {
    return find_row(result, variant, metric, "", 70)->mean.value() * 1e9;
  };
  const double n = 70, d = 8, k = 4;
  EXPECT_NEAR(gflop("projections", "layer.gflop"), 8 * n * d * d, 0.5);
  EXPECT_NEAR(gflop("full", "mixing.gflop"), 4 * n * n * d, 0.5);
  EXPECT_NEAR(gflop("linformer:k=4", "mixing.gflop"), 8 * n * k * d, 0.5);
  EXPECT_NEAR(gflop("lstm", "layer.gflop"), 8 * n * d * d + 8 * (n - 1) * d * d, 0.5);
  EXPECT_NEAR(gflop("convolution", "layer.gflop"), 2 * (3 * n - 2) * d * d, 0.5);
  const Row* exponent = find_row(result, "full", "mixing.exponent", "flops", {});
  ASSERT_TRUE(exponent);
  EXPECT_NEAR(exponent->mean.value(), 2, 1e-12);
  EXPECT_EQ(fmt::to_string(exponent->verdict), "O(n^2 d)");
}

TEST(LayerCosts, RefusesWhatCannotBe) {
  const auto kind_of = [](const auto& change) -> std::optional<ErrorKind> {
    LayerCostOptions options = tiny();
    change(options);
    try {
      layer_costs(options);
    } catch (const Error& error) {
      return error.kind();
    }
    return std::nullopt;
  };
  EXPECT_EQ(kind_of([](auto& o) { o.tokens = {16, 32}; }), ErrorKind::kUsage);
  EXPECT_EQ(kind_of([](auto& o) { o.tokens = {16, 64, 32}; }), ErrorKind::kUsage);
  EXPECT_EQ(kind_of([](auto& o) { o.tokens = {16, 16, 32}; }), ErrorKind::kUsage);
  EXPECT_EQ(kind_of([](auto& o) { o.tokens = {0, 16, 32}; }), ErrorKind::kUsage);
  EXPECT_EQ(kind_of([](auto& o) { o.kernel = 0; }), ErrorKind::kUsage);
  EXPECT_EQ(kind_of([](auto& o) { o.n_rounds = 0; }), ErrorKind::kUsage);
  EXPECT_EQ(kind_of([](auto& o) { o.n_heads = 3; }), ErrorKind::kUsage);
  EXPECT_EQ(kind_of([](auto& o) {
              o.attention = {attention_named("full"), attention_named("full")};
            }),
            ErrorKind::kUsage);
  // 16 * 10^12 numbers are more than any machine has.
  EXPECT_EQ(kind_of([](auto& o) { o.tokens = {16, 32, Index{1} << 40}; }), ErrorKind::kUsage);
}

}  // namespace
}  // namespace rankfall
