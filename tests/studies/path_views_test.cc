// Views of paths and tasks: what a snapshot does not show.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "report/page_content.h"
#include "studies/views.h"
#include <rankfall/report.h>

namespace rankfall {
namespace {

using testing::HasSubstr;

Row& add(Result& result, const char* metric, double mean) {
  Row& row = result.rows.emplace_back();
  row.model = "bert";
  row.variant = "full";
  row.metric = metric;
  row.mean = mean;
  return row;
}

template <class T>
std::vector<const T*> nodes_of(const View& view) {
  std::vector<const T*> out;
  for (const Figure& figure : view.figures) {
    for (const Node& node : figure.nodes) {
      if (const T* one = std::get_if<T>(&node)) out.push_back(one);
    }
  }
  return out;
}

TEST(PathsView, SharesAreOfTheOutputAndBlocksAreAddedUp) {
  Result result;
  result.command = "paths";
  for (Index layer = 0; layer <= 2; ++layer) {
    for (const char* origin : {"embedding", "mlp.0", "mlp.1", "all"}) {
      for (Index length = 0; length <= layer; ++length) {
        Row& row = add(result, "paths.share.residual", std::string(origin) == "all" ? 0.75 : 0.25);
        row.layer = layer;
        row.length = length;
        row.origin = origin_from(origin);
      }
    }
  }
  const View view = view_of(result, {});
  const auto curves = nodes_of<Curves>(view);
  ASSERT_EQ(curves.size(), 1U);
  ASSERT_EQ(curves[0]->points.size(), 9U);  // three lengths of the embedding, of MLPs and of all
  for (const Point& point : curves[0]->points) {
    EXPECT_EQ(point.value, point.series == "embedding" ? 0.25 : point.series == "mlp" ? 0.5 : 0.75);
  }
  EXPECT_THAT(to_table(result), HasSubstr("(layer 2)"));
  ASSERT_EQ(view.answers.size(), 1U);
  EXPECT_THAT(view.answers[0].answer, HasSubstr("without any head hold 0.75"));
  // The total is a column in a terminal, and no bar on top of its parts.
  const Json page = to_page_json(page_content({{"file", result}}, {}));
  EXPECT_EQ(page["sections"][0]["figures"][0]["series"].size(), 2U);
}

TEST(PathsView, HeadsAreRankedByTheSizeOfTheirShare) {
  Result result;
  result.command = "paths";
  for (Index h = 0; h < 30; ++h) {
    Row& row = add(result, "head.share.residual", h == 17 ? -0.5 : 0.01 * static_cast<double>(h));
    row.layer = 3;
    row.head = h;
  }
  add(result, "mlp.share.residual", 0.4).layer = 3;
  const View view = view_of(result, {});
  const auto tables = nodes_of<Table>(view);
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(std::get<std::string>(tables[0]->rows[0][0]), "L3H17");
  EXPECT_EQ(std::get<std::string>(tables[0]->rows[1][0]), "L3 MLP");
  EXPECT_EQ(std::get<std::string>(tables[0]->rows[2][0]), "L3H29");
  EXPECT_THAT(to_table(result), HasSubstr("20 of 31"));
}

TEST(CirclesView, DrawsTheSmallestSeedAndListsAll) {
  Result result;
  result.command = "circle";
  for (const std::uint64_t seed : {7U, 3U}) {
    for (const char* metric : {"track.x", "track.y"}) {
      Row& row = add(result, metric, static_cast<double>(seed));
      row.seed = seed;
      row.step = row.k = 0;
    }
    add(result, "distance.left", 0.5).seed = seed;
  }
  const View view = view_of(result, {});
  const auto tracks = nodes_of<Tracks>(view);
  ASSERT_EQ(tracks.size(), 1U);
  EXPECT_EQ(tracks[0]->tracks.at(0).points.at(0).first, 3);
  EXPECT_EQ(nodes_of<Table>(view).at(0)->rows.size(), 2U);
}

// A file may say anything.
TEST(PathAndTaskViews, TakeNonsense) {
  constexpr Index kHuge = std::numeric_limits<Index>::max();
  for (const char* command : {"paths", "counts", "effectiveness", "circle", "train"}) {
    Result result;
    result.command = command;
    for (const char* metric : {"paths.share.residual",
                               "paths.share.projection",
                               "paths.count",
                               "paths.gram.residual",
                               "head.share.residual",
                               "path.norm.frobenius",
                               "path.share.residual",
                               "path.term.relative_residual.composite",
                               "token.share.residual",
                               "paths.proportion",
                               "published.proportion",
                               "paths.cumulative",
                               "paths.total",
                               "paths.mode",
                               "accuracy",
                               "track.x",
                               "track.y",
                               "distance",
                               "distance.left",
                               "loss"}) {
      for (const char* kind : {"", "median", "q1", "exact", "model", "baseline.majority"}) {
        for (const Index number : {Index{-1}, Index{0}, Index{3}, kHuge, -kHuge}) {
          for (const double mean : {std::nan(""), 1e308, -1e308, std::numeric_limits<double>::infinity()}) {
            Row& row = add(result, metric, mean);
            row.kind = kind;
            row.exact = "not a number, and longer than any of them";
            row.layer = row.head = row.length = row.k = row.step = row.n = row.sample = number;
            row.origin = Origin{Origin::Kind::kMlp, number};
            row.path = Heads{{number, number}};
            row.std = mean;
            if (number == 3) row.mean.reset();
            if (number == 0) row.origin = Origin{Origin::Kind::kAll, {}};
            if (number == -1) row.seed = ~std::uint64_t{0};
          }
        }
      }
    }
    for (const bool plot : {false, true}) {
      EXPECT_FALSE(to_table(result, {.metrics = {}, .width = 60, .plot = plot}).empty()) << command;
    }
    EXPECT_FALSE(to_page_json(page_content({{"file", result}}, {}))["sections"].empty()) << command;
  }
}

}  // namespace
}  // namespace rankfall
