#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>

#include <rankfall/error.h>

// The errors that code throws, by short names: a text, or a format and what it is filled with.

namespace rankfall {

inline Error input_error(const std::string& text) { return Error(ErrorKind::kInput, text); }
template <class... Args>
Error input_error(fmt::format_string<Args...> format, Args&&... args) {
  return input_error(fmt::format(format, std::forward<Args>(args)...));
}

inline Error usage_error(const std::string& text) { return Error(ErrorKind::kUsage, text); }
template <class... Args>
Error usage_error(fmt::format_string<Args...> format, Args&&... args) {
  return usage_error(fmt::format(format, std::forward<Args>(args)...));
}

inline Error numerical_error(const std::string& text) { return Error(ErrorKind::kNumerical, text); }
template <class... Args>
Error numerical_error(fmt::format_string<Args...> format, Args&&... args) {
  return numerical_error(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace rankfall
