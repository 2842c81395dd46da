// task.safetensors of a training, of any bytes: it throws Error, or every token has its label. The bytes are the
// header, the data behind it is fixed; the network takes tokens, or real features.
#include <cstdint>
#include <cstring>
#include <string>

#include "fuzz_check.h"
#include "fuzz_folder.h"
#include "studies/effectiveness/task_file.h"
#include <rankfall/error.h>

using namespace rankfall;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const FuzzFolder folder;
  std::string file(sizeof(std::uint64_t), '\0');
  const std::uint64_t length = size;
  std::memcpy(file.data(), &length, sizeof length);
  file.append(reinterpret_cast<const char*>(data), size);
  for (int i = 0; i < 96; ++i) file += static_cast<char>(i % 8 == 0 ? i / 8 % 3 : 0);  // 12 integers of 64 bits
  folder.write("task.safetensors", file);
  for (const char* content : {"vocab=4", "features=2"}) {
    Model model;
    model.network = open_model(std::string("san:layers=1,heads=1,dim=2,labels=3,") + content, 0).network;
    model.directory = folder.path().string();
    try {
      const TaskFile task = read_task(model);
      FUZZ_CHECK(!task.samples.empty() && task.samples.size() == task.labels.size());
      for (std::size_t s = 0; s < task.samples.size(); ++s) {
        FUZZ_CHECK(task.samples[s].n_tokens() == static_cast<Index>(task.labels[s].size()));
        for (const std::int32_t label : task.labels[s]) FUZZ_CHECK(label >= -1 && label < 3);
      }
    } catch (const Error& e) {
      FUZZ_CHECK(e.kind() == ErrorKind::kInput || e.kind() == ErrorKind::kUsage);
    }
  }
  return 0;
}
