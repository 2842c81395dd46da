#include "base/grid.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/errors.h"
#include "base/number_series.h"
#include "base/parse_number.h"

namespace rankfall {
namespace {

constexpr std::size_t kLongestText = 65'536;
constexpr std::size_t kMostAxes = 16;
constexpr std::int64_t kMostValues = 10'000;  // of one axis

constexpr std::string_view kForms = "expected {a,b,c}, {a..b/k} for k even steps or {a..b*r} for steps by a factor";

// What an error shows of a text: all of it, or its beginning.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 200;
  if (text.size() <= kMost) return std::string(text);
  std::size_t end = kMost;
  while (end > kMost - 4 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // not inside a character
  return std::string(text.substr(0, end)) + "...";
}

bool is_less(const WrittenNumber& a, const WrittenNumber& b) {
  return a.whole && b.whole ? *a.whole < *b.whole : a.value < b.value;
}

// What stands between one pair of braces. Errors name the whole text, then these braces.
class Braces {
 public:
  Braces(std::string where, std::string_view inside) : where_(std::move(where)), inside_(inside) {}

  std::vector<std::string> values(bool with_key) const {
    if (inside_.empty()) fail("{}", kForms);
    std::vector<std::string> values;
    if (inside_.find(',') != std::string_view::npos) {
      values = list();
    } else if (inside_.find("..") != std::string_view::npos) {
      values = range();
    } else {
      values.emplace_back(inside_);
    }
    check_different(values, with_key);
    return values;
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw usage_error("{}: {{{}}}: {}", where_, shown(inside_), fmt::format(format, std::forward<Args>(args)...));
  }

  std::vector<std::string> list() const {
    const auto count = std::ranges::count(inside_, ',') + 1;
    if (count > kMostValues) fail("{} values, expected at most {}", count, kMostValues);
    std::vector<std::string> values;
    values.reserve(static_cast<std::size_t>(count));
    for (std::string_view rest = inside_;;) {
      const auto comma = rest.find(',');
      const std::string_view value = rest.substr(0, comma);
      if (value.empty()) fail("a value is empty; remove the comma or write the value");
      if (const auto dots = value.find(".."); dots != std::string_view::npos && written_number(value.substr(0, dots))) {
        fail("'{}' is a range in a list; write its values one by one, or the range alone in the braces", shown(value));
      }
      values.emplace_back(value);
      if (comma == std::string_view::npos) return values;
      rest.remove_prefix(comma + 1);
    }
  }

  WrittenNumber number(std::string_view text) const {
    const auto found = written_number(text);
    if (!found) fail("'{}' is not a finite number; {}", shown(text), kForms);
    return *found;
  }

  std::vector<std::string> range() const {
    const auto dots = inside_.find("..");
    const auto step = inside_.find_first_of("/*", dots);
    if (step == std::string_view::npos) {
      fail("no step; expected {{{0}/k}} for k even steps or {{{0}*r}} for steps by a factor", shown(inside_));
    }
    if (inside_[dots + 2] == '.') fail("three dots; expected two");
    const WrittenNumber a = number(inside_.substr(0, dots));
    const WrittenNumber b = number(inside_.substr(dots + 2, step - dots - 2));
    const std::string_view last = inside_.substr(step + 1);
    return inside_[step] == '/' ? even(a, b, last) : geometric(a, b, number(last));
  }

  std::vector<std::string> even(const WrittenNumber& a, const WrittenNumber& b, std::string_view count) const {
    const auto k = parse_number<std::int64_t>(count);
    if (!k || *k < 1 || *k > kMostValues) {
      fail("'{}' values, expected a whole number from 1 to {}", shown(count), kMostValues);
    }
    const bool same = !is_less(a, b) && !is_less(b, a);
    if (*k == 1 && !same) fail("1 value from {} to {}, expected at least 2", shown(a.text), shown(b.text));
    if (*k > 1 && same) fail("{} equal values; write {} alone", *k, shown(a.text));
    return even_steps(a, b, *k);
  }

  std::vector<std::string> geometric(const WrittenNumber& a, const WrittenNumber& b, const WrittenNumber& r) const {
    if (!(a.value > 0)) fail("begins at {}, expected a number above 0 for steps by a factor", shown(a.text));
    if (is_less(b, a)) fail("ends at {}, below its beginning; expected the smaller number first", shown(b.text));
    if (!(r.value > 1)) fail("the factor is {}, expected a number above 1", shown(r.text));
    auto values = geometric_steps(a, b, r, kMostValues);
    if (!values) fail("more than {} values; use a larger factor", kMostValues);
    return *std::move(values);
  }

