#include "io/atomic_file.h"
#include "report/row_text.h"
#include <rankfall/report.h>

namespace rankfall {

std::filesystem::path manifest_file(const std::filesystem::path& csv) {
  std::filesystem::path file = csv;
  return file.replace_extension(".manifest.json");
}

void save(const Result& result, const std::filesystem::path& file, Format format, const TableOptions& options,
          bool manifest) {
  write_file_atomically(file, format == Format::kTable ? to_table(result, options)
                              : format == Format::kCsv ? to_csv(result)
                                                       : to_json(result));
  if (format == Format::kCsv && manifest) write_file_atomically(manifest_file(file), manifest_json(result));
}

}  // namespace rankfall
