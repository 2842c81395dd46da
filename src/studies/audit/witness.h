#pragma once

#include <map>
#include <string>
#include <string_view>

#include <rankfall/matrix.h>

namespace rankfall {

using Matrices = std::map<std::string, Matrix<double>, std::less<>>;

// An example that a claim stands or falls with: small matrices, exact as they are written.
struct Witness {
  std::string claim;
  Matrices matrices;
};

// JSON: {"rankfall_witness": 1, "claim": NAME, "matrices": {NAME: [[..], ..], ..}}, each number so that it reads back
// to the same bits.
std::string to_json(const Witness& witness);

// Throws Error(kInput), naming `where`, for anything else: wrong types, ragged or empty matrices, more than 10,000
// entries in all, numbers that are not finite.
Witness witness_from_json(std::string_view text, std::string_view where);

}  // namespace rankfall
