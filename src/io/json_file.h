#pragma once

#include <filesystem>

#include <nlohmann/json.hpp>

namespace rankfall {

// A JSON file from outside, within the limits of json_limits.h. Throws Error (kInput); a Git LFS pointer, an HTML page
// and the like in its place are named.
nlohmann::json read_json_file(const std::filesystem::path& path);

}  // namespace rankfall
