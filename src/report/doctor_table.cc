#include "report/doctor_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/paint.h"
#include "report/screen_text.h"

namespace rankfall {
namespace {

// "threads agree" of "doctor.threads_agree".
std::string title_of(const Row& row, bool unicode) {
  std::string title = screen_name(row.metric.substr(row.metric.find('.') + 1), unicode);
  std::ranges::replace(title, '_', ' ');
  return title;
}

Colour doctor_colour(const Row& row) {
  if (row.status == Status::kFailed) return Colour::kBad;
  if (row.status == Status::kWarning) return Colour::kWarn;
  return row.status == Status::kPassed ? Colour::kGood : Colour::kPlain;
}

}  // namespace

std::string doctor_table(const Result& result, const TableOptions& options) {
  const Painter paint(options.colour);
  std::size_t widest = 0;
  for (const Row& row : result.rows) widest = std::max(widest, title_of(row, options.unicode).size());
  std::string out;
  for (const Row& row : result.rows) {
    std::string title = fmt::format("{:<{}}  ", title_of(row, options.unicode), widest);
    const int width = std::max(20, options.width - static_cast<int>(title.size()));
    for (const auto& line : wrap(screen_prose(row.verdict, options.unicode), width, options.unicode)) {
      out += title + paint(doctor_colour(row), line) + '\n';
      title.assign(title.size(), ' ');
    }
  }
  return out;
}

}  // namespace rankfall
