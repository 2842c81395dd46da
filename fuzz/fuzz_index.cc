// The index of a sharded checkpoint of any bytes, beside one sound file: it throws Error (kInput), or every tensor is
// one of that file's.
#include <cstdint>
#include <string>

#include "fuzz_check.h"
#include "fuzz_folder.h"
#include "io/checkpoint_files.h"
#include <rankfall/error.h>

using namespace rankfall;

namespace {

// A folder with the file a.safetensors.
struct Folder : FuzzFolder {
  Folder() {
    const std::string header =
        R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"I8","shape":[0],"data_offsets":[8,8]}})";
    std::string file(8, '\0');
    file[0] = static_cast<char>(header.size());
    write("a.safetensors", file + header + std::string(8, 'z'));
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  folder.write("model.safetensors.index.json", data, size);
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
