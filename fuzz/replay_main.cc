// Runs a fuzz target on files, without libFuzzer: REPLAY FILE-OR-FOLDER...  Any finding ends the process.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "fuzz_check.h"

namespace {

namespace fs = std::filesystem;

void replay(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(in), {}};
  // A block of exactly this size, so that a sanitizer sees a read past its end.
  const auto block = std::make_unique<std::uint8_t[]>(content.size());
  std::copy(content.begin(), content.end(), block.get());
  std::printf("%s\n", path.c_str());
  std::fflush(stdout);
  LLVMFuzzerTestOneInput(block.get(), content.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (fs::is_directory(argv[i])) {
      for (const auto& entry : fs::directory_iterator(argv[i])) files.push_back(entry.path());
    } else {
      files.emplace_back(argv[i]);
    }
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) replay(file);
  if (files.empty()) std::fprintf(stderr, "no files to replay\n");
  return files.empty() ? 1 : 0;
}
