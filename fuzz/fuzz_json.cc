// parse_json on any bytes: it throws Error, or it agrees with nlohmann's own parser and survives a round trip.
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "fuzz_check.h"
#include "io/json_limits.h"
#include <rankfall/error.h>

using namespace rankfall;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  nlohmann::json value;
  try {
    value = parse_json(text, "fuzz");
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kInput);
    FUZZ_CHECK(std::string_view(e.what()).starts_with("fuzz: line "));
    return 0;
  }
  FUZZ_CHECK(value == nlohmann::json::parse(text));
  FUZZ_CHECK(value == parse_json(value.dump(), "again"));
  return 0;
}
