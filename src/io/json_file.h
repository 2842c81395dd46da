#pragma once

#include <filesystem>

#include <nlohmann/json.hpp>

#include "io/json_limits.h"

namespace rankfall {

// A JSON file from outside, within the limits of json_limits.h. Throws Error (kInput); a Git LFS pointer, an HTML page
// and the like in its place are named.
nlohmann::json read_json_file(const std::filesystem::path& path);
// By parse_json_lists().
JsonLists read_json_lists(const std::filesystem::path& path, std::size_t rank, std::size_t n_kept);

}  // namespace rankfall
