#pragma once

#include <string>
#include <string_view>

#include <rankfall/error.h>

// The two errors that most code throws, by short names.

namespace rankfall {

inline Error input_error(const std::string& text) { return Error(ErrorKind::kInput, text); }
inline Error input_error(std::string_view where, const std::string& problem) {
  return Error(ErrorKind::kInput, std::string(where) + ": " + problem);
}

inline Error usage_error(const std::string& text) { return Error(ErrorKind::kUsage, text); }
inline Error usage_error(std::string_view where, const std::string& problem) {
  return Error(ErrorKind::kUsage, std::string(where) + ": " + problem);
}

}  // namespace rankfall
