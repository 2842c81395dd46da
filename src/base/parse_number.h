#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace rankfall {

// The number that the whole of `text` is, as std::from_chars reads it: no spaces, no leading +. Nothing if it is not
// one or leaves the range of T.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace rankfall
