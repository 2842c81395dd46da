#include "io/json_file.h"

#include "base/errors.h"
#include "io/file_signature.h"
#include "io/mapped_file.h"

namespace rankfall {

namespace {

template <class Parse>
auto parsed_file(const std::filesystem::path& path, const Parse& parse) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  try {
    return parse(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), path.string());
  } catch (const Error&) {
    const std::string_view kind = describe_signature(bytes);
    if (kind.empty() || kind.starts_with("begins like")) throw;
    throw input_error("{}: {}", path.string(), kind);
  }
}

}  // namespace

nlohmann::json read_json_file(const std::filesystem::path& path) { return parsed_file(path, parse_json); }

JsonLists read_json_lists(const std::filesystem::path& path, std::size_t rank, std::size_t n_kept) {
  return parsed_file(path, [&](std::string_view text, const std::string& where) {
    return parse_json_lists(text, where, rank, n_kept);
  });
}

}  // namespace rankfall
