#include "studies/lowrank/sketches.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>

#include "base/dcheck.h"
#include "linalg/gemm.h"

namespace rankfall {
namespace {

using Column = Eigen::VectorXd;

bool fails(const SketchDraw& draw, SketchClaim claim, double eps, Index k) {
  const double allowed2 = claim == SketchClaim::kRelative ? draw.output2 : draw.frobenius2 * draw.weight2;
  return sketch_error2(draw, k) > eps * eps * allowed2;
}

Index n_failures(std::span<const SketchDraw> draws, SketchClaim claim, double eps, Index k) {
  return std::ranges::count_if(draws, [&](const SketchDraw& draw) { return fails(draw, claim, eps, k); });
}

// Rows first .. first + count - 1 of a matrix of n columns with entries N(0, 1).
Matrix<double> normal_rows(RandomKey key, Index first, Index count, Index n) {
  Matrix<float> rows(count, n);
  fill_normal(key, first * n, std::span(rows.data(), static_cast<std::size_t>(rows.size())), 1);
  return rows.cast<double>();
}

}  // namespace

std::vector<SketchDraw> draw_sketches(const MatrixRef<double>& p, const SketchVectors& vectors, Index n_draws,
                                      RandomKey key) {
  const Index n = p.cols();
  constexpr Index kTogether = 64;  // draws that go through P in one product
  const double frobenius2 = p.squaredNorm();
  std::vector<std::uint32_t> words(static_cast<std::size_t>(n_draws));
  fill_bits(RandomKey{key.value + 1}, 0, words);

  std::vector<SketchDraw> draws;
  draws.reserve(words.size());
  for (Index first = 0; first < n_draws; first += kTogether) {
    const Index count = std::min(kTogether, n_draws - first);
    const Matrix<double> w = vectors(first, count);
    RANKFALL_DCHECK(w.rows() == count && w.cols() == n);
    const Matrix<double> g = normal_rows(key, first, count, n);
    const Matrix<double> pw = product<double>(false, true, p, w);
    const Matrix<double> pg = product<double>(false, true, p, g);
    for (Index t = 0; t < count; ++t) {
      const Column output = pw.col(t);
      SketchDraw draw;
      draw.weight2 = w.row(t).squaredNorm();
      // g less its part along w, which P takes to a multiple of P w.
      const double along = draw.weight2 > 0 ? w.row(t).dot(g.row(t)) / draw.weight2 : 0;
      const Column noise = pg.col(t) - along * output;
      draw.output2 = output.squaredNorm();
      draw.cross = output.dot(noise);
      draw.noise2 = noise.squaredNorm();
      draw.frobenius2 = frobenius2;
      draw.uniform = (static_cast<double>(words[draws.size()]) + 0.5) * 0x1p-32;
      draws.push_back(draw);
    }
  }
  return draws;
}

SketchVectors gaussian_vectors(Index n, RandomKey key) {
  return [n, key](Index first, Index count) { return normal_rows(key, first, count, n); };
}

SketchVectors mean_free_vectors(Index n, RandomKey key) {
  return [n, key](Index first, Index count) {
    Matrix<double> w = normal_rows(key, first, count, n);
    w.colwise() -= w.rowwise().mean().eval();
    return w;
  };
}

SketchVectors combined_columns(Matrix<double> m, RandomKey key) {
  return [m = std::move(m), key](Index first, Index count) {
    return product<double>(false, true, normal_rows(key, first, count, m.cols()), m);
  };
}

double sketch_error2(const SketchDraw& draw, Index k) {
  const auto rows = static_cast<double>(k);
  const double c = boost::math::quantile(boost::math::chi_squared(rows), draw.uniform) / rows;
  const double along = c - 1;
  const double across = std::sqrt(draw.weight2 * c / rows);
  return along * along * draw.output2 + 2 * along * across * draw.cross + across * across * draw.noise2;
}

FailureRate failure_rate(std::span<const SketchDraw> draws, SketchClaim claim, double eps, Index k) {
  FailureRate out;
  out.n = std::ssize(draws);
  if (out.n == 0) return out;
  using Binomial = boost::math::binomial_distribution<>;
  const auto trials = static_cast<double>(out.n);
  const auto failures = static_cast<double>(n_failures(draws, claim, eps, k));
  out.rate = failures / trials;
  out.low = Binomial::find_lower_bound_on_p(trials, failures, 0.025);
  out.high = Binomial::find_upper_bound_on_p(trials, failures, 0.025);
  return out;
}

std::optional<Index> smallest_k(std::span<const SketchDraw> draws, SketchClaim claim, double eps, double failure,
                                Index most) {
  const double allowed = failure * static_cast<double>(draws.size());
  const auto suffices = [&](Index k) { return static_cast<double>(n_failures(draws, claim, eps, k)) <= allowed; };
  Index high = 1;  // doubled until it suffices
  while (high < most && !suffices(high)) high = std::min(most, 2 * high);
  if (!suffices(high)) return std::nullopt;
  Index low = high / 2;  // does not suffice, or is 0
  while (high - low > 1) {
    const Index middle = low + (high - low) / 2;
    (suffices(middle) ? high : low) = middle;
  }
  return high;
}

Index claimed_k(Index n, double eps) {
  return static_cast<Index>(std::ceil(5 * std::log(static_cast<double>(n)) / (eps * eps - eps * eps * eps)));
}

}  // namespace rankfall
