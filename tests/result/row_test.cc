#include "result/row.h"

#include <limits>
#include <map>
#include <string>

#include <gmock/gmock.h>

namespace rankfall {
namespace {

TEST(Columns, AreThoseOfTheDesignInOrder) {
  std::vector<std::string> names;
  for (const Column& column : columns()) names.emplace_back(column.name);
  EXPECT_THAT(names, testing::ElementsAre("model", "variant", "layer", "head", "metric", "mean", "std", "n", "seed",
                                          "sample", "length", "origin", "path", "step", "kind", "claim", "tokens", "k",
                                          "basis", "status", "reason", "text", "verdict", "exact"));
}

TEST(Columns, OfAnEmptyRowAreAbsent) {
  for (const Column& column : columns()) {
    EXPECT_TRUE(std::holds_alternative<std::monostate>(column.get(Row()))) << column.name;
  }
}

TEST(Columns, GetWhatWasSet) {
  Row row;
  for (const Column& column : columns()) {
    const std::map<std::string_view, std::string> words = {{"basis", "data"},
                                                           {"status", "not_carried"},
                                                           {"reason", "gated_mlp"},
                                                           {"origin", "mlp.3"},
                                                           {"path", "L2H5 > L7H0"}};
    const auto word = words.find(column.name);
    const bool is_text = column.expected == "text" || word != words.end();
    const CellValue value = word != words.end() ? CellValue(word->second)
                            : is_text           ? CellValue("x")
                                                : CellValue(std::uint64_t{7});
    EXPECT_TRUE(column.set(row, value)) << column.name;
    EXPECT_FALSE(column.set(row, is_text ? CellValue(1.5) : CellValue("x"))) << column.name;
    if (word != words.end()) {
      EXPECT_FALSE(column.set(row, CellValue("x"))) << column.name;
    }
    EXPECT_FALSE(std::holds_alternative<std::monostate>(column.get(row))) << column.name;
    Row other;
    EXPECT_TRUE(column.set(other, column.get(row))) << column.name;
    EXPECT_EQ(column.get(other), column.get(row)) << column.name;
    EXPECT_TRUE(column.set(other, CellValue())) << column.name;
    EXPECT_TRUE(std::holds_alternative<std::monostate>(column.get(other))) << column.name;
  }
  EXPECT_EQ(row.layer, 7);
  EXPECT_EQ(row.mean, 7.0);
  EXPECT_EQ(row.seed, 7U);
  EXPECT_EQ(row.exact, "x");
  EXPECT_EQ(row.status, Status::kNotCarried);
  EXPECT_EQ(row.reason, Reason::kGatedMlp);
  EXPECT_EQ(row.basis, Basis::kData);
  EXPECT_EQ(row.origin, (Origin{Origin::Kind::kMlp, 3}));
  EXPECT_EQ(row.path, (Heads{{2, 5}, {7, 0}}));
}

TEST(Columns, NumbersThatAreNotFiniteAreAbsent) {
  Row row;
  row.mean = std::numeric_limits<double>::quiet_NaN();
  row.std = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::holds_alternative<std::monostate>(find_column("mean")->get(row)));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(find_column("std")->get(row)));
  EXPECT_FALSE(find_column("mean")->set(row, std::numeric_limits<double>::infinity()));
}

TEST(Columns, RefuseIndicesOutOfRange) {
  Row row;
  EXPECT_FALSE(find_column("layer")->set(row, std::int64_t{-1}));
  EXPECT_FALSE(find_column("layer")->set(row, std::numeric_limits<std::uint64_t>::max()));
  EXPECT_FALSE(find_column("seed")->set(row, std::int64_t{-1}));
  EXPECT_TRUE(find_column("seed")->set(row, std::numeric_limits<std::uint64_t>::max()));
  EXPECT_FALSE(row.layer);
}

TEST(Columns, UnknownNameHasNone) { EXPECT_EQ(find_column("colour"), nullptr); }

}  // namespace
}  // namespace rankfall
