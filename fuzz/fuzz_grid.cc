// Grids of specifications. They throw Error (kUsage), or have as many different points as their axes say, each of which
// is a grid of itself alone.
#include <cstdint>
#include <set>
#include <string_view>

#include "base/grid.h"
#include "fuzz_check.h"
#include <rankfall/error.h>

using namespace rankfall;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const Grid grid = parse_grid(std::string_view(reinterpret_cast<const char*>(data), size));
    std::uint64_t product = 1;
    for (const GridAxis& axis : grid.axes) {
      product *= axis.values.size();
      FUZZ_CHECK(std::set(axis.values.begin(), axis.values.end()).size() == axis.values.size());
    }
    FUZZ_CHECK(product == grid.n_points && product > 0);
    for (const std::uint64_t i : {std::uint64_t{0}, product / 2, product - 1}) {
      const GridPoint point = grid.point(i);
      const Grid alone = parse_grid(point.text);
      FUZZ_CHECK(alone.n_points == 1 && alone.axes.empty() && alone.point(0).text == point.text);
    }
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kUsage);
  }
  return 0;
}
