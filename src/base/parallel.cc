#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/machine.h"

#ifdef RANKFALL_TBB
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#endif

namespace rankfall {
namespace {

std::atomic<int>& thread_count() {
  static std::atomic<int> n{cores_allowed()};
  return n;
}

// Keeps the exception of the smallest index.
class FirstError {
 public:
  void keep(Index i) {
    const std::lock_guard lock(mutex_);
    if (!error_ || i < index_) {
      index_ = i;
      error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  Index index_ = 0;
  std::exception_ptr error_;
};

}  // namespace

void set_threads(int n) { thread_count() = std::max(1, n); }

int threads() { return thread_count(); }

#ifdef RANKFALL_TBB

namespace {

// How many of n threads, the caller's included, can be had: limits of users and containers end below n, and TBB does
// not survive a thread that cannot be made.
int threads_available(int n) {
  std::vector<std::thread> pool;
  std::latch done(1);
  try {
    while (static_cast<int>(pool.size()) + 1 < n) pool.emplace_back([&] { done.wait(); });
  } catch (const std::system_error&) {
  }
  done.count_down();
  for (std::thread& thread : pool) thread.join();
  return static_cast<int>(pool.size()) + 1;
}

// The arena for threads(). Arenas live on when the number changes and when main ends, because workers may still be in
// them. More threads than cores are allowed only under a control; without it TBB complains on standard error.
tbb::task_arena& current_arena() {
  static std::mutex mutex;
  static auto& arenas = *new std::map<int, tbb::task_arena>;
  static auto& control = *new std::unique_ptr<tbb::global_control>;
  static int controlled = 0;
  const std::lock_guard lock(mutex);
  const auto found = arenas.find(threads());
  if (found != arenas.end()) return found->second;
  const int n = threads_available(threads());
  if (n > controlled) {
    control.reset();  // of several controls the smallest counts
    control = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                    static_cast<std::size_t>(n));
    controlled = n;
  }
  return arenas.try_emplace(threads(), n).first->second;
}

}  // namespace

void parallel_for(Index n, const std::function<void(Index)>& body) {
  FirstError error;
  const auto guarded = [&](Index i) {
    try {
      body(i);
    } catch (...) {
      error.keep(i);
    }
  };
  if (n <= 1 || threads() == 1) {
    for (Index i = 0; i < n; ++i) guarded(i);
  } else {
    current_arena().execute([&] { tbb::parallel_for(Index{0}, n, guarded, tbb::simple_partitioner()); });
  }
  error.rethrow();
}

#else

// The outermost loop gets the threads; loops inside it run in place.
void parallel_for(Index n, const std::function<void(Index)>& body) {
  static thread_local bool inside = false;
  FirstError error;
  std::atomic<Index> next{0};
  const auto work = [&] {
    for (Index i = next++; i < n; i = next++) {
      try {
        body(i);
      } catch (...) {
        error.keep(i);
      }
    }
  };
  const Index workers = inside ? 1 : std::min<Index>(n, threads());
  if (workers <= 1) {
    work();
  } else {
    std::vector<std::thread> pool;
    try {
      for (Index w = 0; w < workers; ++w) {
        pool.emplace_back([&] {
          inside = true;
          work();
        });
      }
    } catch (const std::system_error&) {
      if (pool.empty()) work();  // not one thread can be made
    }
    for (auto& t : pool) t.join();
  }
  error.rethrow();
}

#endif

}  // namespace rankfall
