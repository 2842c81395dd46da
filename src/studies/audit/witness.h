#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <rankfall/matrix.h>

namespace rankfall {

using Matrices = std::map<std::string, Matrix<double>, std::less<>>;

// An example that a claim stands or falls with: small matrices, exact as they are written.
//
// Channels may come in groups within which all are equal. Then `channels` has the size of each group, a column of X
// stands for as many equal columns, and an entry of a d x d matrix for a block of equal entries. So an example of d =
// 70,000 is a few numbers.
struct Witness {
  std::string claim;
  Matrices matrices;
  std::vector<Index> channels = {};  // empty: each channel by itself
};

// JSON: {"rankfall_witness": 1, "claim": NAME, "matrices": {NAME: [[..], ..], ..}}, each number so that it reads back
// to the same bits; with groups {"rankfall_witness": 2, "claim": NAME, "channels": [SIZE, ..], "matrices": ..}.
std::string to_json(const Witness& witness);

// Throws Error(kInput), naming `where`, for anything else: wrong types, ragged or empty matrices, more than 10,000
// entries in all or 200 rows in one, numbers that are not finite, groups that are empty or larger than 10^12.
Witness witness_from_json(std::string_view text, std::string_view where);

}  // namespace rankfall
