#include "studies/lowrank/sketches.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "linalg/gemm.h"
#include "linalg/matrices.h"

namespace rankfall {
namespace {

Matrix<double> drawn(const char* name, Index rows, Index cols, double stddev = 1) {
  Matrix<float> out(rows, cols);
  fill_normal(random_key(11, name), 0, std::span(out.data(), static_cast<std::size_t>(out.size())), stddev);
  return out.cast<double>();
}

Matrix<double> random_markov(Index n) {
  Matrix<double> p = drawn("logits", n, n).array().exp();
  for (Index i = 0; i < n; ++i) p.row(i) /= p.row(i).sum();
  return p;
}

// Of error norms: the law of |P R^T R w - P w| from R itself, a number at a time.
std::vector<double> plain_errors(const Matrix<double>& p, const Matrix<double>& w, Index k, Index n_draws) {
  std::vector<double> errors;
  const Matrix<double> all = drawn("R", n_draws * k, p.cols(), 1 / std::sqrt(static_cast<double>(k)));
  for (Index t = 0; t < n_draws; ++t) {
    const Matrix<double> r = all.middleRows(t * k, k);
    const Matrix<double> column = w.col(t % w.cols());
    errors.push_back((p * (r.transpose() * (r * column)) - p * column).norm());
  }
  return errors;
}

// The largest distance of two empirical distributions.
double kolmogorov_smirnov(std::vector<double> a, std::vector<double> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  double largest = 0;
  for (const double x : a) {
    const auto below = [&](const std::vector<double>& v) {
      return static_cast<double>(std::ranges::upper_bound(v, x) - v.begin()) / static_cast<double>(v.size());
    };
    largest = std::max(largest, std::abs(below(a) - below(b)));
  }
  return largest;
}

// The columns of w in turn.
SketchVectors in_turn(const Matrix<double>& w) {
  return [w](Index first, Index count) {
    Matrix<double> rows(count, w.rows());
    for (Index t = 0; t < count; ++t) rows.row(t) = w.col((first + t) % w.cols()).transpose();
    return rows;
  };
}

// A draw has the law of R itself: for two samples of 4,000 the distance exceeds 1.95 sqrt(2 / 4000) = 0.0436 with
// probability 0.001.
TEST(Sketches, DrawsHaveTheLawOfR) {
  const BlasThreads one_blas_thread(1);
  constexpr Index kDraws = 4000;
  const Matrix<double> p = random_markov(24);
  for (const Index k : {1, 3, 16, 60}) {
    for (const double mean : {0.0, 2.0}) {
      const Matrix<double> w = drawn("w", 24, 2).array() + mean;
      std::vector<double> errors;
      for (const SketchDraw& draw :
           draw_sketches(p, in_turn(w), kDraws, random_key(static_cast<std::uint64_t>(k), "draws"))) {
        errors.push_back(std::sqrt(sketch_error2(draw, k)));
      }
      EXPECT_LE(kolmogorov_smirnov(errors, plain_errors(p, w, k, kDraws)), 0.0436) << k << ' ' << mean;
    }
  }
}

TEST(Sketches, ErrorsHaveTheirMean) {
  const BlasThreads one_blas_thread(1);
  // E |P R^T R w - P w|^2 = (|P|_F^2 |w|^2 + |P w|^2) / k.
  const Matrix<double> p = random_markov(30);
  const Matrix<double> w = drawn("w", 30, 1).array() + 0.5;
  const auto draws = draw_sketches(p, in_turn(w), 20'000, random_key(0, "mean"));
  for (const Index k : {2, 10, 1000}) {
    double sum = 0;
    for (const SketchDraw& draw : draws) sum += sketch_error2(draw, k) / static_cast<double>(draws.size());
    const double expected = (p.squaredNorm() * w.squaredNorm() + (p * w).squaredNorm()) / static_cast<double>(k);
    EXPECT_NEAR(sum, expected, 0.05 * expected) << k;
  }
}

// Whole, or as the beginning of more: a draw depends on its number.
TEST(Sketches, DrawsDependOnTheirNumber) {
  const BlasThreads one_blas_thread(1);
  const Matrix<double> p = random_markov(9);
  const RandomKey key = random_key(0, "w");
  for (const SketchVectors& vectors :
       {gaussian_vectors(9, key), mean_free_vectors(9, key), combined_columns(drawn("columns", 9, 30), key)}) {
    const auto many = draw_sketches(p, vectors, 150, random_key(0, "n"));
    const auto few = draw_sketches(p, vectors, 70, random_key(0, "n"));
    for (std::size_t i = 0; i < few.size(); ++i) {
      EXPECT_NEAR(few[i].noise2, many[i].noise2, 1e-12 * many[i].noise2);
      EXPECT_NEAR(few[i].weight2, many[i].weight2, 1e-12 * many[i].weight2);
      EXPECT_EQ(few[i].uniform, many[i].uniform);
    }
  }
}

// Draws that shared a w would fail together, and the interval of their rate would be too narrow.
TEST(Sketches, EveryDrawHasItsOwnVector) {
  const BlasThreads one_blas_thread(1);
  const RandomKey key = random_key(0, "w");
  const Matrix<double> gaussian = gaussian_vectors(9, key)(0, 500);
  std::set<double> entries(gaussian.data(), gaussian.data() + gaussian.size());
  EXPECT_GT(entries.size(), 4490U);  // of 4,500: floats rarely coincide
  EXPECT_LE(mean_free_vectors(9, key)(0, 500).rowwise().sum().cwiseAbs().maxCoeff(), 1e-13);
  const Matrix<double> combined = combined_columns(drawn("columns", 9, 2), key)(0, 500);
  std::set<double> first(combined.data(), combined.data() + combined.rows());
  EXPECT_GT(first.size(), 490U);
  const std::vector<double> values = jacobi_singular_values(combined);
  EXPECT_EQ(std::count_if(values.begin(), values.end(), [&](double v) { return v > 1e-9 * values[0]; }), 2);
}

TEST(Sketches, FailuresAreCounted) {
  // Errors of sqrt(1 / k) in relation to |P w| = 1 and |P|_F |w| = 2, but for c, whose median is near 1.
  std::vector<SketchDraw> draws(100);
  for (std::size_t i = 0; i < draws.size(); ++i) {
    draws[i] = {.output2 = 1, .cross = 0, .noise2 = 1, .weight2 = 1, .frobenius2 = 4, .uniform = 0.5};
  }
  for (std::size_t i = 0; i < 5; ++i) draws[i].noise2 = 1e9;
  EXPECT_EQ(failure_rate(draws, SketchClaim::kRelative, 0.5, 1).rate, 1);
  const FailureRate rate = failure_rate(draws, SketchClaim::kRelative, 0.5, 100);
  EXPECT_EQ(rate.rate, 0.05);
  EXPECT_EQ(rate.n, 100);
  EXPECT_NEAR(rate.low, 0.01643, 1e-5);  // R: binom.test(5, 100)
  EXPECT_NEAR(rate.high, 0.11283, 1e-5);
  const auto relative = smallest_k(draws, SketchClaim::kRelative, 0.5, 0.05, 1000);
  const auto norms = smallest_k(draws, SketchClaim::kNorms, 0.5, 0.05, 1000);
  ASSERT_TRUE(relative && norms);
  EXPECT_GT(failure_rate(draws, SketchClaim::kRelative, 0.5, *relative - 1).rate, 0.05);
  EXPECT_LE(failure_rate(draws, SketchClaim::kRelative, 0.5, *relative).rate, 0.05);
  EXPECT_GT(*relative, *norms);
  EXPECT_FALSE(smallest_k(draws, SketchClaim::kRelative, 0.5, 0.04, 1000));
  EXPECT_EQ(failure_rate({}, SketchClaim::kNorms, 0.5, 3).n, 0);
}

// math.md 5: k exceeds n below n = 215 at eps = 0.5, below about 4,700 at eps = 0.1.
TEST(Sketches, ClaimedKIsThatOfTheTheorem) {
  EXPECT_EQ(claimed_k(512, 0.5), 250);
  EXPECT_GE(claimed_k(214, 0.5), 214);
  EXPECT_LT(claimed_k(217, 0.5), 217);
  EXPECT_GE(claimed_k(4690, 0.1), 4690);
  EXPECT_LT(claimed_k(4710, 0.1), 4710);
  EXPECT_EQ(claimed_k(1, 0.5), 0);
}

}  // namespace
}  // namespace rankfall
