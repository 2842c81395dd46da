#pragma once

#include <filesystem>

#include <rankfall/report.h>

namespace rankfall::cli {

// A result that a command wrote as JSON, named after its file. Throws Error kInput, naming the file, on anything else.
NamedResult read_result(const std::filesystem::path& file);

}  // namespace rankfall::cli
