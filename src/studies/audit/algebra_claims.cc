#include "studies/audit/algebra_claims.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/errors.h"
#include "base/mapped.h"
#include "studies/audit/algebra.h"
#include "studies/audit/audit_claims.h"
#include "studies/audit/later_claims.h"
#include "studies/normals.h"

namespace rankfall {
namespace {

// Of the tokens of rank_one_heads: small enough for the limit to be met to 10^-12 and more.
constexpr double kSmallResidual = 1e-4;

template <class T>
SidesOf<T> composite_submultiplicative(const Matrices& m) {
  const Matrix<T> a = take<T>(m, "A");
  const Matrix<T> b = take<T>(m, "B");
  return {composite<T>(Matrix<T>(a * b)), composite<T>(a) * composite<T>(b)};
}

template <class T>
SidesOf<T> composite_triangle(const Matrices& m) {
  const Matrix<T> a = take<T>(m, "A");
  const Matrix<T> b = take<T>(m, "B");
  return {composite<T>(Matrix<T>(a + b)), composite<T>(a) + composite<T>(b)};
}

// left / right is the larger of softmax(A+E)/softmax(A) over 1 + 2 range, and of (1 - range) over it.
template <class T>
SidesOf<T> softmax_perturbation_any(const Matrices& m) {
  const Matrix<T> a = take<T>(m, "A");
  const Matrix<T> e = take<T>(m, "E");
  using std::exp;
  const Matrix<T> before = softmax<T>(a);
  const T range = ranges<T>(e)[0];
  // softmax(A+E)_j / softmax(A)_j = e^E_j / sum_k softmax(A)_k e^E_k: entries of softmax may be too small for a
  // quotient.
  T sum = T(0);
  for (Index k = 0; k < a.cols(); ++k) sum += before(0, k) * exp(T(e(0, k) - e(0, 0)));
  T worst = T(0);
  for (Index j = 0; j < a.cols(); ++j) {
    const T change = exp(T(e(0, j) - e(0, 0))) / sum;
    worst = std::max<T>(worst, change / (T(1) + T(2) * range));
    worst = std::max<T>(worst, (T(1) - range) / change);
  }
  return {worst, T(1)};
}
template <class T>
SidesOf<T> softmax_perturbation(const Matrices& m) {
  SidesOf<T> sides = softmax_perturbation_any<T>(m);
  sides.applies = within<T>(ranges<T>(take<T>(m, "E")));
  return sides;
}

// 1 + the largest excess of P R over (I + 2D) 1 q^T R, in units of the largest entry of R.
template <class T>
SidesOf<T> entrywise_step(const Matrices& m) {
  const Matrix<T> r = take<T>(m, "R");
  const Matrix<T> e = take<T>(m, "E");
  const Matrix<T> shared = take<T>(m, "r");
  const Matrix<T> p = softmax<T>(e.rowwise() + RowVector<T>(shared));
  const Matrix<T> q = softmax<T>(shared);
  const std::vector<T> range = ranges<T>(e);
  const Matrix<T> left = p * r;
  const Matrix<T> right = q * r;
  const T size = std::max<T>(r.maxCoeff(), -r.minCoeff());
  T excess = T(-1);
  for (Index i = 0; i < left.rows(); ++i) {
    for (Index j = 0; j < left.cols(); ++j) {
      const T bound = (T(1) + T(2) * range[static_cast<std::size_t>(i)]) * right(0, j);
      if (size > T(0)) excess = std::max<T>(excess, (left(i, j) - bound) / size);
    }
  }
  return {T(1) + excess, T(1), within<T>(range)};
}

// |W_QK|_1 |W|, of one head.
template <class T>
T beta_of(const Matrix<T>& qk, const Matrix<T>& w, const GroupSizes<T>& sizes) {
  return norm_one<T>(qk, sizes) * composite<T>(w, sizes, sizes);
}
// beta times |res X|^3 / sqrt d.
template <class T>
T cubed(const Matrix<T>& x, const T& beta, const GroupSizes<T>& sizes) {
  using std::sqrt;
  const T r = composite<T>(centred<T>(x), {}, sizes);
  return beta * r * r * r / sqrt(n_channels<T>(x, sizes));
}

template <class T>
SidesOf<T> theorem_2_2(const Matrices& m, std::span<const Index> channels) {
  const GroupSizes<T> sizes = sizes_of<T>(channels);
  const Matrix<T> x = take<T>(m, "X");
  const Matrix<T> qk = take<T>(m, "QK");
  const Matrix<T> w = take<T>(m, "W");
  const HeadResidual<T> h = head<T>(x, qk, w, sizes);
  return {composite<T>(h.m, {}, sizes), T(4) * cubed<T>(x, beta_of<T>(qk, w, sizes), sizes), within<T>(h.range)};
}

template <class T>
SidesOf<T> theorem_2_3(const Matrices& m, std::span<const Index> channels) {
  const GroupSizes<T> sizes = sizes_of<T>(channels);
  const Matrix<T> x = take<T>(m, "X");
  const Matrix<T> qk1 = take<T>(m, "QK1");
  const Matrix<T> qk2 = take<T>(m, "QK2");
  const Matrix<T> w1 = take<T>(m, "W1");
  const Matrix<T> w2 = take<T>(m, "W2");
  const HeadResidual<T> a = head<T>(x, qk1, w1, sizes);
  const HeadResidual<T> b = head<T>(x, qk2, w2, sizes);
  const T beta = std::max<T>(beta_of<T>(qk1, w1, sizes), beta_of<T>(qk2, w2, sizes));
  return {composite<T>(Matrix<T>(a.m + b.m), {}, sizes), T(8) * cubed<T>(x, beta, sizes),
          within<T>(a.range) && within<T>(b.range)};
}

template <class T>
SidesOf<T> heads_add(const Matrices& m, std::span<const Index> channels) {
  const GroupSizes<T> sizes = sizes_of<T>(channels);
  const Matrix<T> x = take<T>(m, "X");
  const HeadResidual<T> a = head<T>(x, take<T>(m, "QK1"), take<T>(m, "W1"), sizes);
  const HeadResidual<T> b = head<T>(x, take<T>(m, "QK2"), take<T>(m, "W2"), sizes);
  return {composite<T>(Matrix<T>(a.m + b.m), {}, sizes), composite<T>(a.m, {}, sizes) + composite<T>(b.m, {}, sizes),
          within<T>(a.range) && within<T>(b.range)};
}

std::vector<Shape> two_matrices(Index n, Index d) { return {{"A", n, d}, {"B", n, d}}; }
std::vector<Shape> two_factors(Index n, Index d) { return {{"A", n, d}, {"B", d, n}}; }
std::vector<Shape> a_row(Index n, Index /*d*/) { return {{"A", 1, n}, {"E", 1, n}}; }
std::vector<Shape> the_step(Index n, Index d) { return {{"R", n, d}, {"E", n, n}, {"r", 1, n}}; }
std::vector<Shape> one_head(Index n, Index d) { return {{"X", n, d}, {"QK", d, d}, {"W", d, d}}; }
std::vector<Shape> two_heads(Index n, Index d) {
  return {{"X", n, d}, {"QK1", d, d}, {"QK2", d, d}, {"W1", d, d}, {"W2", d, d}};
}

// At range zero both sides are equal and nothing is shown; far beyond the condition e^range beats 1 + 2 range by as
// much as one likes.
bool has_some_range(const Matrices& m) {
  const double range = ranges<double>(take<double>(m, "E"))[0];
  return range >= 0.5 && range <= 2;
}

const std::array kClaims = {
    AlgebraClaim{"composite_submultiplicative", "the composite norm is submultiplicative: |AB| <= |A| |B|", true,
                 plainly<composite_submultiplicative<double>>, exactly<composite_submultiplicative<Many>>, two_factors},
    AlgebraClaim{"composite_triangle", "the composite norm obeys the triangle inequality: |A+B| <= |A| + |B|", false,
                 plainly<composite_triangle<double>>, exactly<composite_triangle<Many>>, two_matrices},
    AlgebraClaim{"softmax_perturbation",
                 "softmax(A+E) lies between (1 - range E) and (1 + 2 range E) times softmax(A), for range E <= 1.2564",
                 true, plainly<softmax_perturbation<double>>, exactly<softmax_perturbation<Many>>, a_row, nullptr,
                 has_some_range},
    AlgebraClaim{"softmax_perturbation_any",
                 "softmax(A+E) lies between (1 - range E) and (1 + 2 range E) times softmax(A), for every E", false,
                 plainly<softmax_perturbation_any<double>>, exactly<softmax_perturbation_any<Many>>, a_row, nullptr,
                 has_some_range},
    AlgebraClaim{"entrywise_step", "P R <= (I + 2D) 1 q^T R entry by entry, for R of any sign", false,
                 plainly<entrywise_step<double>>, exactly<entrywise_step<Many>>, the_step},
    AlgebraClaim{"theorem_2_2", "one head: |SA(X) - 1 q^T X W| <= (4 beta / sqrt d) |X - mean|^3, for ranges <= 1.2564",
                 true, plainly<theorem_2_2<double>>, exactly<theorem_2_2<Many>>, one_head,
                 exactly_in_groups<theorem_2_2<Many>>},
    AlgebraClaim{"theorem_2_3",
                 "two heads: |SA(X) - 1 sum_h q_h^T X W_h| <= (4 beta H / sqrt d) |X - mean|^3, for ranges <= 1.2564",
                 false, plainly<theorem_2_3<double>>, exactly<theorem_2_3<Many>>, two_heads,
                 exactly_in_groups<theorem_2_3<Many>>},
    AlgebraClaim{"heads_add", "residuals of two heads, each about its own 1 q_h^T X W_h, add: |M1 + M2| <= |M1| + |M2|",
                 false, plainly<heads_add<double>>, exactly<heads_add<Many>>, two_heads,
                 exactly_in_groups<heads_add<Many>>},
};

}  // namespace

double largest_shift_difference(std::uint64_t seed, Index n_trials) {
  Normals normals(seed, "shift");
  Many largest = 0;
  for (Index t = 0; t < n_trials; ++t) {
    Matrix<Many> z(1, 5);
    for (Index j = 0; j < 5; ++j) z(0, j) = 10 * normals.next();
    const Many c = 100 * normals.next();
    Matrix<Many> shifted = z;
    for (Index j = 0; j < 5; ++j) shifted(0, j) += c;
    const Matrix<Many> difference = softmax<Many>(shifted) - softmax<Many>(z);
    largest = std::max<Many>(largest, norm_inf<Many>(difference));
  }
  return largest.convert_to<double>();
}

double largest_row_sum_error(std::uint64_t seed, Index n_trials) {
  Normals normals(seed, "product");
  Many largest = 0;
  for (Index t = 0; t < n_trials; ++t) {
    const auto draw = [&] {
      Matrix<Many> z(4, 4);
      for (Index i = 0; i < z.size(); ++i) z.data()[i] = 3 * normals.next();
      return softmax<Many>(z);
    };
    const Matrix<Many> product = draw() * draw();
    for (Index i = 0; i < 4; ++i) {
      Many sum = -1;
      for (Index j = 0; j < 4; ++j) sum += product(i, j);
      largest = std::max<Many>(largest, sum < 0 ? Many(-sum) : sum);
    }
  }
  return largest.convert_to<double>();
}

Sides exact_sides(const Witness& witness) {
  const AlgebraClaim& claim = *algebra_claim(witness.claim);
  return witness.channels.empty() ? claim.sides_exactly(witness.matrices)
                                  : claim.sides_of_groups(witness.matrices, witness.channels);
}

Witness rank_one_heads(Index d) {
  const auto entry = [](double at) {
    Matrix<double> m = Matrix<double>::Zero(2, 2);
    m(0, 0) = at;
    return m;
  };
  Witness out{"theorem_2_3", {{"X", entry(kSmallResidual)}}, {1, d - 1}};
  out.matrices["X"](1, 0) = -kSmallResidual;
  out.matrices["QK1"] = out.matrices["QK2"] = out.matrices["W1"] = entry(1);
  out.matrices["W2"] = entry(1 / std::sqrt(static_cast<double>(d)));
  out.matrices["W2"](0, 1) = out.matrices["W2"](0, 0);
  return out;
}

Matrices rank_one_matrices(Index d) {
  const Matrices groups = rank_one_heads(d).matrices;
  Matrices m;
  for (const auto& [name, entries] : groups) {
    Matrix<double>& formed = m[name] = Matrix<double>::Zero(name == "X" ? 2 : d, d);
    const Index rows = name == "X" ? 2 : 1;  // all others are zero
    formed.leftCols(1).topRows(rows) = entries.leftCols(1).topRows(rows);
    formed.rightCols(d - 1).topRows(rows) = entries.rightCols(1).topRows(rows).replicate(1, d - 1);
  }
  return m;
}

std::span<const AlgebraClaim> algebra_claims() {
  static const std::vector<AlgebraClaim> all = [] {
    std::vector<AlgebraClaim> claims(kClaims.begin(), kClaims.end());
    claims.insert(claims.end(), later_claims().begin(), later_claims().end());
    return claims;
  }();
  return all;
}

const AlgebraClaim* algebra_claim(std::string_view name) {
  const std::span<const AlgebraClaim> all = algebra_claims();
  const auto found = std::ranges::find(all, name, &AlgebraClaim::name);
  return found == all.end() ? nullptr : &*found;
}

void check_witness(const Witness& witness, std::string_view where) {
  const AlgebraClaim* claim = algebra_claim(witness.claim);
  if (!claim) {
    const auto names = mapped<std::string>(algebra_claims(), &AlgebraClaim::name);
    throw input_error("{}: a witness of '{}', expected one of {}", where, witness.claim, fmt::join(names, ", "));
  }
  // n and d from the first matrix.
  const Shape first = claim->shapes(2, 3)[0];
  const auto found = witness.matrices.find(first.name);
  if (found == witness.matrices.end()) throw input_error("{}: no matrix '{}'", where, first.name);
  if (!witness.channels.empty()) {
    if (!claim->sides_of_groups) throw input_error("{}: '{}' is not about channels in groups", where, claim->name);
    if (std::ssize(witness.channels) != found->second.cols()) {
      throw input_error("{}: {} groups of channels, but matrix '{}' has {} columns", where, witness.channels.size(),
                        first.name, found->second.cols());
    }
  }
  const Index n = first.rows == 2 ? found->second.rows() : found->second.cols();
  const Index d = first.cols == 3 ? found->second.cols() : 1;
  for (const Shape& shape : claim->shapes(n, d)) {
    const auto m = witness.matrices.find(shape.name);
    if (m == witness.matrices.end()) throw input_error("{}: no matrix '{}'", where, shape.name);
    if (m->second.rows() != shape.rows || m->second.cols() != shape.cols) {
      throw input_error("{}: matrix '{}' is {} x {}, expected {} x {}", where, shape.name, m->second.rows(),
                        m->second.cols(), shape.rows, shape.cols);
    }
  }
}

}  // namespace rankfall
