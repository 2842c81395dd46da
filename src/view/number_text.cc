#include "view/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace rankfall {

namespace {

// "6.99×10^-7" of "6.99e-07"; a mantissa of one digit, 1, is left out.
std::string power_text(std::string_view scientific) {
  const auto e = scientific.find('e');
  const std::string_view mantissa = scientific.substr(0, e);
  std::string_view exponent = scientific.substr(e + 1);
  const bool negative = exponent.starts_with('-');
  exponent.remove_prefix(1);
  while (exponent.size() > 1 && exponent.starts_with('0')) exponent.remove_prefix(1);
  const std::string power = fmt::format("10^{}{}", negative ? "-" : "", exponent);
  if (mantissa == "1" || mantissa == "-1") return (mantissa == "-1" ? "-" : "") + power;
  return fmt::format("{}×{}", mantissa, power);
}

}  // namespace

std::string significant(double value, int digits) {
  if (value == 0) return "0";
  if (!std::isfinite(value)) return fmt::format("{}", value);
  // The exponent after rounding: 0.9996 is 1.00, not 1.000.
  std::string scientific = fmt::format("{:.{}e}", value, digits - 1);
  const auto e = scientific.find('e');
  const bool negative = scientific[e + 1] == '-';
  int exponent = 0;
  std::from_chars(scientific.data() + e + 2, scientific.data() + scientific.size(), exponent);
  if (negative) exponent = -exponent;
  if (exponent < -3 || exponent >= 6) return power_text(scientific);
  return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent));
}

std::string trimmed(double value, int digits) {
  std::string text = significant(value, digits);
  const std::size_t end = std::min(text.find("×"), text.size());
  if (text.find('.') >= end) return text;
  std::size_t keep = text.find_last_not_of('0', end - 1) + 1;
  if (text[keep - 1] == '.') --keep;
  text.erase(keep, end - keep);
  constexpr std::string_view kOne = "1×";
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  if (std::string_view(text).substr(sign).starts_with(kOne)) text.erase(sign, kOne.size());
  return text;
}

std::string power_of_ten(double log10_value, int digits) {
  const double size = std::abs(log10_value);
  if (size < 3) return significant(std::pow(10, log10_value), digits);
  if (size < 1e3) return fmt::format("10^{:.1f}", log10_value);
  return size < 1e9 ? fmt::format("10^{:.0f}", log10_value) : fmt::format("10^({})", significant(log10_value, 3));
}

std::string logarithm(double value, bool powers) {
  const double size = std::abs(value);
  if (size < 0.005) return "0.00";
  if (size < 100) return fmt::format("{:.2f}", value);
  if (size < 1e5) return fmt::format("{:.1f}", value);
  return size < kWholeLogarithms && !powers ? fmt::format("{:.0f}", value) : power_text(fmt::format("{:.2e}", value));
}

namespace {

std::size_t decimals_of(const std::string& number) {
  const std::size_t point = number.find('.');
  return point == std::string::npos ? 0 : number.size() - point - 1;
}

}  // namespace

std::string with_error(double value, double error, int digits) {
  std::string text = significant(value, digits), beside = significant(error, 2);
  const bool is_zero = std::abs(value) < 1e-3 && error >= 1e-3;  // within its error: it has no digits of its own
  const auto plain = [](const std::string& number) { return number.find_first_of("^in") == std::string::npos; };
  if ((plain(text) || is_zero) && plain(beside)) {
    const std::size_t decimals = is_zero      ? decimals_of(beside)
                                 : error == 0 ? decimals_of(text)
                                              : std::min(decimals_of(text), decimals_of(beside));
    text = fmt::format("{:.{}f}", value, decimals);
    if (text.find_first_not_of("-0.") == std::string::npos) text = fmt::format("{:.{}f}", 0.0, decimals);
    beside = fmt::format("{:.{}f}", error, decimals);
  }
  const bool is_lost = error > 0 && beside.find_first_not_of("0.") == std::string::npos;
  return text + "±" + (is_lost ? significant(error, 1) : beside);
}

std::string digits_text(const std::string& digits, std::size_t most) {
  if (digits.size() <= most) return digits;
  // Three digits of the first fifteen; rounding may carry into one more place.
  constexpr std::size_t kHead = 15;
  const std::string head = fmt::format("{:.2e}", std::stod(digits.substr(0, kHead)));
  const auto e = head.find('e');
  const auto exponent =
      std::stol(head.substr(e + 1)) + static_cast<long>(digits.size() - std::min(digits.size(), kHead));
  return power_text(fmt::format("{}e+{}", head.substr(0, e), exponent));
}

void align_points(std::vector<std::string>& numbers) {
  // The end of the whole part: 6 of "6.99×10^-7", 10 of "10^-7".
  const auto point = [](std::string_view number) {
    return std::min(number.find_first_not_of("0123456789~+-<>="), number.size());
  };
  // In characters: continuation bytes of UTF-8 take no column.
  const auto width = [](std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
  };
  std::size_t before = 0, after = 0;
  for (const std::string& number : numbers) {
    before = std::max(before, point(number));
    after = std::max(after, width(number) - point(number));
  }
  for (std::string& number : numbers) {
    const std::size_t left = before - point(number);
    const std::size_t right = after + point(number) - width(number);
    number.insert(0, left, ' ');
    number.append(right, ' ');
  }
}

std::string bar(double fraction, int width, bool unicode) {
  constexpr std::string_view kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  constexpr std::string_view kHalves[] = {"", ":"};
  const int parts = unicode ? 8 : 2;
  const double clamped = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  const int filled = static_cast<int>(std::lround(clamped * width * parts));
  std::string out;
  for (int i = 0; i < filled / parts; ++i) out += unicode ? "█" : "#";
  const auto rest = static_cast<std::size_t>(filled % parts);
  out += unicode ? kEighths[rest] : kHalves[rest];
  const int used = filled / parts + (rest > 0 ? 1 : 0);
  out.append(static_cast<std::size_t>(width - used), ' ');
  return out;
}

}  // namespace rankfall
