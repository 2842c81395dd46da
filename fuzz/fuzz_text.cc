// A text of any bytes, as lines, paragraphs and JSON lines: it throws Error (kInput), or its items come to an end, are
// not blank and can be shortened.
#include <cstdint>

#include "fuzz_check.h"
#include "input/text_source.h"
#include "io/utf8.h"
#include "memory_file.h"
#include <rankfall/error.h>

using namespace rankfall;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile memory(data, size);
  for (const int way : {0, 1, 2}) {
    InputOptions options;
    options.text = memory.path();
    options.paragraphs = way == 1;
    if (way == 2) options.field = "text";
    try {
      TextSource source(options);
      std::size_t n = 0;
      std::size_t line = 0;
      while (const auto item = source.next()) {
        FUZZ_CHECK(++n <= size);
        FUZZ_CHECK(item->line > line);
        line = item->line;
        FUZZ_CHECK(item->text.find_first_not_of(" \t\r\n") != std::string::npos);
        const std::string_view part = shortened(item->text, 1 + size / 2);
        FUZZ_CHECK(part.size() <= 1 + size / 2 || part.size() <= 4);
        if (utf8_first_error(item->text) == item->text.size()) FUZZ_CHECK(utf8_first_error(part) == part.size());
      }
    } catch (const Error& e) {
      FUZZ_CHECK(e.kind() == ErrorKind::kInput);
    }
  }
  return 0;
}
