#include "reproduce/file_identity.h"

#include <set>
#include <system_error>

#include <fmt/format.h>

namespace rankfall {

std::string identity(const std::filesystem::path& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  const auto time = std::filesystem::last_write_time(file, error).time_since_epoch().count();
  return fmt::format("{} {} {}", file.string(), error ? 0 : size, error ? 0 : time);
}

std::string directory_identity(const std::filesystem::path& directory) {
  std::error_code error;
  std::set<std::string> files;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    files.insert(identity(it->path()));
  }
  return fmt::format("{}", fmt::join(files, ", "));
}

}  // namespace rankfall
