#include "text/replacement_table.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "io/utf8.h"
#include "text/unicode.h"

namespace rankfall {
namespace {

constexpr std::size_t kMaxTableBytes = 4 << 20;
constexpr std::size_t kMaxReplacement = 256;
constexpr int kMaxTableDepth = 64;  // real ones: 10
constexpr int kMaxLeaves = 30;      // on one way; the library has room for 32
constexpr std::int8_t kNotVisited = -1;
constexpr std::int8_t kOpen = -2;

std::uint32_t link_offset(std::uint32_t unit) { return (unit >> 10) << ((unit & (1U << 9)) >> 6); }
bool has_leaf(std::uint32_t unit) { return (unit & (1U << 8)) != 0; }

// Bytes with every space as U+2581.
std::size_t size_with_marks(std::string_view text) {
  return text.size() + 2 * static_cast<std::size_t>(std::ranges::count(text, ' '));
}

[[noreturn]] void refuse(const ReplacementTable::Fail& fail, const std::string& problem) {
  fail("its table of replacements " + problem);
  std::abort();  // fail throws
}

}  // namespace

ReplacementTable::ReplacementTable(std::string_view table, const Fail& fail) {
  std::uint32_t size = 0;
  if (table.size() < sizeof size || table.size() > kMaxTableBytes) refuse(fail, "is of an impossible size");
  std::memcpy(&size, table.data(), sizeof size);
  table.remove_prefix(sizeof size);
  if (size > table.size() || size == 0 || size % 1024 != 0) {
    refuse(fail, fmt::format("has {} bytes, of which {} should be links", table.size(), size));
  }
  units_.resize(size / 4);
  std::memcpy(units_.data(), table.data(), size);
  texts_ = table.substr(size);
  if (texts_.empty() || texts_.back() != '\0') refuse(fail, "does not end with NUL");
  if ((units_[0] >> 31) != 0) refuse(fail, "begins with a leaf");
  leaves_below_.assign(units_.size(), kNotVisited);
  visit(link_offset(units_[0]), 0, fail);
  leaves_below_ = {};
}

// The most leaves on a way from here on. `base` is where steps start: a step by c goes to base ^ c.
int ReplacementTable::visit(std::uint32_t base, int depth, const Fail& fail) {
  if ((base | 0xFFU) >= units_.size()) refuse(fail, "has a link that leads outside");
  if (depth > kMaxTableDepth) refuse(fail, "is too deep");
  std::int8_t& known = leaves_below_[base];
  if (known == kOpen) refuse(fail, "leads in a circle");
  if (known != kNotVisited) return known;
  known = kOpen;
  int most = 0;
  for (std::uint32_t c = 0; c < 256; ++c) {
    const std::uint32_t at = base ^ c;
    const std::uint32_t unit = units_[at];
    if ((unit & 0x800000FFU) != c) continue;  // another way's
    const std::uint32_t next = at ^ link_offset(unit);
    if (has_leaf(unit)) check_leaf(next, fail);
    most = std::max(most, visit(next, depth + 1, fail) + (has_leaf(unit) ? 1 : 0));
  }
  if (most > kMaxLeaves) refuse(fail, "has too many replacements on one way");
  leaves_below_[base] = static_cast<std::int8_t>(most);
  return most;
}

void ReplacementTable::check_leaf(std::uint32_t at, const Fail& fail) const {
  if (at >= units_.size() || (units_[at] >> 31) == 0) refuse(fail, "has a leaf that is none");
  const std::size_t place = units_[at] & 0x7FFFFFFFU;
  if (place >= texts_.size()) refuse(fail, "has a replacement that lies outside");
  if (texts_.find('\0', place) - place > kMaxReplacement) refuse(fail, "has a replacement that is too long");
}

std::string_view ReplacementTable::text_at(std::uint32_t leaf) const {
  return std::string_view(texts_.data() + (units_[leaf] & 0x7FFFFFFFU));  // ended by NUL, as check_leaf saw
}

std::optional<std::string_view> ReplacementTable::shortest(std::string_view text) const {
  std::uint32_t base = link_offset(units_[0]);
  for (const char byte : text) {
    const auto c = static_cast<unsigned char>(byte);
    const std::uint32_t unit = units_[base ^ c];
    if ((unit & 0x800000FFU) != c) return std::nullopt;
    base = base ^ c ^ link_offset(unit);
    if (has_leaf(unit)) return text_at(base);
  }
  return std::nullopt;
}

std::string ReplacementTable::replaced(std::string_view text) const {
  constexpr std::size_t kMaxWhole = 6;
  if (units_.empty()) return std::string(text);
  std::string out;
  for_each_grapheme(text, [&](std::string_view grapheme) {
    const auto whole = grapheme.size() < kMaxWhole ? shortest(grapheme) : std::nullopt;
    if (whole) {
      out += *whole;
      return;
    }
    for_each_code(grapheme,
                  [&](char32_t, std::string_view character) { out += shortest(character).value_or(character); });
  });
  return out;
}

std::size_t ReplacementTable::grown(std::string_view text) const {
  if (units_.empty()) return size_with_marks(text);
  std::size_t n_bytes = 0;
  while (!text.empty()) {
    std::size_t matched = 0;
    std::string_view replacement;
    std::uint32_t base = link_offset(units_[0]);
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      const std::uint32_t unit = units_[base ^ c];
      if ((unit & 0x800000FFU) != c) break;
      base = base ^ c ^ link_offset(unit);
      if (!has_leaf(unit)) continue;
      matched = i + 1;
      replacement = text_at(base);
    }
    if (matched == 0) {
      matched = utf8_decode(text).length;
      replacement = text.substr(0, matched);
    }
    n_bytes += size_with_marks(replacement);
    text.remove_prefix(matched);
  }
  return n_bytes;
}

}  // namespace rankfall
