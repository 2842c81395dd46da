// A saved result of any bytes: it throws Error (kInput), or it is written as it was read, and table, plot, CSV and page
// can be made of it.
#include <cstdint>
#include <string_view>

#include "fuzz_check.h"
#include "render/page/panels.h"
#include "report/page_content.h"
#include <rankfall/error.h>
#include <rankfall/report.h>

using namespace rankfall;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Result result;
  try {
    result = from_json(text, "fuzz");
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kInput);
    FUZZ_CHECK(std::string_view(e.what()).starts_with("fuzz"));
    return 0;
  }
  const std::string json = to_json(result);
  FUZZ_CHECK(to_json(from_json(json, "again")) == json);
  FUZZ_CHECK(!to_csv(result).empty());
  TableOptions options;
  options.plot = true;
  FUZZ_CHECK(!to_table(result, options).empty());
  options.metrics = {"residual.composite"};
  options.colour = true;
  options.width = 40;
  options.unicode = false;
  to_table(result, options);
  try {
    const PageContent page = page_content({{"a", result}, {"b", result}}, {});
    FUZZ_CHECK(!to_page_json(page).dump(-1, ' ', false, Json::error_handler_t::replace).empty());
    for (const Section& section : page.sections) {
      for (const Figure& figure : section.figures) {
        for (const Panel& panel : panels_of(figure)) FUZZ_CHECK(!standalone_spec(panel, figure).empty());
      }
    }
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kUsage);  // nothing to show, or too much
  }
  return 0;
}
