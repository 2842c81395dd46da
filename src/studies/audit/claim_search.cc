#include "studies/audit/claim_search.h"

#include <algorithm>
#include <cmath>

#include "studies/normals.h"

namespace rankfall {
namespace {

// What is maximised: the logarithm of left / right; nothing where the claim does not apply.
double score(const AlgebraClaim& claim, const Matrices& m) {
  if (claim.is_worth && !claim.is_worth(m)) return -INFINITY;
  const Sides sides = claim.sides(m);
  if (!sides.applies || !(sides.left > 0) || !(sides.right > 0)) return -INFINITY;
  const double value = std::log(sides.left) - std::log(sides.right);
  return std::isfinite(value) ? value : -INFINITY;
}

}  // namespace

Found search(const AlgebraClaim& claim, const SearchOptions& options) {
  Normals normals(options.seed, "search " + claim.name);
  Found found{{}, -INFINITY, 0};
  const auto draw = [&] {
    Matrices m;
    for (const Shape& shape : claim.shapes(options.n, options.d)) {
      const double size = std::exp(1.5 * normals.next() - 1);
      Matrix<double>& drawn = m[shape.name];
      drawn.resize(shape.rows, shape.cols);
      for (Index i = 0; i < drawn.size(); ++i) drawn.data()[i] = size * normals.next();
    }
    return m;
  };
  while (found.n_trials < options.n_trials) {
    Matrices best = found.n_trials == 0 && !options.start.empty() ? options.start : draw();
    double value = score(claim, best);
    ++found.n_trials;
    double step = 0.5;
    // Steps grow when they succeed and shrink when they fail, until they are too small to matter.
    while (step > 1e-7 && found.n_trials < options.n_trials) {
      Matrices next = best;
      for (auto& [name, m] : next) {
        const double common = std::exp(step * normals.next());
        for (Index i = 0; i < m.size(); ++i) {
          m.data()[i] = common * m.data()[i] + step * normals.next() * (std::abs(m.data()[i]) + 0.01);
        }
      }
      const double there = score(claim, next);
      ++found.n_trials;
      if (there > value) {
        best = std::move(next);
        value = there;
        step = std::min(2.0, 1.6 * step);
      } else {
        step *= 0.93;
      }
    }
    if (value > found.log_ratio) {
      found.log_ratio = value;
      found.best = std::move(best);
    }
  }
  return found;
}

}  // namespace rankfall
