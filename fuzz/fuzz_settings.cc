// training.json of any bytes: it throws Error (kInput), or its settings are written as they were read and describe a
// network.
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "fuzz_check.h"
#include "io/json_file.h"
#include "memory_file.h"
#include "train/settings.h"
#include <rankfall/error.h>
#include <rankfall/model.h>

using namespace rankfall;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile memory(data, size);
  TrainSettings settings;
  try {
    settings = settings_from_json(read_json_file(memory.path()), "fuzz");
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kInput);
    return 0;
  }
  FUZZ_CHECK(settings_from_json(to_json(settings), "again") == settings);
  try {
    const Network network = network_from_config(network_config(settings).dump(), "config");
    FUZZ_CHECK(network.sizes.n_blocks == settings.n_blocks && network.sizes.d_model == settings.width);
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kInput);  // more than a network may have
  }
  return 0;
}
