#pragma once

#include <cstdint>
#include <vector>

namespace rankfall {

using TokenIds = std::vector<std::int32_t>;

// How random token ids are drawn. kUniform: each equally often, so that hardly any repeats. kZipf: as in text, where
// the r-th most frequent has probability proportional to 1/r; which id has which rank is drawn from the seed.
enum class TokenLaw { kUniform, kZipf };

}  // namespace rankfall
