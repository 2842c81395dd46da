#include "cli/page_date.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>

#include <fmt/format.h>

#include "base/parse_number.h"

namespace rankfall::cli {

std::string page_date() {
  using namespace std::chrono;
  sys_seconds now = floor<seconds>(system_clock::now());
  if (const char* given = std::getenv("SOURCE_DATE_EPOCH")) {  // NOLINT(concurrency-mt-unsafe): nothing sets it
    constexpr std::int64_t kLatest = 253402300799;             // the end of year 9999
    const auto epoch = parse_number<std::int64_t>(given);
    if (epoch && *epoch >= 0 && *epoch <= kLatest) now = sys_seconds(seconds(*epoch));
  }
  const year_month_day day(floor<days>(now));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

}  // namespace rankfall::cli
