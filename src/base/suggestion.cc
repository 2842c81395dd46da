#include "base/suggestion.h"

#include <algorithm>

namespace rankfall {
namespace {

constexpr std::size_t kLongestWord = 64;  // nobody mistypes a longer name, and the distance takes quadratic time

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::optional<std::string> only_beginning(const std::string& word, const std::vector<std::string>& known) {
  constexpr std::size_t kEnoughToTell = 3;
  std::optional<std::string> found;
  for (const std::string& name : known) {
    if (word.size() < kEnoughToTell || !lower(name).starts_with(word)) continue;
    if (found) return std::nullopt;
    found = name;
  }
  return found;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) >= limit) return limit;
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    if (*std::ranges::min_element(row) >= limit) return limit;  // rows do not fall
    std::swap(before, last);
    std::swap(last, row);
  }
  return std::min(last[b.size()], limit);
}

std::optional<std::string> nearest_name(std::string_view given, const std::vector<std::string>& known) {
  if (given.empty() || given.size() > kLongestWord) return std::nullopt;
  const std::string word = lower(given);
  std::optional<std::string> nearest;
  std::size_t least = word.size() / 3 + 1;
  for (const std::string& name : known) {
    if (name.size() > kLongestWord) continue;
    const std::size_t slips = edit_distance(word, lower(name), least);
    if (slips >= least) continue;
    nearest = name;
    least = slips;
  }
  return nearest ? nearest : only_beginning(word, known);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const auto name = nearest_name(word, known);
  return name ? "; did you mean '" + *name + "'?" : "";
}

}  // namespace rankfall
