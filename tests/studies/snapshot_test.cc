// What a study shows, word by word: tests/data/views/NAME.json is a small result, NAME.txt its table on a terminal of
// 100 columns. After a change that is meant: RANKFALL_SNAPSHOTS=write build/dev/tests/studies/test_views, and look at
// git diff.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "report/page_content.h"
#include "studies/views.h"
#include <rankfall/report.h>

namespace rankfall {
namespace {

std::string text_of_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::filesystem::path> results() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(RANKFALL_TEST_DATA) / "views")) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

// What those who draw may rely on.
void expect_sound(const View& view, const std::string& name) {
  std::set<std::string> ids;
  for (const Figure& figure : view.figures) {
    EXPECT_TRUE(ids.insert(figure.id).second) << name << ": two figures " << figure.id;
    EXPECT_EQ(figure.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos) << figure.id;
    EXPECT_FALSE(figure.title.empty()) << name << ": " << figure.id;
    for (const Node& node : figure.nodes) {
      if (const auto* table = std::get_if<Table>(&node)) {
        for (const auto& row : table->rows) EXPECT_EQ(row.size(), table->columns.size()) << name << ": " << figure.id;
        EXPECT_LE(table->n_labels, table->columns.size());
      }
      if (const auto* curves = std::get_if<Curves>(&node)) {
        for (const Point& point : curves->points) {
          EXPECT_NE(std::ranges::find(figure.series, point.series, &Series::name), figure.series.end())
              << name << ": " << figure.id << " has no series '" << point.series << "'";
          if (!curves->sources.empty()) {
            EXPECT_NE(std::ranges::find(curves->sources, point.source), curves->sources.end()) << name;
          }
        }
      }
    }
  }
}

TEST(Views, SayWhatTheyAlwaysSaid) {
  const char* mode = std::getenv("RANKFALL_SNAPSHOTS");
  const bool write = mode && std::string(mode) == "write";
  for (const std::filesystem::path& file : results()) {
    const Result result = from_json(text_of_file(file), file.string());
    expect_sound(view_of(result, {}), file.stem().string());
    std::filesystem::path snapshot = file;
    snapshot.replace_extension(".txt");
    const std::string text = to_table(result, {.colour = false, .width = 100, .unicode = true});
    if (write) std::ofstream(snapshot, std::ios::binary) << text;
    const std::string expected = text_of_file(snapshot);
    const auto [at, other] = std::ranges::mismatch(text, expected);
    const auto line = [](const std::string& of, std::string::const_iterator place) {
      const std::size_t index = static_cast<std::size_t>(place - of.begin());
      const std::size_t begin = index == 0 ? 0 : of.rfind('\n', index - 1) + 1;
      return of.substr(begin, of.find('\n', begin) - begin);
    };
    EXPECT_TRUE(text == expected) << snapshot << ", line " << 1 + std::ranges::count(text.cbegin(), at, '\n')
                                  << "\n  found:    " << line(text, at) << "\n  expected: " << line(expected, other)
                                  << "\nIf the change is meant: RANKFALL_SNAPSHOTS=write, then look at git diff.";
  }
}

// Narrow, without Unicode, coloured, with plots: nothing but ASCII and escapes of colour, and no line too long.
TEST(Views, FitAnyTerminal) {
  for (const std::filesystem::path& file : results()) {
    const Result result = from_json(text_of_file(file), file.string());
    const std::string text = to_table(result, {.colour = false, .width = 60, .unicode = false, .plot = true});
    std::size_t longest = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      longest = std::max(longest, end - at);
      at = end + 1;
    }
    EXPECT_LE(longest, 60U) << file;
    EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); })) << file;
    EXPECT_EQ(text.find("\\u{"), std::string::npos) << file << ": a sign has no spelling in ASCII";
  }
}

TEST(Views, ArePages) {
  std::set<std::string> shown;
  for (const std::filesystem::path& file : results()) {
    const Result result = from_json(text_of_file(file), file.string());
    shown.insert(result.command);
    const PageContent page = page_content({{file.stem().string(), result}}, {});
    ASSERT_EQ(page.sections.size(), 1U);
    const Json json = to_page_json(page);
    EXPECT_FALSE(json["sections"][0]["figures"].empty()) << file;
    for (const auto& figure : json["sections"][0]["figures"]) {
      const bool any = !figure["panels"].empty() || !figure["tables"].empty() || !figure["findings"].empty();
      EXPECT_TRUE(any) << file << ": " << figure["id"];
    }
  }
  for (const StudyView& study : study_views()) {
    EXPECT_TRUE(shown.contains(std::string(study.name))) << "tests/data/views has no result of " << study.name;
  }
}

}  // namespace
}  // namespace rankfall
