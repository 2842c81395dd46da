#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "contract.h"
#include "engine/path_networks.h"
#include "studies/counts/path_counts.h"
#include "studies/published/published_table.h"
#include <rankfall/error.h>
#include <rankfall/model.h>
#include <rankfall/paths.h>
#include <rankfall/variants.h>

namespace rankfall {
namespace {

const Row& find(const Result& result, std::string_view model, std::string_view metric, std::optional<Index> length) {
  for (const Row& row : result.rows) {
    if (row.model == model && row.metric == metric && row.length == length) return row;
  }
  throw std::runtime_error("no such row: " + std::string(metric));
}

TEST(Counts, AddUpToAllPaths) {
  for (const Index layers : {1, 2, 7, 12, 96}) {
    for (const Index heads : {1, 2, 12, 96}) {
      const auto counts = counts_by_length(layers, heads);
      BigInt sum = 0;
      for (const BigInt& count : counts) sum += count;
      EXPECT_EQ(sum, boost::multiprecision::pow(BigInt(heads + 1), static_cast<unsigned>(layers)));
      EXPECT_EQ(counts.back(), boost::multiprecision::pow(BigInt(heads), static_cast<unsigned>(layers)));
      EXPECT_EQ(counts[1], BigInt(layers * heads));
    }
  }
}

TEST(Counts, ExactNumbersOfBertBase) {
  const Result result = counts(std::vector<Architecture>{{"bert", 12, 12}});
  expect_contract(result);
  EXPECT_EQ(find(result, "bert", "paths.total", {}).exact, "23298085122481");  // 13^12
  EXPECT_EQ(find(result, "bert", "paths.count", 2).exact, "9504");             // 66 * 144
  EXPECT_EQ(find(result, "bert", "paths.count", 11).exact, find(result, "bert", "paths.count", 12).exact);
  EXPECT_NEAR(find(result, "bert", "paths.cumulative", 12).mean.value(), 1, 1e-15);
  EXPECT_NEAR(find(result, "bert", "paths.mean_length", {}).mean.value(), 144.0 / 13, 1e-14);
  std::vector<double> modes;
  for (const Row& row : result.rows) {
    if (row.metric == "paths.mode") modes.push_back(row.mean.value());
  }
  EXPECT_EQ(modes, (std::vector<double>{11, 12}));
}

// The whole of the published Figure 5: the formula to its printed digits, the drawn curves to 2e-5.
TEST(Counts, IsThePublishedFigure5) {
  const std::vector<Architecture> all = published_architectures();
  EXPECT_EQ(all.size(), 10U);
  const Result result = counts(all);
  Index n = 0;
  for (const auto& fields : published_table(kPublishedFig5)) {
    const auto length = published_number<Index>(fields[3]);
    const double ours = find(result, fields[0], "paths.proportion", length).mean.value();
    EXPECT_NEAR(ours, published_number<double>(fields[4]), 2e-5) << fields[0] << " " << length;
    const auto formula = published_number<double>(fields[5]);
    EXPECT_NEAR(ours, formula, 1e-6 * formula) << fields[0] << " " << length;
    EXPECT_EQ(find(result, fields[0], "published.proportion", length).mean, published_number<double>(fields[4]));
    ++n;
  }
  EXPECT_EQ(n, 251);
  EXPECT_EQ(find(result, "GPT-3", "published.deviation", {}).status, Status::kAgrees);
  // The paper counts 12 layers of MobileBERT; the released one has 24.
  EXPECT_EQ(find(result, "MobileBert", "paths.total", {}).exact, "244140625");
  EXPECT_EQ(find(result, "MobileBert as released", "paths.total", {}).exact, "59604644775390625");
}

TEST(Counts, RatioIsRightFarBeyondDoubles) {
  const BigInt huge = boost::multiprecision::pow(BigInt(97), 500);
  EXPECT_DOUBLE_EQ(ratio(huge, huge * 3), 1.0 / 3);
  EXPECT_DOUBLE_EQ(ratio(huge * 7, huge), 7);
  EXPECT_EQ(ratio(0, huge), 0);
  EXPECT_DOUBLE_EQ(ratio(1, boost::multiprecision::pow(BigInt(2), 1000)), std::ldexp(1, -1000));
}

TEST(Counts, RefusesWhatCannotBe) {
  const auto go = [](Index layers, Index heads) { counts(std::vector<Architecture>{{"", layers, heads}}); };
  EXPECT_THROW(go(0, 1), Error);
  EXPECT_THROW(go(1, 0), Error);
  EXPECT_THROW(go(-5, 3), Error);
  EXPECT_THROW(go(1'000'000, 1'000'000), Error);
  EXPECT_THROW(go(2'000'000, 1), Error);
  EXPECT_THROW(counts({}), Error);
  EXPECT_NO_THROW(go(1, 1'000'000));
}

TEST(Counts, OfANetworkByOrigin) {
  const Model plain = open_model("san:layers=4,heads=3,dim=6,mlp=8,norm=post", 0);
  EXPECT_EQ(count_of(path_counts(plain.network, *plain.weights)[4], {Origin::Kind::kBias, {}}, std::nullopt), 0)
      << "biases that are zero are no origin";
  const Model model = with_biases(plain, 0);
  const auto states = path_counts(model.network, *model.weights);
  ASSERT_EQ(states.size(), 6U);
  const auto binomial = counts_by_length(4, 3);
  for (Index k = 0; k <= 4; ++k) {
    EXPECT_EQ(count_of(states[4], {Origin::Kind::kEmbedding, {}}, k), binomial[static_cast<std::size_t>(k)]);
  }
  // Block 1's MLP has two blocks behind it: C(2,1) 3 paths of length 1.
  EXPECT_EQ(count_of(states[4], {Origin::Kind::kMlp, 1}, 1), 6);
  EXPECT_EQ(count_of(states[4], {Origin::Kind::kBias, 1}, 2), 9);
  EXPECT_EQ(count_of(states[4], {Origin::Kind::kMlp, {}}, 0), 4);
  // Without the skip around attention there is only the longest path; without that of the MLP nothing passes it.
  const auto san = path_counts(without(model.network, {.attn_skip = true, .mlp = true}), *model.weights);
  EXPECT_EQ(count_of(san[4], {Origin::Kind::kEmbedding, {}}, std::nullopt), 81);
  EXPECT_EQ(count_of(san[4], {Origin::Kind::kEmbedding, {}}, 4), 81);
  const auto cut = path_counts(without(model.network, {.mlp_skip = true}), *model.weights);
  EXPECT_EQ(count_of(cut[4], {Origin::Kind::kEmbedding, {}}, std::nullopt), 0);
  EXPECT_EQ(count_of(cut[4], {Origin::Kind::kMlp, {}}, std::nullopt), 1);
}

}  // namespace
}  // namespace rankfall
