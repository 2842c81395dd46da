#include <limits>

#include <gmock/gmock.h>

#include <rankfall/error.h>
#include <rankfall/threshold.h>

namespace rankfall {
namespace {

using testing::HasSubstr;

template <class F>
std::string usage_error(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

Row row(const std::string& variant, std::optional<Index> layer, const std::string& metric, std::optional<double> mean) {
  Row row;
  row.model = "m";
  row.variant = variant;
  row.layer = layer;
  row.metric = metric;
  row.mean = mean;
  return row;
}

Result example() {
  Result result;
  for (const std::string variant : {"full", "san"}) {
    for (Index layer = 0; layer <= 3; ++layer) {
      const double x = static_cast<double>(layer);
      result.rows.push_back(row(variant, layer, "residual.one", variant == "san" ? 1 / (1 + 100 * x) : 1 - x / 10));
      result.rows.push_back(row(variant, layer, "rank.stable", 5));
    }
  }
  return result;
}

TEST(ParseThreshold, ReadsEveryPart) {
  const Threshold t = parse_threshold("san+mlp:relative_residual.composite@2>0.1");
  EXPECT_EQ(t.variant, "san+mlp");
  EXPECT_EQ(t.metric, "relative_residual.composite");
  EXPECT_EQ(t.layer, 2);
  EXPECT_FALSE(t.last_layer);
  EXPECT_EQ(t.comparison, Threshold::Comparison::kGreater);
  EXPECT_EQ(t.value, 0.1);
}

TEST(ParseThreshold, PartsAreOptionalAndSpacesDoNotMatter) {
  const Threshold t = parse_threshold("  bound.T2.2 @ last <= -1e-3 ");
  EXPECT_EQ(t.variant, "");
  EXPECT_EQ(t.metric, "bound.T2.2");
  EXPECT_TRUE(t.last_layer);
  EXPECT_EQ(t.comparison, Threshold::Comparison::kLessEqual);
  EXPECT_EQ(t.value, -1e-3);
  EXPECT_FALSE(parse_threshold("loss<1").layer);
  EXPECT_EQ(parse_threshold("loss>=1").comparison, Threshold::Comparison::kGreaterEqual);
  EXPECT_EQ(parse_threshold("-attn_skip,-mlp:loss<1").variant, "-attn_skip,-mlp");
  EXPECT_EQ(parse_threshold("san linformer:k=64,seed=1:loss<1").variant, "san linformer:k=64,seed=1");
}

TEST(ParseThreshold, ReadsWhatToStringWrites) {
  for (const char* text : {"loss<1", "san:loss@last>=0.1", "loss@12<=1e-07", "-a,-b:rank.stable@0>-2.5"}) {
    EXPECT_EQ(to_string(parse_threshold(text)), text);
    EXPECT_EQ(parse_threshold(to_string(parse_threshold(text))), parse_threshold(text));
  }
}

TEST(ParseThreshold, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no comparison"},
      {"loss", "no comparison"},
      {"loss=1", "no comparison"},
      {"loss>", "'' is not a finite number"},
      {"loss>x", "'x' is not a finite number"},
      {"loss>1x", "'1x' is not a finite number"},
      {"loss>nan", "not a finite number"},
      {"loss>inf", "not a finite number"},
      {"loss>1e999", "not a finite number"},
      {"loss>1>2", "not a finite number"},
      {">1", "no metric"},
      {"@3>1", "no metric"},
      {":loss>1", "no variant"},
      {"loss@>1", "'' is not a layer"},
      {"loss@-1>1", "'-1' is not a layer"},
      {"loss@2.5>1", "'2.5' is not a layer"},
      {"loss@99999999999999999999>1", "is not a layer"},
      {"lo ss>1", "'lo ss' is not a metric's name"},
      {"a:b c:d e>1", "'d e' is not a metric's name"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_THAT(usage_error([&, t = text] { parse_threshold(t); }), HasSubstr(expected)) << text;
  }
}

TEST(Violations, AreTheRowsForWhichTheConditionHolds) {
  const auto found = violations(parse_threshold("residual.one@2<0.1"), example());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].variant, "san");
  EXPECT_EQ(found[0].layer, 2);
  EXPECT_EQ(violations(parse_threshold("residual.one<0.1"), example()).size(), 3U);
  EXPECT_TRUE(violations(parse_threshold("full:residual.one<0.1"), example()).empty());
  EXPECT_EQ(violations(parse_threshold("residual.one@last<=0.7"), example()).size(), 2U);
  EXPECT_EQ(violations(parse_threshold("rank.stable>=5"), example()).size(), 8U);
  EXPECT_TRUE(violations(parse_threshold("rank.stable>5"), example()).empty());
}

TEST(Violations, LastLayerIsThatOfEachVariant) {
  Result result = example();
  result.rows.push_back(row("full", 7, "residual.one", 0.01));
  const auto found = violations(parse_threshold("residual.one@last<0.1"), result);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].layer, 3);
  EXPECT_EQ(found[1].layer, 7);
}

TEST(Violations, SingleSeedsDoNotCountBesideTheirSummary) {
  Result result;
  result.rows = {row("full", 1, "loss", 1), row("full", 1, "loss", 9)};
  result.rows[1].seed = 4;
  EXPECT_TRUE(violations(parse_threshold("loss>5"), result).empty());
  result.rows.erase(result.rows.begin());
  EXPECT_EQ(violations(parse_threshold("loss>5"), result).size(), 1U);
}

// A condition that looks at nothing would pass for ever.
TEST(Violations, RefuseWhatDoesNotOccur) {
  const auto error = [](const char* text, const Result& result) {
    return usage_error([&] { violations(parse_threshold(text), result); });
  };
  EXPECT_THAT(error("lost>1", example()), HasSubstr("no metric 'lost'; it has rank.stable, residual.one"));
  EXPECT_THAT(error("sam:rank.stable>1", example()), HasSubstr("no variant 'sam'; it has full, san"));
  EXPECT_THAT(error("rank.stable@9>1", example()), HasSubstr("no layer 9; its layers are 0 to 3"));
  EXPECT_THAT(error("lost>1", Result()), HasSubstr("it has none"));

  Result result;
  result.rows = {row("full", {}, "loss", {}), row("full", {}, "loss", std::numeric_limits<double>::quiet_NaN())};
  EXPECT_THAT(error("loss>1", result), HasSubstr("has a value"));
  EXPECT_THAT(error("loss@last>1", result), HasSubstr("have no layer"));
}

}  // namespace
}  // namespace rankfall
