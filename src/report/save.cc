#include "io/atomic_file.h"
#include "report/row_text.h"
#include <rankfall/report.h>

namespace rankfall {
namespace {

std::string to_text(const Result& result, Format format, const TableOptions& options) {
  switch (format) {
    case Format::kTable:
      return to_table(result, options);
    case Format::kCsv:
      return to_csv(result);
    case Format::kJson:
      return to_json(result);
  }
  return {};
}

}  // namespace

std::filesystem::path manifest_file(const std::filesystem::path& csv) {
  std::filesystem::path file = csv;
  return file.replace_extension(".manifest.json");
}

void save(const Result& result, const std::filesystem::path& file, Format format, const TableOptions& options,
          bool manifest) {
  write_file_atomically(file, to_text(result, format, options));
  if (format == Format::kCsv && manifest) write_file_atomically(manifest_file(file), manifest_json(result));
}

}  // namespace rankfall
