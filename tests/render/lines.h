#pragma once

#include <string>
#include <vector>

namespace rankfall {

inline std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == '\n') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

}  // namespace rankfall
