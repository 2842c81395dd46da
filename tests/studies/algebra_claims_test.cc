#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "studies/audit/claim_search.h"
#include "studies/audit/later_claims.h"
#include <rankfall/error.h>

namespace rankfall {
namespace {

Matrix<double> matrix(Index rows, Index cols, std::initializer_list<double> values) {
  return Eigen::Map<const Matrix<double>>(values.begin(), rows, cols);
}

const AlgebraClaim& claim(const char* name) { return *algebra_claim(name); }

TEST(AlgebraClaims, TheCompositeNormIsNoNorm) {
  Witness witness{"composite_triangle", {{"A", matrix(2, 2, {1, 0, 1, 0})}, {"B", matrix(2, 2, {1, 1, 0, 0})}}};
  check_witness(witness, "test");
  const Sides sides = claim("composite_triangle").sides_exactly(witness.matrices);
  EXPECT_TRUE(sides.violated());
  EXPECT_DOUBLE_EQ(sides.left, 3);
  EXPECT_DOUBLE_EQ(sides.right, 2 * std::sqrt(2));
  // A first column of ones plus a first row of ones: (n + 1) / (2 sqrt n).
  for (const Index n : {2, 8, 50}) {
    Matrices m = {{"A", Matrix<double>::Zero(n, n)}, {"B", Matrix<double>::Zero(n, n)}};
    m["A"].col(0).setOnes();
    m["B"].row(0).setOnes();
    const Sides wide = claim("composite_triangle").sides(m);
    const auto size = static_cast<double>(n);
    EXPECT_NEAR(wide.left / wide.right, (size + 1) / (2 * std::sqrt(size)), 1e-12);
  }
}

TEST(AlgebraClaims, SoftmaxLemmaNeedsItsCondition) {
  const Matrices beyond = {{"A", matrix(1, 2, {0, -10})}, {"E", matrix(1, 2, {0, 2})}};
  EXPECT_TRUE(claim("softmax_perturbation_any").sides_exactly(beyond).violated());
  EXPECT_FALSE(claim("softmax_perturbation").sides_exactly(beyond).applies);
  const Matrices inside = {{"A", matrix(1, 2, {0, -10})}, {"E", matrix(1, 2, {0, 1.25})}};
  EXPECT_FALSE(claim("softmax_perturbation_any").sides_exactly(inside).violated());
}

TEST(AlgebraClaims, TheEntrywiseStepFailsWithMixedSigns) {
  const Matrices m = {
      {"R", matrix(2, 1, {1, -1})}, {"E", matrix(2, 2, {0.1, 0, 0, 0.1})}, {"r", matrix(1, 2, {0, 0.4})}};
  const Sides sides = claim("entrywise_step").sides_exactly(m);
  EXPECT_TRUE(sides.applies);
  EXPECT_TRUE(sides.violated());
}

// n = 2, d = 1, R = +-a: 1/8 in the limit.
TEST(AlgebraClaims, Theorem22ReachesAnEighth) {
  const Matrices m = {{"X", matrix(2, 1, {1e-5, -1e-5})}, {"QK", matrix(1, 1, {2})}, {"W", matrix(1, 1, {-3})}};
  const Sides sides = claim("theorem_2_2").sides_exactly(m);
  EXPECT_NEAR(sides.left / sides.right, 0.125, 1e-9);
  EXPECT_NEAR(claim("theorem_2_2").sides(m).left / sides.right, 0.125, 1e-9);
}

// Two heads of the same beta whose sum has a larger composite norm: (d^(1/4) + d^(-1/4)) / 16, above 1 from d = 64,514,
// since y + 1/y = 16 has y^4 + y^-4 = 64,514.
TEST(AlgebraClaims, Theorem23FailsForWideHeads) {
  for (const Index d : {4, 400, 64'513, 64'514, 65'536}) {
    const Sides sides = exact_sides(rank_one_heads(d));
    const double root = std::pow(static_cast<double>(d), 0.25);
    EXPECT_NEAR(sides.left / sides.right, (root + 1 / root) / 16, 1e-12) << d;
    EXPECT_TRUE(sides.applies);
    EXPECT_EQ(sides.violated(), d >= 64'514) << d;
  }
  // The same matrices, formed: in a hundred digits, and in double where they are large.
  for (const Index d : {4, 16}) {
    const Witness formed{"theorem_2_3", rank_one_matrices(d)};
    check_witness(formed, "test");
    const Sides sides = exact_sides(formed);
    const Sides known = exact_sides(rank_one_heads(d));
    EXPECT_NEAR(sides.left / known.left, 1, 1e-14) << d;
    EXPECT_NEAR(sides.right / known.right, 1, 1e-14) << d;
  }
  const Sides large = claim("theorem_2_3").sides(rank_one_matrices(400));
  EXPECT_NEAR(large.left / large.right, 0.2935, 5e-5);
}

// What groups of equal channels stand for: any matrices, written out.
TEST(AlgebraClaims, GroupsOfChannelsAreWhatTheyStandFor) {
  const std::vector<Index> channels = {2, 1, 3};
  const auto expanded = [&](const Matrix<double>& m, bool rows) {
    Matrix<double> out(rows ? 6 : m.rows(), 6);
    const auto group = [&](Index c) { return c < 2 ? 0 : c < 3 ? 1 : 2; };
    for (Index i = 0; i < out.rows(); ++i) {
      for (Index j = 0; j < 6; ++j) out(i, j) = m(rows ? group(i) : i, group(j));
    }
    return out;
  };
  for (const char* name : {"theorem_2_2", "theorem_2_3", "heads_add"}) {
    Matrices groups;
    Matrices formed;
    double next = 0.1;
    for (const Shape& shape : claim(name).shapes(4, 3)) {
      Matrix<double>& m = groups[shape.name] = Matrix<double>(shape.rows, shape.cols);
      for (Index i = 0; i < m.size(); ++i) m.data()[i] = 0.3 * std::sin(next += 1.3);
      formed[shape.name] = expanded(m, shape.name != "X");
    }
    const Witness witness{name, groups, channels};
    check_witness(witness, "test");
    const Sides short_form = exact_sides(witness);
    const Sides long_form = claim(name).sides_exactly(formed);
    EXPECT_NEAR(short_form.left / long_form.left, 1, 1e-14) << name;
    EXPECT_NEAR(short_form.right / long_form.right, 1, 1e-14) << name;
    EXPECT_EQ(short_form.applies, long_form.applies) << name;
  }
}

TEST(LaterClaims, LayerNormChangesTheAffineRankBothWays) {
  const Witness line = tokens_on_a_line();
  check_witness(line, "test");
  const Sides raised = exact_sides(line);
  EXPECT_EQ(raised.left, 2);
  EXPECT_EQ(raised.right, 1);
  EXPECT_TRUE(raised.violated());
  const Witness ray = tokens_on_a_ray();
  check_witness(ray, "test");
  const Sides lowered = exact_sides(ray);
  EXPECT_EQ(lowered.left, 1);
  EXPECT_EQ(lowered.right, 0);
  EXPECT_TRUE(lowered.violated());
  // A token without deviation over channels has no norm: nothing is claimed of it, whatever the rounding of its mean.
  const Matrices constant = {{"X", matrix(2, 3, {0.1, 0.1, 0.1, 1, 2, 4})}};
  EXPECT_FALSE(claim("affine_rank_not_raised").sides_exactly(constant).applies);
  EXPECT_FALSE(claim("affine_rank_not_raised").sides(constant).applies);
  // In general position tokens keep their rank as long as there are fewer of them than channels.
  const AffineRanks few = affine_ranks(matrix(3, 4, {1, 2, 3, 5, -1, 0, 4, 2, 3, 3, -2, 7}));
  EXPECT_EQ(few.before, 2);
  EXPECT_EQ(few.after, 2);
  const AffineRanks many = affine_ranks(matrix(4, 3, {1, 2, 5, -1, 0, 4, 3, 3, -2, 8, 1, 1}));
  EXPECT_EQ(many.before, 3);
  EXPECT_EQ(many.after, 2);
  EXPECT_EQ(affine_ranks(matrix(1, 3, {1, 2, 5})).before, 0);
}

TEST(LaterClaims, ResidualsDifferByUpToTwice) {
  const Matrices known = distant_residuals().matrices;
  const Sides plain = claim("residual_difference").sides_exactly(known);
  EXPECT_TRUE(plain.violated());
  EXPECT_DOUBLE_EQ(plain.left / plain.right, 4.0 / 3);
  const Sides sharp = claim("residual_difference_sharp").sides_exactly(known);
  EXPECT_FALSE(sharp.violated());  // equal sides
  EXPECT_DOUBLE_EQ(sharp.left, sharp.right);
  const Found found = search(claim("residual_difference_sharp"), {.n = 4, .d = 1, .n_trials = 8'000, .seed = 1});
  EXPECT_GT(found.log_ratio, -1e-3);
  EXPECT_LE(found.log_ratio, 1e-12);
}

// As recorded: W_V may cancel what the skip keeps.
TEST(LaterClaims, ASkipMayBeCancelled) {
  const Witness witness = cancelled_skip();
  check_witness(witness, "test");
  const Sides sides = exact_sides(witness);
  EXPECT_TRUE(sides.violated());
  // Two tokens (4, +-3) / 5; attention keeps them apart, so that (4, +-3/8) / 5 remains.
  const double length = std::sqrt(16 + 9.0 / 64);
  EXPECT_NEAR(sides.right, std::sqrt(2) * (3.0 / 8) / length, 1e-12);
  EXPECT_NEAR(sides.left, std::sqrt(2) * 0.6 / (1 + 0.875 * std::sqrt(2)), 1e-12);
  Matrices harmless = witness.matrices;
  harmless["C"](1, 1) = 0.875;
  EXPECT_FALSE(claim("lambda_skip").sides_exactly(harmless).violated());
}

TEST(AlgebraClaims, SearchFindsWhatIsKnown) {
  const auto best = [](const char* name, Index n, Index d, Index trials) {
    const Found found = search(claim(name), {.n = n, .d = d, .n_trials = trials, .seed = 1});
    EXPECT_EQ(found.n_trials, trials);
    const Sides again = claim(name).sides_exactly(found.best);
    EXPECT_NEAR(std::log(again.left / again.right), found.log_ratio, 1e-6) << name;
    return std::exp(found.log_ratio);
  };
  EXPECT_GT(best("composite_triangle", 2, 2, 20'000), 1.05);
  EXPECT_LE(best("composite_submultiplicative", 3, 2, 20'000), 1 + 1e-12);
  EXPECT_GT(best("composite_submultiplicative", 3, 2, 20'000), 0.99);
  EXPECT_LE(best("softmax_perturbation", 3, 1, 20'000), 1 + 1e-12);
  EXPECT_GT(best("softmax_perturbation_any", 3, 1, 20'000), 1.1);
  EXPECT_GT(best("entrywise_step", 2, 1, 20'000), 1.1);
  const double t22 = best("theorem_2_2", 2, 1, 20'000);
  EXPECT_GT(t22, 0.12);
  EXPECT_LE(t22, 0.1251);
  EXPECT_LT(best("theorem_2_3", 2, 2, 20'000), 1);
  // At random a search of 72 numbers gets half as far as from the known start.
  const Found heads =
      search(claim("theorem_2_3"), {.n = 2, .d = 4, .n_trials = 4'000, .seed = 1, .start = rank_one_matrices(4)});
  EXPECT_GT(std::exp(heads.log_ratio), 0.1325);
  EXPECT_GT(best("heads_add", 3, 2, 40'000), 1.01);
}

TEST(AlgebraClaims, SearchDependsOnTheSeedOnly) {
  const SearchOptions options{.n = 2, .d = 2, .n_trials = 2'000, .seed = 5};
  EXPECT_EQ(search(claim("heads_add"), options).best, search(claim("heads_add"), options).best);
}

// Both sides are sqrt 2 sqrt 2 and 2: the last of a hundred digits does not decide.
TEST(AlgebraClaims, EqualSidesAreNoViolation) {
  const Matrices ones = {{"A", matrix(2, 1, {1, 1})}, {"B", matrix(1, 2, {1, 1})}};
  EXPECT_FALSE(claim("composite_submultiplicative").sides_exactly(ones).violated());
  for (int i = 0; i < 12; ++i) {
    const Matrices nothing = {{"A", matrix(1, 3, {0.1 * i, 1.0 / 3, -0.7})}, {"E", matrix(1, 3, {0, 0, 0})}};
    EXPECT_FALSE(claim("softmax_perturbation").sides_exactly(nothing).violated()) << i;
  }
}

TEST(AlgebraClaims, WhatIsGreaterIsDecidedBeforeRounding) {
  const Matrices huge = {{"A", matrix(2, 2, {1e308, 0, 1e308, 0})}, {"B", matrix(2, 2, {1e308, 1e308, 0, 0})}};
  EXPECT_TRUE(claim("composite_triangle").sides_exactly(huge).violated());
  const Matrices far = {{"A", matrix(1, 2, {-10, 0})}, {"E", matrix(1, 2, {5, 0})}};
  EXPECT_TRUE(claim("softmax_perturbation_any").sides_exactly(far).violated());
  EXPECT_FALSE(claim("softmax_perturbation").sides_exactly(far).applies);
}

TEST(Witness, ReadsBackToTheSameBits) {
  Witness witness{"composite_triangle",
                  {{"A", matrix(2, 2, {1.0 / 3, -0.0, 1e-300, 4})}, {"B", matrix(2, 2, {5, 6, 7, 8})}}};
  const Witness again = witness_from_json(to_json(witness), "memory");
  EXPECT_EQ(again.claim, witness.claim);
  EXPECT_EQ(again.matrices, witness.matrices);
}

TEST(Witness, OfWideHeadsIsAFewNumbers) {
  const Witness witness = rank_one_heads(70'000);
  const std::string text = to_json(witness);
  EXPECT_LT(text.size(), 500U);
  const Witness again = witness_from_json(text, "memory");
  EXPECT_EQ(again.matrices, witness.matrices);
  EXPECT_EQ(again.channels, witness.channels);
  check_witness(again, "memory");
  EXPECT_TRUE(exact_sides(again).violated());
}

TEST(Witness, RefusesGroupsThatCannotBe) {
  const auto text = [](const std::string& channels, const std::string& claim = "heads_add", int version = 2) {
    return "{\"rankfall_witness\": " + std::to_string(version) + ", \"claim\": \"" + claim + "\"" + channels +
           R"(, "matrices": {"X": [[1, 2]], "QK1": [[1, 0], [0, 1]], "QK2": [[1, 0], [0, 1]], "W1": [[1, 0], [0, 1]],
               "W2": [[1, 0], [0, 1]], "A": [[1, 2]], "B": [[1, 2]]}})";
  };
  const auto read = [](const std::string& t) { check_witness(witness_from_json(t, "w.json"), "w.json"); };
  EXPECT_NO_THROW(read(text(R"(, "channels": [1, 1000000000000])")));
  for (const char* channels :
       {"", R"(, "channels": 2)", R"(, "channels": [])", R"(, "channels": [1])", R"(, "channels": [1, 2, 3])",
        R"(, "channels": [0, 2])", R"(, "channels": [1, -2])", R"(, "channels": [1, 2.5])",
        R"(, "channels": [1, 1000000000001])", R"(, "channels": [1, 18446744073709551615])",
        R"(, "channels": [1, 1e300])", R"(, "channels": ["1", "2"])"}) {
    EXPECT_THROW(read(text(channels)), Error) << channels;
  }
  EXPECT_THROW(read(text(R"(, "channels": [1, 2])", "heads_add", 1)), Error);
  EXPECT_THROW(read(text(R"(, "channels": [1, 2])", "composite_triangle")), Error);
}

// A hundred digits take time: a file has few tokens.
TEST(Witness, RefusesManyTokens) {
  std::string rows = "[0.5]";
  for (int i = 1; i < 201; ++i) rows += ", [0.5]";
  const std::string text =
      R"({"rankfall_witness": 1, "claim": "theorem_2_2", "matrices": {"QK": [[1]], "W": [[1]], "X": [)";
  EXPECT_THROW(witness_from_json(text + rows + "]}}", "w.json"), Error);
  EXPECT_NO_THROW(witness_from_json(text + rows.substr(7) + "]}}", "w.json"));
}

TEST(Witness, RefusesEverythingElse) {
  const auto refuse = [](const std::string& text) {
    EXPECT_THROW(check_witness(witness_from_json(text, "w.json"), "w.json"), Error) << text;
  };
  const std::string begin = R"({"rankfall_witness": 1, "claim": "composite_triangle", "matrices": )";
  refuse("");
  refuse("[]");
  refuse("{}");
  refuse(R"({"rankfall_witness": 2, "claim": "x", "matrices": {}})");
  refuse(R"({"rankfall_witness": 1, "claim": 3, "matrices": {}})");
  refuse(R"({"rankfall_witness": 1, "claim": "nothing", "matrices": {"A": [[1]]}})");
  refuse(begin + "[]}");
  refuse(begin + "{}}");
  refuse(begin + R"({"A": [[1]]}})");
  refuse(begin + R"({"A": [[1]], "B": [[1, 2]]}})");
  refuse(begin + R"({"A": [[1], [1, 2]], "B": [[1], [2]]}})");
  refuse(begin + R"({"A": [], "B": [[1]]}})");
  refuse(begin + R"({"A": [[]], "B": [[1]]}})");
  refuse(begin + R"({"A": [["1"]], "B": [[1]]}})");
  refuse(begin + R"({"A": [[1e999]], "B": [[1]]}})");
  std::string many = "[[0";
  for (int i = 0; i < 10'001; ++i) many += ",0";
  refuse(begin + "{\"A\": " + many + "]], \"B\": [[1]]}}");
  EXPECT_NO_THROW(check_witness(witness_from_json(begin + R"({"A": [[1]], "B": [[2]]}})", "w.json"), "w.json"));
}

}  // namespace
}  // namespace rankfall
