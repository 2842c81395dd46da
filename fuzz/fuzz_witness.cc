// A witness file of any bytes: it throws Error (kInput), or its matrices fit its claim, both sides of which can be
// evaluated, and it is written as it was read.
#include <cstdint>
#include <string_view>

#include "fuzz_check.h"
#include "studies/audit/algebra_claims.h"
#include <rankfall/error.h>

using namespace rankfall;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Witness witness;
  try {
    witness = witness_from_json(text, "fuzz");
    check_witness(witness, "fuzz");
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kInput);
    FUZZ_CHECK(std::string_view(e.what()).starts_with("fuzz"));
    return 0;
  }
  const Witness again = witness_from_json(to_json(witness), "again");
  FUZZ_CHECK(again.claim == witness.claim && again.matrices == witness.matrices && again.channels == witness.channels);
  Index n_numbers = 0;
  for (const auto& [name, m] : witness.matrices) n_numbers += m.size();
  if (n_numbers <= 64) exact_sides(witness);
  return 0;
}
