#pragma once

#include <filesystem>
#include <string_view>

#include <rankfall/error.h>

namespace rankfall {

// "PATH: WHAT: the system's reason; likely cause", for a system call that set errno to `error`.
Error file_error(const std::filesystem::path& path, std::string_view what, int error);

}  // namespace rankfall
