#include "io/mapped_guard.h"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/errors.h"
#include "io/utf8.h"
#include <rankfall/process.h>

namespace rankfall {
namespace {

std::atomic<GuardedRange*> ranges{nullptr};
std::atomic<bool> any_damaged{false};
std::uintptr_t page_size = 0;  // set before the handler is installed

std::mutex& range_mutex() {
  static auto& mutex = *new std::mutex;  // files may be closed after main
  return mutex;
}

// Messages about files that were closed before anybody asked. Under the lock.
std::vector<std::string>& unsaid() {
  static auto& messages = *new std::vector<std::string>;
  return messages;
}

// The range an address lies in. A range may be given up, and used for another file, between two of these lines: its
// begin is written first when it is taken and last when it is given up, so a pair is sound if begin is still the same.
GuardedRange* range_of(std::uintptr_t address, std::uintptr_t& end) {
  for (GuardedRange* range = ranges.load(std::memory_order_acquire); range; range = range->next) {
    std::uintptr_t begin = 0;
    do {
      begin = range->begin.load();
      end = range->end.load();
    } while (range->begin.load() != begin);
    if (begin != 0 && address >= begin && address < end) return range;
  }
  return nullptr;
}

// Zeros from the fault to the end of the file's range: what lies behind it is gone too, or nobody may use it anyway.
bool patch(std::uintptr_t address) {
  std::uintptr_t end = 0;
  GuardedRange* range = range_of(address, end);
  if (!range) return false;
  const std::uintptr_t first = address / page_size * page_size;
  void* zeros =
      mmap(reinterpret_cast<void*>(first), end - first, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (zeros == MAP_FAILED) return false;
  range->damaged.store(true);
  any_damaged.store(true);
  return true;
}

// Whose turn it is where a fault does not lie in a mapped file: the handler that a MappedFilesGuard found. One of the
// two.
using Plain = void (*)(int);
using WithInfo = void (*)(int, siginfo_t*, void*);
std::atomic<Plain> next_plain{SIG_DFL};
std::atomic<WithInfo> next_with_info{nullptr};

void hand_over(int signal, siginfo_t* info, void* context) {
  const WithInfo with_info = next_with_info.load();
  const Plain plain = next_plain.load();
  if (with_info) {
    with_info(signal, info, context);
  } else if (plain != SIG_DFL && plain != SIG_IGN) {
    plain(signal);
  } else {
    raise(signal);  // delivered when this handler returns
  }
  // A handler that reports and then raises the signal again wants the process to end. Its previous handler, to which it
  // has gone back, may be the one below: that would report once more.
  sigset_t pending;
  if (sigpending(&pending) == 0 && sigismember(&pending, signal) == 1) std::signal(signal, SIG_DFL);
}

extern "C" void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const bool by_kernel = info->si_code > 0;
  if (!by_kernel || !patch(reinterpret_cast<std::uintptr_t>(info->si_addr))) hand_over(signal, info, context);
  errno = saved;
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_bus_error;
}

void install() {
  page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction ours {};
  ours.sa_sigaction = on_bus_error;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;  // on the other stack, where a handler that comes next made one
  sigemptyset(&ours.sa_mask);
  sigaction(SIGBUS, &ours, nullptr);
}

// The guards that exist, and the action that the first of them replaced.
struct Guards {
  std::mutex mutex;
  int count = 0;
  bool replaced = false;
  struct sigaction before {};
};

Guards& guards() {
  static auto& all = *new Guards;  // guards may exist after main
  return all;
}

std::string message(const GuardedRange& range) {
  const std::uint64_t size = range.end.load() - range.begin.load();
  std::error_code error;
  const auto now = std::filesystem::file_size(range.path, error);
  return what_changed(range.path, size, error ? size : now);
}

}  // namespace

std::string what_changed(const std::string& path, std::uint64_t size_before, std::uint64_t size_now) {
  const std::string cause =
      size_now != size_before
          ? fmt::format("it had {} bytes and has {} now; another program may be writing or downloading it", size_before,
                        size_now)
          : "another program may have written to it, or a part of it cannot be read from the disk";
  return fmt::format("{}: changed while it was being read: {}", printable(path), cause);
}

GuardedRange* guard_range(const void* begin, std::size_t size, std::string path) {
  const std::lock_guard lock(range_mutex());
  GuardedRange* range = ranges.load();
  while (range && range->taken) range = range->next;
  const bool fresh = range == nullptr;
  if (fresh) range = new GuardedRange;
  range->taken = true;
  range->path = std::move(path);
  range->damaged = false;
  range->said = false;
  range->begin = reinterpret_cast<std::uintptr_t>(begin);
  range->end = reinterpret_cast<std::uintptr_t>(begin) + size;
  if (fresh) {
    range->next = ranges.load();
    ranges.store(range, std::memory_order_release);
  }
  return range;
}

void unguard_range(GuardedRange* range) {
  const std::lock_guard lock(range_mutex());
  if (range->damaged && !range->said) unsaid().push_back(message(*range));
  range->end = 0;
  range->begin = 0;
  range->taken = false;
}

void guard_mapped_files() {
  struct sigaction now {};
  if (sigaction(SIGBUS, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;
  install();
}

MappedFilesGuard::MappedFilesGuard() {
  Guards& all = guards();
  const std::lock_guard lock(all.mutex);
  ++all.count;
  struct sigaction now {};
  if (sigaction(SIGBUS, nullptr, &now) != 0 || is_ours(now)) return;
  const bool has_info = (now.sa_flags & SA_SIGINFO) != 0;
  next_plain = has_info ? SIG_DFL : now.sa_handler;
  next_with_info = has_info ? now.sa_sigaction : nullptr;
  all.before = now;
  all.replaced = true;
  install();
}

MappedFilesGuard::~MappedFilesGuard() {
  Guards& all = guards();
  const std::lock_guard lock(all.mutex);
  if (--all.count != 0 || !all.replaced) return;
  all.replaced = false;
  struct sigaction now {};
  // Whoever has replaced our handler meanwhile, or gone back to what was there before, has decided for himself.
  if (sigaction(SIGBUS, nullptr, &now) == 0 && is_ours(now)) sigaction(SIGBUS, &all.before, nullptr);
  next_with_info = nullptr;
  next_plain = SIG_DFL;
}

void check_mapped_files() {
  if (!any_damaged.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(range_mutex());
  for (GuardedRange* range = ranges.load(); range; range = range->next) {
    if (!range->taken || !range->damaged) continue;
    range->said = true;
    throw input_error(message(*range));
  }
  if (unsaid().empty()) return;
  const std::string text = std::move(unsaid().back());
  unsaid().pop_back();
  throw input_error(text);
}

}  // namespace rankfall
