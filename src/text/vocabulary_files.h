#pragma once

#include <filesystem>
#include <vector>

#include <nlohmann/json.hpp>

#include "io/file_limits.h"
#include "text/byte_pair.h"
#include "text/vocabulary.h"

namespace rankfall {

inline constexpr std::int32_t kMaxTokenId = 1 << 24;

// vocab.txt: a piece a line, numbered from 0. Of equal lines the last counts, as in BERT's own code.
Vocabulary read_vocabulary_lines(std::string_view text, std::string_view where);

// vocab.json: an object from piece to number.
Vocabulary read_vocabulary_json(std::string_view text, std::string_view where);
// The same from such an object.
Vocabulary vocabulary_of(const nlohmann::json& pieces, std::string_view where);

// A token's number, from 0 to kMaxTokenId; `what` it belongs to is for the message.
std::int32_t token_id(const nlohmann::json& id, std::string_view what, std::string_view where);

// merges.txt: two pieces a line with a space between, the first rule first; a first line "#version..." is skipped.
std::vector<BytePair::Merge> read_merges(std::string_view text, std::string_view where);

// A whole file as text, at most kMaxVocabularyBytes. Throws Error (kInput), as the others do.
std::string read_text(const std::filesystem::path& path);

}  // namespace rankfall
