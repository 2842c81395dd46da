// The index of a sharded checkpoint of any bytes, beside one sound file: it throws Error (kInput), or every tensor is
// one of that file's.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "fuzz_check.h"
#include "io/checkpoint_files.h"
#include <rankfall/error.h>

using namespace rankfall;

namespace {

// A folder with the file a.safetensors; the process's own, removed at its end.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rankfall-fuzz-XXXXXX").string();
    FUZZ_CHECK(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
    const std::string header =
        R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"I8","shape":[0],"data_offsets":[8,8]}})";
    std::string file(8, '\0');
    file[0] = static_cast<char>(header.size());
    std::ofstream(path_ / "a.safetensors", std::ios::binary) << file << header << std::string(8, 'z');
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  std::ofstream(folder.path() / "model.safetensors.index.json", std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  try {
    const auto files = CheckpointFiles::open(folder.path());
    for (const auto& [name, entry] : files->entries()) {
      FUZZ_CHECK(name == entry.tensor->name && (name == "x" || name == "y"));
    }
    FUZZ_CHECK(files->digest().size() == 64);
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kInput);
  }
  return 0;
}
