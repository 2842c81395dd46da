#pragma once

#include <chrono>

namespace rankfall {

// What `work()` takes.
double seconds(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace rankfall