  // Values of a key are numbers where they look like numbers: 0.1 and 0.10 are then the same one. Parts of a path
  // differ.
  void check_different(const std::vector<std::string>& values, bool with_key) const {
    std::set<std::string> seen;
    for (const std::string& value : values) {
      const auto number = with_key ? written_number(value) : std::nullopt;
      if (!seen.insert(number ? shortest_text(*number) : value).second) {
        fail("the value {} appears twice, expected different values", shown(value));
      }
    }
  }

  std::string where_;
  std::string_view inside_;
};

// KEY if KEY= ends the text before a brace; empty if there is none, or if it begins at a brace and is part of a word.
std::string_view key_before(std::string_view before, bool behind_brace) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_part = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  };
  if (!before.ends_with('=')) return {};
  before.remove_suffix(1);
  std::size_t begin = before.size();
  while (begin > 0 && is_part(before[begin - 1])) --begin;
  if (begin == 0 && behind_brace) return {};
  std::string_view key = before.substr(begin);
  key.remove_prefix(std::min(key.size(), key.find_first_not_of('-')));  // the name of an option
  return !key.empty() && is_letter(key[0]) ? key : std::string_view{};
}

}  // namespace

Grid parse_grid(std::string_view text) {
  if (text.size() > kLongestText) {
    throw usage_error("{}: {} bytes, expected at most {}", shown(text), text.size(), kLongestText);
  }
  Grid grid;
  grid.text = text;
  const std::string where = shown(text);
  std::size_t begin = 0;
  for (;;) {
    const std::size_t open = text.find_first_of("{}", begin);
    grid.between.emplace_back(text.substr(begin, open == std::string_view::npos ? open : open - begin));
    if (open == std::string_view::npos) return grid;
    if (text[open] == '}') throw usage_error("{}: '}}' at byte {} has no '{{' before it; {}", where, open + 1, kForms);
    const std::size_t close = text.find_first_of("{}", open + 1);
    if (close == std::string_view::npos) {
      throw usage_error("{}: '{{' at byte {} has no '}}' behind it; {}", where, open + 1, kForms);
    }
    if (text[close] == '{') {
      throw usage_error("{}: '{{' at byte {} is inside braces; {}, without braces in it", where, close + 1, kForms);
    }
    if (grid.axes.size() == kMostAxes) throw usage_error("{}: more than {} pairs of braces", where, kMostAxes);
    const std::string_view key = key_before(grid.between.back(), !grid.axes.empty());
    if (!key.empty() && std::ranges::find(grid.axes, key, &GridAxis::key) != grid.axes.end()) {
      throw usage_error("{}: '{}=' stands before braces twice; expected one grid for a key", where, key);
    }
    GridAxis axis;
    axis.key = key.empty() ? std::to_string(grid.axes.size() + 1) : std::string(key);
    axis.values = Braces(where, text.substr(open + 1, close - open - 1)).values(!key.empty());
    if (__builtin_mul_overflow(grid.n_points, axis.values.size(), &grid.n_points)) {
      throw usage_error("{}: more than {} points; use fewer values", where, UINT64_MAX);
    }
    grid.axes.push_back(std::move(axis));
    begin = close + 1;
  }
}

GridPoint Grid::point(std::uint64_t i) const {
  RANKFALL_DCHECK(i < n_points && between.size() == axes.size() + 1);
  GridPoint point;
  point.values.resize(axes.size());
  for (std::size_t a = axes.size(); a-- > 0;) {
    const std::vector<std::string>& values = axes[a].values;
    point.values[a] = values[i % values.size()];
    i /= values.size();
  }
  for (std::size_t a = 0; a < axes.size(); ++a) point.text += between[a] + point.values[a];
  point.text += between.back();
  return point;
}

void check_grid_size(const Grid& grid, std::uint64_t most) {
  if (grid.n_points <= most) return;
  std::string sizes;
  for (const GridAxis& axis : grid.axes) {
    sizes += fmt::format("{}{} of {}", sizes.empty() ? "" : ", ", axis.values.size(), axis.key);
  }
  throw usage_error("{}: a grid of {} points ({}), expected at most {}; use fewer values", shown(grid.text),
                    grid.n_points, sizes, most);
}

}  // namespace rankfall
