#pragma once

#include <cstddef>

#include <rankfall/index.h>

// What a file from outside may cost: the sizes up to which its readers go. Beyond them a file is refused before memory
// is taken for it. What tokenising a text may cost is in text/text_budget.h. docs/robustness.md has the table.

namespace rankfall {

inline constexpr std::size_t kMaxJsonBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxJsonValues = 16'000'000;  // bounds the memory: about 100 bytes a value at worst
inline constexpr int kMaxJsonDepth = 64;

inline constexpr std::size_t kMaxVocabularyBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMaxSentencePieceBytes = std::size_t{64} << 20;

inline constexpr std::size_t kMaxStandardInput = std::size_t{1} << 30;  // a text; files of text are mapped
inline constexpr std::size_t kMaxSampleBytes = std::size_t{1} << 20;    // of a sample at most this much is tokenised

inline constexpr std::size_t kMaxGgufKeys = 65'536, kMaxGgufTensors = 1'048'576;

inline constexpr Index kMaxImageSide = 32'768;
inline constexpr Index kMaxImagePixels = 64'000'000;

}  // namespace rankfall
