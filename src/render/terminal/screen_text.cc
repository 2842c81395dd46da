#include "render/terminal/screen_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "io/utf8.h"
#include <rankfall/report.h>

namespace rankfall {
namespace {

struct Range {
  char32_t first, last;
};

// Enough of Unicode's width tables for names of models: blocks, not single characters.
constexpr Range kCombining[] = {{0x0300, 0x036f}, {0x0483, 0x0489},  {0x0591, 0x05bd}, {0x064b, 0x065f},
                                {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},  {0x20d0, 0x20ff}, {0xfe00, 0xfe0f},
                                {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef}};
constexpr Range kWide[] = {{0x1100, 0x115f},   {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},  {0xf900, 0xfaff},
                           {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
                           {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};

template <std::size_t n>
bool is_in(const Range (&ranges)[n], char32_t code) {
  return std::ranges::any_of(ranges, [code](const Range& r) { return r.first <= code && code <= r.last; });
}

int code_width(char32_t code) { return is_in(kCombining, code) ? 0 : is_in(kWide, code) ? 2 : 1; }

// The longest beginning of `text` that is at most `width` columns wide.
std::string_view beginning(std::string_view text, int width) {
  std::size_t bytes = 0;
  for (int used = 0; bytes < text.size();) {
    const Utf8Unit unit = utf8_decode(text.substr(bytes));
    used += code_width(unit.code);
    if (used > width) break;
    bytes += unit.length;
  }
  return text.substr(0, bytes);
}

constexpr std::pair<std::string_view, std::string_view> kSpelledOut[] = {
    {"‖", "||"},    {"−", "-"},     {"√", "sqrt"},  {"₁", "_1"},   {"₂", "_2"},     {"∞", "_inf"}, {"ᵢ", "_i"},
    {"ⱼ", "_j"},    {"ₖ", "_k"},    {"σ", "sigma"}, {"Σ", "sum "}, {"λ", "lambda"}, {"²", "^2"},   {"½", "1/2"},
    {"≠", "!="},    {"·", "."},     {"→", "->"},    {"…", "..."},  {"—", "-"},      {"×", "x"},    {"±", "+-"},
    {"µ", "u"},     {"≤", "<="},    {"≥", ">="},    {"ᵀ", "^T"},   {"“", "\""},     {"”", "\""},   {"⁻", "-"},
    {"₊", "+"},     {"⁰", "0"},     {"╌", "-"},     {"³", "^3"},   {"₀", "_0"},     {"ₕ", "_h"},   {"ₜ", "_t"},
    {"γ", "gamma"}, {"δ", "delta"}, {"π", "pi"},
};

bool is_of_a_word(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

std::string for_terminal(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += printable(text.substr(at, end - at), std::numeric_limits<std::size_t>::max());
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

std::string screen_text(std::string_view text, bool unicode) {
  const std::string safe = printable(text, std::numeric_limits<std::size_t>::max());
  if (unicode) return safe;
  std::string out;
  for (std::size_t at = 0; at < safe.size();) {
    const Utf8Unit unit = utf8_decode(std::string_view(safe).substr(at));
    const std::string_view sign = std::string_view(safe).substr(at, unit.length);
    const auto* known = std::ranges::find(kSpelledOut, sign, &std::pair<std::string_view, std::string_view>::first);
    const char next = at + unit.length < safe.size() ? safe[at + unit.length] : ' ';
    if (sign == "·" && !out.empty() && out.back() == ' ' && next == ' ') {
      out.back() = ';';  // " · " between two parts of a heading
    } else if (sign == "·" && !out.empty() && is_of_a_word(out.back()) && is_of_a_word(next)) {
      out += ' ';  // a product, "1·mean"
    } else if (known != std::end(kSpelledOut)) {
      out += known->second;
    } else if (unit.code < 0x80) {
      out += static_cast<char>(unit.code);
    } else {
      out += fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(unit.code));
    }
    at += unit.length;
  }
  return out;
}

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const Utf8Unit unit = utf8_decode(text);
    width += code_width(unit.code);
    text.remove_prefix(unit.length);
  }
  return width;
}

std::string fit(std::string_view text, int width, Align align, bool unicode) {
  std::string out(text);
  int used = display_width(out);
  if (used > width) {
    const std::string_view ellipsis = unicode ? "…" : "~";
    out = std::string(beginning(text, width - 1)) + (width > 0 ? std::string(ellipsis) : "");
    used = display_width(out);
  }
  const std::string space(static_cast<std::size_t>(std::max(0, width - used)), ' ');
  return align == Align::kLeft ? out + space : space + out;
}

std::vector<std::string> wrap(std::string_view text, int width, bool unicode) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const auto space = std::min(text.find(' '), text.size());
    std::string word(text.substr(0, space));
    text.remove_prefix(std::min(space + 1, text.size()));
    if (display_width(word) > width) word = fit(word, width, Align::kLeft, unicode);
    if (lines.back().empty()) {
      lines.back() = word;
    } else if (display_width(lines.back()) + 1 + display_width(word) <= width) {
      lines.back() += ' ' + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

}  // namespace rankfall
