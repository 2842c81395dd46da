#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/parallel.h"

// A deliberate data race between two bodies of parallel_for. It proves that the tsan preset sees races in code that
// runs through base/parallel.h; ctest expects the report.

int main() {
  rankfall::set_threads(2);
  // ThreadSanitizer can miss two accesses in the very same moment, so there are many: volatile keeps them apart.
  volatile int shared = 0;
  // Both bodies must be running before either writes, or one thread might do both. Relaxed: the meeting must not order
  // the writes.
  std::atomic<int> arrived{0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  rankfall::parallel_for(2, [&](rankfall::Index i) {
    arrived.fetch_add(1, std::memory_order_relaxed);
    while (arrived.load(std::memory_order_relaxed) < 2 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    for (int k = 0; k < 1000; ++k) {
      shared = shared + static_cast<int>(i) + k;
      if (k % 100 == 0) std::this_thread::yield();
    }
  });
  std::printf("shared = %d, bodies that met: %d\n", int{shared}, arrived.load());
  return 0;
}
