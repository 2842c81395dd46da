#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "result/manifest.h"
#include <rankfall/error.h>
#include <rankfall/report.h>

namespace rankfall {
namespace {

Result path_list() {
  Result result;
  result.command = "paths";
  add(result.manifest, "seed", std::uint64_t{3});
  for (int i = 0; i < 3; ++i) {
    for (const char* metric : {"path.norm.frobenius", "path.share.residual"}) {
      Row& row = result.rows.emplace_back();
      row.model = "a, \"b\"";
      row.metric = metric;
      row.path = Heads{{static_cast<Index>(i), 0}};
      row.origin = Origin{};
      row.mean = 0.5 * i;
      row.variant = "full";
      row.length = 1;
    }
  }
  // A value in every column that rows of paths may have.
  result.rows.back().status = Status::kRoundingFloor;
  result.rows.back().verdict = "rounding floor";
  return result;
}

std::string streamed(const Result& result, Format format) {
  std::string out;
  ResultStream stream(result, format, [&](std::string_view text) { out += text; });
  for (const Row& row : result.rows) stream.add(row);
  stream.finish();
  return out;
}

TEST(ResultStream, WritesWhatTheWholeResultGives) {
  EXPECT_EQ(streamed(path_list(), Format::kCsv), to_csv(path_list()));
  EXPECT_EQ(streamed(path_list(), Format::kJson), to_json(path_list()));
  Result empty = path_list();
  empty.rows.clear();
  EXPECT_EQ(std::ranges::count(streamed(empty, Format::kCsv), '\n'), 1);
  EXPECT_EQ(streamed(empty, Format::kJson), to_json(empty));
}

TEST(ResultStream, TableHasALineAPath) {
  const std::string text = streamed(path_list(), Format::kTable);
  EXPECT_EQ(std::ranges::count(text, '\n'), 4);
  EXPECT_NE(text.find("norm.frobenius"), std::string::npos);
  EXPECT_NE(text.find("L2H0"), std::string::npos);
}

TEST(ResultStream, AFileAppearsWhenItIsComplete) {
  const auto file = std::filesystem::temp_directory_path() / "rankfall_result_stream_test.csv";
  std::filesystem::remove(file);
  {
    ResultStream stream(path_list(), Format::kCsv, file);
    for (int i = 0; i < 10000; ++i) stream.add(path_list().rows[0]);
  }
  EXPECT_FALSE(std::filesystem::exists(file));
  ResultStream stream(path_list(), Format::kCsv, file);
  for (const Row& row : path_list().rows) stream.add(row);
  stream.finish();
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_EQ(text.str(), to_csv(path_list()));
  EXPECT_TRUE(std::filesystem::remove(manifest_file(file)));
  std::filesystem::remove(file);
  EXPECT_THROW(ResultStream(path_list(), Format::kCsv, std::filesystem::path("/no/such/folder/x.csv")), Error);
}

}  // namespace
}  // namespace rankfall
