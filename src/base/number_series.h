#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankfall {

// A finite number as it is written, and whether it is a whole number (1e3 is one, 1.5 and 1e300 are not).
struct WrittenNumber {
  std::string text;
  double value = 0;
  std::optional<std::int64_t> whole;
};

// Nothing if `text` is not a number or not finite.
std::optional<WrittenNumber> written_number(std::string_view text);

// The shortest text that reads back to the same number; from 1e-9 to 1e15 without an exponent.
std::string shortest_text(const WrittenNumber& number);

// `count` numbers from a to b in even steps, both included. They are whole numbers when a, b and the step are; then
// they have as many digits as the longer of a and b if one of these begins with 0 (a = 08, b = 10: 08, 09, 10).
// Requires count >= 2, or count = 1 and a = b.
std::vector<std::string> even_steps(const WrittenNumber& a, const WrittenNumber& b, std::int64_t count);

// a, a r, a r^2, ... up to b. A number that differs from b by the rounding of its factors only is b.
// Nothing if there are more than `most`. Requires 0 < a <= b and r > 1.
std::optional<std::vector<std::string>> geometric_steps(const WrittenNumber& a, const WrittenNumber& b,
                                                        const WrittenNumber& r, std::int64_t most);

}  // namespace rankfall
