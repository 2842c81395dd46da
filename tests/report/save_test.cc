#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <unistd.h>

#include <rankfall/error.h>
#include <rankfall/report.h>

namespace rankfall {
namespace {

TEST(Save, WritesWhatTheWritersSay) {
  const auto file = std::filesystem::temp_directory_path() / ("rankfall_save_test." + std::to_string(getpid()));
  Result result;
  result.command = "measure";
  result.rows.emplace_back().mean = 0.5;
  const auto saved = [&](Format format) {
    save(result, file, format);
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_EQ(saved(Format::kCsv), to_csv(result));
  EXPECT_EQ(saved(Format::kJson), to_json(result));
  EXPECT_EQ(saved(Format::kTable), to_table(result));
  std::filesystem::remove(file);
}

TEST(Save, WhereThereIsNoFolderIsAnError) { EXPECT_THROW(save(Result(), "/no/such/folder/x", Format::kCsv), Error); }

}  // namespace
}  // namespace rankfall
