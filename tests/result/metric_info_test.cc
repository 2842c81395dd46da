#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "result/tex.h"
#include <rankfall/metric_info.h>

namespace rankfall {
namespace {

TEST(MetricInfo, OfAMemberHasItsNormAndFormula) {
  const MetricInfo info = metric_info("relative_residual.composite");
  EXPECT_EQ(info.words, "relative residual");
  EXPECT_EQ(info.formula, "‖X − 1·mean‖ / ‖X‖, composite norm √(‖·‖₁ ‖·‖∞)");
  EXPECT_TRUE(info.is_share());
  EXPECT_FALSE(info.per_head());
  EXPECT_EQ(metric_info("log10_bound.T2.2").words, "log10 of the bound by T2.2");
  EXPECT_EQ(metric_info("log10_bound.T2.2").formula, "log10 (4 s beta ‖R‖³)");
  EXPECT_EQ(metric_info("log10_measured.T2.3").formula, "log10 (‖M‖)");
  EXPECT_EQ(metric_info("path.term.rank1_distance").formula, "σ₂(M) / σ₁(M), M = P_path X W_path");
}

TEST(MetricInfo, OfAFamilyHasWhatItsMembersShare) {
  const MetricInfo& family = all_metric_infos().front();
  EXPECT_EQ(family.name, "relative_residual.NORM");
  EXPECT_EQ(family.formula, "‖X − 1·mean‖ / ‖X‖");
  EXPECT_EQ(family.members.size(), 5U);
  for (const MetricInfo& info : all_metric_infos()) {
    for (const std::string& member : info.members) {
      const auto found = find_metric(member);
      ASSERT_TRUE(found) << member;
      EXPECT_EQ(found->name, member);
      EXPECT_EQ(found->group, info.group);
      EXPECT_TRUE(found->members.empty());
    }
    EXPECT_EQ(find_metric(info.name).has_value(), info.members.empty()) << info.name;
  }
}

TEST(MetricInfo, OfAnUnknownMetricIsItsName) {
  for (const char* name : {"entropy.of.tea", "residual.teapot", "residual.", "residual.NORM", ""}) {
    EXPECT_FALSE(find_metric(name)) << name;
    EXPECT_EQ(metric_info(name).words, name);
    EXPECT_EQ(metric_info(name).formula, "");
  }
}

// No name stands twice, groups stand together, nothing is left empty.
TEST(MetricInfo, TheTableIsInOrder) {
  std::set<std::string> names, groups;
  std::string group;
  for (const MetricInfo& info : all_metric_infos()) {
    EXPECT_TRUE(info.group == group || groups.insert(info.group).second) << info.group << " stands twice";
    group = info.group;
    EXPECT_FALSE(info.words.empty()) << info.name;
    EXPECT_FALSE(info.uses.empty()) << info.name;
    for (const std::string& name : info.members.empty() ? std::vector{info.name} : info.members) {
      EXPECT_TRUE(names.insert(name).second) << name << " stands twice";
      EXPECT_EQ(metric_info(name).formula.find_first_of("*#"), std::string::npos) << name;
    }
  }
}

TEST(MetricInfo, SaysWhichMean) {
  EXPECT_EQ(words_of(metric_info("relative_residual.composite").averaging), "arithmetic mean");
  EXPECT_EQ(words_of(metric_info("log10_relative_residual.one").averaging), "mean of the logarithms");
  EXPECT_EQ(words_of(metric_info("growth_factor").averaging), "mean of the logarithms");
  EXPECT_EQ(words_of(metric_info("log10_error").averaging), "largest value");
  EXPECT_EQ(metric_info("anything").averaging, Averaging::kArithmetic);
}

TEST(MetricInfo, SaysWhichRowsHaveIt) {
  const MetricInfo dobrushin = metric_info("attention.dobrushin");
  EXPECT_TRUE(dobrushin.per_head());
  EXPECT_TRUE(dobrushin.use_in("bounds"));
  EXPECT_FALSE(dobrushin.use_in("collapse"));
  EXPECT_FALSE(metric_info("rounding_layer").use_in("collapse")->has_layer);
  EXPECT_TRUE(metric_info("growth_factor").use_in("collapse")->has_layer);
  const auto counts = metrics_of("counts");
  EXPECT_EQ(counts.size(), 8U);
  EXPECT_EQ(counts[0].name, "paths.count");
  EXPECT_TRUE(metrics_of("teapot").empty());
}

TEST(Tex, SpellsOutSigns) {
  EXPECT_EQ(to_tex("‖X‖_F² / ‖X‖₂²"), R"(\lVert X\rVert_{F}^2 / \lVert X\rVert_{2}^2)");
  EXPECT_EQ(to_tex("mean over i≠j of |xᵢ·xⱼ|"), R"(\text{mean over }i\ne j \text{ of }\lvert x_{i}\cdot x_{j}\rvert)");
  EXPECT_EQ(to_tex("√(n max q)"), R"(\sqrt{n \max q})");
  EXPECT_EQ(to_tex("<res Yₖ, Y> / c^((3^l−1)/2)"), R"(\langle \mathrm{res} Y_{k}, Y \rangle / c^{(3^{l}-1)/2})");
  EXPECT_EQ(to_tex("log10 (P_path > eps)"), R"(\log_{10} (P_{\mathrm{path}} \gt \varepsilon))");
  EXPECT_EQ(to_tex("L H / (H+1)"), "L H / (H+1)");
  EXPECT_EQ(to_tex("share of right answers"), "");  // a sentence
  EXPECT_EQ(to_tex("fit of log cost over log n"), "");
  EXPECT_EQ(to_tex(""), "");
  EXPECT_EQ(to_tex("√("), R"(\sqrt{})");
}

// Braces match, every sign was translated, and no backslash stands before what Markdown would take it from.
TEST(Tex, OfEveryFormulaIsComplete) {
  for (const MetricInfo& info : all_metric_infos()) {
    for (const std::string& name : info.members.empty() ? std::vector{info.name} : info.members) {
      const std::string tex = metric_info(name).tex;
      EXPECT_EQ(std::ranges::count(tex, '{'), std::ranges::count(tex, '}')) << tex;
      EXPECT_TRUE(std::ranges::all_of(tex, [](char c) { return c >= ' ' && c <= '~' && c != '$' && c != '|'; })) << tex;
      for (std::size_t at = tex.find('\\'); at != std::string::npos; at = tex.find('\\', at + 1)) {
        EXPECT_TRUE(at + 1 < tex.size() && std::isalpha(static_cast<unsigned char>(tex[at + 1]))) << tex;
      }
    }
  }
}

}  // namespace
}  // namespace rankfall
