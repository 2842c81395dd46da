#include "studies/published/published_table.h"

namespace rankfall {

std::vector<std::vector<std::string>> published_table(std::string_view csv) {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : csv) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c == '\n') {
      lines.push_back(std::move(fields));
      fields.assign(1, "");
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  if (!lines.empty()) lines.erase(lines.begin());
  return lines;
}

}  // namespace rankfall
