#pragma once

#include <filesystem>
#include <string>

// Whether a part of a reproduction is still up to date depends on the files that it was computed from. They are known
// by path, size and time of change: reading a checkpoint of gigabytes only to compare it would take longer than some
// parts.

namespace rankfall {

std::string identity(const std::filesystem::path& file);

// Every file of the directory, in the order of their names.
std::string directory_identity(const std::filesystem::path& directory);

}  // namespace rankfall
