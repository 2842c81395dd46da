#include "studies/audit/algebra_claims.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/eigen.hpp>
#include <fmt/format.h>

#include "base/errors.h"
#include "base/mapped.h"
#include "studies/audit/audit_claims.h"
#include "studies/normals.h"

namespace rankfall {
namespace {

using Many = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<100>, boost::multiprecision::et_off>;

template <class T>
struct SidesOf {
  T left, right;
  bool applies = true;
};

template <class T>
Matrix<T> take(const Matrices& m, std::string_view name) {
  return m.find(name)->second.template cast<T>();
}

template <class T>
T norm_one(const Matrix<T>& m) {
  T largest = T(0);
  for (Index j = 0; j < m.cols(); ++j) {
    T sum = T(0);
    for (Index i = 0; i < m.rows(); ++i) sum += m(i, j) < T(0) ? T(-m(i, j)) : m(i, j);
    if (sum > largest) largest = sum;
  }
  return largest;
}
template <class T>
T norm_inf(const Matrix<T>& m) {
  return norm_one<T>(Matrix<T>(m.transpose()));
}
template <class T>
T composite(const Matrix<T>& m) {
  using std::sqrt;
  return sqrt(T(norm_one<T>(m) * norm_inf<T>(m)));
}

// Rows of z, each less its largest entry first.
template <class T>
Matrix<T> softmax(Matrix<T> z) {
  using std::exp;
  for (Index i = 0; i < z.rows(); ++i) {
    const T largest = z.row(i).maxCoeff();
    T sum = T(0);
    for (Index j = 0; j < z.cols(); ++j) {
      z(i, j) = exp(T(z(i, j) - largest));
      sum += z(i, j);
    }
    for (Index j = 0; j < z.cols(); ++j) z(i, j) /= sum;
  }
  return z;
}

// max_j - min_j of each row.
template <class T>
std::vector<T> ranges(const Matrix<T>& e) {
  std::vector<T> out;
  for (Index i = 0; i < e.rows(); ++i) {
    out.push_back(e.row(i).maxCoeff() - e.row(i).minCoeff());
  }
  return out;
}

// The range in which e^x <= 1 + 2x: its end is 1.2564312..., irrational, so a number just below it stands for it in
// every precision.
template <class T>
bool within(const std::vector<T>& r) {
  return std::ranges::all_of(r, [](const T& value) { return value <= T(1.25643); });
}

double expm1_of(double x) { return std::expm1(x); }
Many expm1_of(const Many& x) { return exp(x) - 1; }

// One head on X: the residual of its output about its own reference, and the ranges of its logits.
template <class T>
struct HeadResidual {
  Matrix<T> m;
  std::vector<T> range;
};
template <class T>
Matrix<T> centred(const Matrix<T>& x) {
  Matrix<T> r = x;
  for (Index j = 0; j < x.cols(); ++j) {
    T mean = T(0);
    for (Index i = 0; i < x.rows(); ++i) mean += x(i, j) / T(static_cast<double>(x.rows()));
    for (Index i = 0; i < x.rows(); ++i) r(i, j) -= mean;
  }
  return r;
}
template <class T>
HeadResidual<T> head(const Matrix<T>& x, const Matrix<T>& qk, const Matrix<T>& w) {
  using std::sqrt;
  const Matrix<T> r = centred<T>(x);
  const T root = sqrt(T(static_cast<double>(x.cols())));
  const Matrix<T> e = r * qk * r.transpose() / root;
  const Matrix<T> mean = x.row(0) - r.row(0);
  const Matrix<T> shared = mean * qk * r.transpose() / root;
  const Matrix<T> q = softmax<T>(shared);
  // D = P - 1 q^T without the difference, or a search in double would find its rounding.
  Matrix<T> d = e;
  for (Index i = 0; i < d.rows(); ++i) {
    T m = T(0);
    for (Index j = 0; j < d.cols(); ++j) {
      d(i, j) = expm1_of(e(i, j));
      m += q(0, j) * d(i, j);
    }
    for (Index j = 0; j < d.cols(); ++j) d(i, j) = q(0, j) * (d(i, j) - m) / (T(1) + m);
  }
  return {d * r * w, ranges<T>(e)};
}

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

template <class T>
SidesOf<T> theorem_2_2(const Matrices& m) {
  using std::sqrt;
  const Matrix<T> x = take<T>(m, "X");
  const Matrix<T> qk = take<T>(m, "QK");
  const Matrix<T> w = take<T>(m, "W");
  const HeadResidual<T> h = head<T>(x, qk, w);
  const T r = composite<T>(centred<T>(x));
  const T root = sqrt(T(static_cast<double>(x.cols())));
  return {composite<T>(h.m), T(4) / root * norm_one<T>(qk) * composite<T>(w) * r * r * r, within<T>(h.range)};
}

template <class T>
SidesOf<T> theorem_2_3(const Matrices& m) {
  using std::sqrt;
  const Matrix<T> x = take<T>(m, "X");
  const HeadResidual<T> a = head<T>(x, take<T>(m, "QK1"), take<T>(m, "W1"));
  const HeadResidual<T> b = head<T>(x, take<T>(m, "QK2"), take<T>(m, "W2"));
  const T r = composite<T>(centred<T>(x));
  const T root = sqrt(T(static_cast<double>(x.cols())));
  const T beta = std::max<T>(norm_one<T>(take<T>(m, "QK1")) * composite<T>(take<T>(m, "W1")),
                             norm_one<T>(take<T>(m, "QK2")) * composite<T>(take<T>(m, "W2")));
  return {composite<T>(Matrix<T>(a.m + b.m)), T(8) / root * beta * r * r * r, within<T>(a.range) && within<T>(b.range)};
}

template <class T>
SidesOf<T> heads_add(const Matrices& m) {
  const Matrix<T> x = take<T>(m, "X");
  const HeadResidual<T> a = head<T>(x, take<T>(m, "QK1"), take<T>(m, "W1"));
  const HeadResidual<T> b = head<T>(x, take<T>(m, "QK2"), take<T>(m, "W2"));
  return {composite<T>(Matrix<T>(a.m + b.m)), composite<T>(a.m) + composite<T>(b.m),
          within<T>(a.range) && within<T>(b.range)};
}

template <SidesOf<double> (*f)(const Matrices&)>
Sides plainly(const Matrices& m) {
  const SidesOf<double> sides = f(m);
  return {sides.left, sides.right, sides.applies, sides.left > sides.right};
}
Sides rounded(const SidesOf<Many>& sides) {
  // Equal sides differ by the rounding of a hundred digits.
  const bool greater = sides.left > sides.right * (1 + Many("1e-90"));
  return {sides.left.convert_to<double>(), sides.right.convert_to<double>(), sides.applies, greater};
}
template <SidesOf<Many> (*f)(const Matrices&)>
Sides exactly(const Matrices& m) {
  return rounded(f(m));
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
                 true, plainly<softmax_perturbation<double>>, exactly<softmax_perturbation<Many>>, a_row,
                 has_some_range},
    AlgebraClaim{"softmax_perturbation_any",
                 "softmax(A+E) lies between (1 - range E) and (1 + 2 range E) times softmax(A), for every E", false,
                 plainly<softmax_perturbation_any<double>>, exactly<softmax_perturbation_any<Many>>, a_row,
                 has_some_range},
    AlgebraClaim{"entrywise_step", "P R <= (I + 2D) 1 q^T R entry by entry, for R of any sign", false,
                 plainly<entrywise_step<double>>, exactly<entrywise_step<Many>>, the_step},
    AlgebraClaim{"theorem_2_2", "one head: |SA(X) - 1 q^T X W| <= (4 beta / sqrt d) |X - mean|^3, for ranges <= 1.2564",
                 true, plainly<theorem_2_2<double>>, exactly<theorem_2_2<Many>>, one_head},
    AlgebraClaim{"theorem_2_3",
                 "two heads: |SA(X) - 1 sum_h q_h^T X W_h| <= (4 beta H / sqrt d) |X - mean|^3, for ranges <= 1.2564",
                 false, plainly<theorem_2_3<double>>, exactly<theorem_2_3<Many>>, two_heads},
    AlgebraClaim{"heads_add", "residuals of two heads, each about its own 1 q_h^T X W_h, add: |M1 + M2| <= |M1| + |M2|",
                 false, plainly<heads_add<double>>, exactly<heads_add<Many>>, two_heads},
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

Sides rank_one_heads(Index d) {
  const Many root = sqrt(Many(static_cast<double>(d)));
  const Many r("1e-12");
  Matrix<Many> x(2, 1), qk(1, 1), one(1, 1);
  x << r, -r;
  qk << 1 / root;  // head() divides by the root of the width it sees, which is 1 here
  one << Many(1);
  const HeadResidual<Many> h = head<Many>(x, qk, one);
  // M = v u^T, v what a head of W = e_1 e_1^T gives, u = e_1 + 1 / sqrt d.
  const Many largest_entry = 1 + 1 / root;
  const Many sum = 1 + root;
  const Many left = sqrt(norm_one<Many>(h.m) * largest_entry * norm_inf<Many>(h.m) * sum);
  const Many residual = composite<Many>(x);
  const Many right = 8 / root * residual * residual * residual;
  return rounded({left, right, within<Many>(h.range)});
}

Matrices rank_one_matrices(Index d) {
  Matrices m = {{"X", Matrix<double>::Zero(2, d)},
                {"QK1", Matrix<double>::Zero(d, d)},
                {"W1", Matrix<double>::Zero(d, d)},
                {"W2", Matrix<double>::Zero(d, d)}};
  m["X"].col(0) << 1e-4, -1e-4;
  m["QK1"](0, 0) = m["W1"](0, 0) = 1;
  m["QK2"] = m["QK1"];
  m["W2"].row(0).setConstant(1 / std::sqrt(static_cast<double>(d)));
  return m;
}

std::span<const AlgebraClaim> algebra_claims() { return kClaims; }

const AlgebraClaim* algebra_claim(std::string_view name) {
  const auto found = std::ranges::find(kClaims, name, &AlgebraClaim::name);
  return found == kClaims.end() ? nullptr : &*found;
}

void check_witness(const Witness& witness, std::string_view where) {
  const AlgebraClaim* claim = algebra_claim(witness.claim);
  if (!claim) {
    const auto names = mapped<std::string>(kClaims, &AlgebraClaim::name);
    throw input_error("{}: a witness of '{}', expected one of {}", where, witness.claim, fmt::join(names, ", "));
  }
  // n and d from the first matrix.
  const Shape first = claim->shapes(2, 3)[0];
  const auto found = witness.matrices.find(first.name);
  if (found == witness.matrices.end()) throw input_error("{}: no matrix '{}'", where, first.name);
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
