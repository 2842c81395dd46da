#include "io/json_file.h"

#include <fmt/format.h>

#include "io/file_signature.h"
#include "io/json_limits.h"
#include "io/mapped_file.h"
#include <rankfall/error.h>

namespace rankfall {

nlohmann::json read_json_file(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  try {
    return parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
  } catch (const Error&) {
    const std::string_view kind = describe_signature(bytes);
    if (kind.empty() || kind.starts_with("begins like")) throw;
    throw Error(ErrorKind::kInput, fmt::format("{}: {}", path.string(), kind));
  }
}

}  // namespace rankfall
