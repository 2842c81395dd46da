#include "base/number_series.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/parse_number.h"

namespace rankfall {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();

std::string text_of(double value) {
  if (value == 0) return "0";  // not -0
  const double size = std::abs(value);
  std::array<char, 64> text{};
  const bool plain = size >= 1e-9 && size < 1e15;
  const auto end = plain ? std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed).ptr
                         : std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

// The digits from the first to the twelfth of `scale`, if what is cut off is at most `error`; otherwise `value`. Steps
// of 0.1 become 0.3 instead of 0.30000000000000004: the short number is as near to the exact one as the computed one.
double without_noise(double value, double scale, double error) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int lost = static_cast<int>(std::floor(std::log10(scale)) - std::floor(std::log10(std::abs(value))));
  const int digits = 12 - lost;
  const double shorter =
      digits < 1 ? 0 : parse_number<double>(fmt::format("{:.{}e}", value, digits - 1)).value_or(value);
  return std::abs(shorter - value) <= error ? shorter : value;
}

bool is_padded(const WrittenNumber& number) {
  const std::string& text = number.text;
  return text.size() > 1 && text[0] == '0' && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// How many digits a and b ask for; 0: as many as a number has.
std::size_t padding(const WrittenNumber& a, const WrittenNumber& b) {
  constexpr std::size_t kMost = 20;  // a row of 60,000 zeros is not copied into every value
  return is_padded(a) || is_padded(b) ? std::min(kMost, std::max(a.text.size(), b.text.size())) : 0;
}

std::string text_of(std::int64_t whole, std::size_t n_digits) { return fmt::format("{:0{}}", whole, n_digits); }

}  // namespace

std::optional<WrittenNumber> written_number(std::string_view text) {
  constexpr double kExact = 9007199254740992;  // 2^53: below it every whole number is a double
  const auto value = parse_number<double>(text);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  WrittenNumber number{std::string(text), *value, parse_number<std::int64_t>(text)};
  if (!number.whole && std::abs(*value) < kExact && std::trunc(*value) == *value) {
    number.whole = static_cast<std::int64_t>(*value);
  }
  return number;
}

std::string shortest_text(const WrittenNumber& number) {
  return number.whole ? text_of(*number.whole, 0) : text_of(number.value);
}

std::vector<std::string> even_steps(const WrittenNumber& a, const WrittenNumber& b, std::int64_t count) {
  const std::int64_t n_steps = std::max<std::int64_t>(1, count - 1);
  std::vector<std::string> values;
  values.reserve(static_cast<std::size_t>(count));
  std::int64_t span = 0;
  if (a.whole && b.whole && !__builtin_sub_overflow(*b.whole, *a.whole, &span) && span % n_steps == 0) {
    const std::size_t n_digits = padding(a, b);
    for (std::int64_t i = 0; i < count; ++i) values.push_back(text_of(*a.whole + span / n_steps * i, n_digits));
    return values;
  }
  const double scale = std::max(std::abs(a.value), std::abs(b.value));
  values.push_back(shortest_text(a));
  for (std::int64_t i = 1; i < n_steps; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(n_steps);
    // Not a + share (b - a), which overflows for -1e308 and 1e308. The error: half a rounding each of share, 1 - share,
    // the products, the sum, a and b, all on numbers of size scale at most.
    const double value = a.value * (1 - share) + b.value * share;
    values.push_back(text_of(without_noise(value, scale, 4 * kEps * scale)));
  }
  if (count > 1) values.push_back(shortest_text(b));
  return values;
}

std::optional<std::vector<std::string>> geometric_steps(const WrittenNumber& a, const WrittenNumber& b,
                                                        const WrittenNumber& r, std::int64_t most) {
  std::vector<std::string> values;
  if (a.whole && b.whole && r.whole) {
    const std::size_t n_digits = padding(a, b);
    // At most 63 numbers, since r is at least 2.
    for (std::int64_t value = *a.whole;; value *= *r.whole) {
      values.push_back(text_of(value, n_digits));
      if (value > *b.whole / *r.whole) break;
    }
    if (std::ssize(values) > most) return std::nullopt;
    return values;
  }
  // The logarithm says before anything is stored whether there are far too many.
  const double n_steps = (std::log(b.value) - std::log(a.value)) / std::log(r.value);
  if (n_steps > 2 * static_cast<double>(most)) return std::nullopt;
  for (std::int64_t i = 0;; ++i) {
    // In two factors: r^i alone may overflow where a is tiny.
    const std::int64_t half = i / 2;
    const double value =
        a.value * std::pow(r.value, static_cast<double>(half)) * std::pow(r.value, static_cast<double>(i - half));
    const double error = static_cast<double>(i + 4) * kEps;  // r is rounded, and that i times; 4 for the arithmetic
    if (!(value - b.value <= error * b.value)) return values;
    if (std::ssize(values) == most) return std::nullopt;
    if (i > 0 && b.value - value <= error * b.value) {
      values.push_back(shortest_text(b));
      return values;
    }
    values.push_back(i == 0 ? shortest_text(a) : text_of(without_noise(value, value, error * value)));
  }
}

}  // namespace rankfall
