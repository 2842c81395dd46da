// What a study shows, word by word: tests/data/views/NAME.json is a small result, text/NAME.txt its table on a terminal
// of 100 columns. After a change that is meant: RANKFALL_SNAPSHOTS=write build/dev/tests/studies/test_views, and look
// at git diff.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "contract.h"
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

TEST(Views, SayWhatTheyAlwaysSaid) {
  const char* mode = std::getenv("RANKFALL_SNAPSHOTS");
  const bool write = mode && std::string(mode) == "write";
  for (const std::filesystem::path& file : results()) {
    const Result result = from_json(text_of_file(file), file.string());
    expect_sound(view_of(result, {}), file.stem().string());
    const std::filesystem::path snapshot = file.parent_path() / "text" / file.stem().concat(".txt");
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

TEST(Views, FitAnyTerminal) {
  for (const std::filesystem::path& file : results()) {
    expect_fits_any_terminal(from_json(text_of_file(file), file.string()), file.stem().string());
  }
}

TEST(Views, ArePages) {
  std::set<std::string> shown;
  for (const std::filesystem::path& file : results()) {
    const Result result = from_json(text_of_file(file), file.string());
    shown.insert(result.command);
    expect_makes_a_page(result, file.stem().string());
  }
  for (const StudyView& study : study_views()) {
    EXPECT_TRUE(shown.contains(std::string(study.name))) << "tests/data/views has no result of " << study.name;
  }
}

}  // namespace
}  // namespace rankfall
