#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "base/errors.h"
#include <rankfall/report.h>

namespace rankfall {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // a page of more would not open

std::string read_text(const std::filesystem::path& file) {
  const auto fail = [&](const std::string& why) { throw input_error("{}: {}", file.string(), why); };
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) fail("is a directory, expected a result that rankfall wrote as JSON");
  if (std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error)) {
    fail("is a pipe or a device, expected a file; save the result first");  // it might wait or go on for ever
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> input(std::fopen(file.c_str(), "rb"), std::fclose);
  if (!input) fail(errno == ENOENT ? "no such file" : std::strerror(errno));
  std::string text;
  constexpr std::size_t kPiece = 1 << 20;
  for (;;) {
    const std::size_t at = text.size();
    text.resize(at + kPiece);
    const std::size_t n = std::fread(text.data() + at, 1, kPiece, input.get());
    text.resize(at + n);
    if (text.size() > kMostBytes) fail("larger than 1 GB");
    if (n < kPiece) break;
  }
  if (std::ferror(input.get()) != 0) fail("cannot be read");
  return text;
}

}  // namespace

NamedResult read_result(const std::filesystem::path& file) {
  if (file.extension() == ".csv") {
    throw input_error("{}: CSV does not say which command made it; a report needs JSON", file.string());
  }
  if (file.filename().string().ends_with(".manifest.json")) {
    throw input_error("{}: the manifest of a CSV file, without rows; a report needs the result as JSON", file.string());
  }
  const std::string text = read_text(file);
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos || text[begin] != '{') {
    throw input_error("{}: is not a result; expected one that rankfall saved as JSON", file.string());
  }
  return {file.stem().string(), from_json(text, file.string())};
}

}  // namespace rankfall
