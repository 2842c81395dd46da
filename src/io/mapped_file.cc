#include "io/mapped_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errors.h"
#include "io/file_error.h"
#include "io/mapped_guard.h"
#include "io/utf8.h"

namespace rankfall {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& text) {
  throw input_error(printable(path.string()) + ": " + text);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// What a write to a file, or its being cut, changes.
struct Stamp {
  std::uint64_t size = 0;
  std::int64_t seconds = 0, nanoseconds = 0;
  bool operator==(const Stamp&) const = default;
};

Stamp stamp_of(const struct stat& info) {
  return {.size = static_cast<std::uint64_t>(info.st_size),
          .seconds = info.st_mtim.tv_sec,
          .nanoseconds = info.st_mtim.tv_nsec};
}

}  // namespace

// The descriptor stays open: the name may come to mean another file.
struct MappedFile::Opened {
  Descriptor file;
  Stamp stamp;
};

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a fifo for reading would otherwise wait for a writer. Regular files ignore it.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) throw file_error(path, "cannot be opened", errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) throw file_error(path, "cannot be examined", errno);
  if (S_ISDIR(info.st_mode)) fail(path, "is a directory, expected a file");
  if (!S_ISREG(info.st_mode)) fail(path, "is a device, pipe or socket, expected a regular file");
  if (info.st_size <= 0) fail(path, "is empty; the download or the program that wrote it may have failed");
  const auto size = static_cast<std::size_t>(info.st_size);
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (start == MAP_FAILED) throw file_error(path, "cannot be mapped into memory", errno);
  try {
    Opened opened{.file = std::move(file), .stamp = stamp_of(info)};
    return std::shared_ptr<const MappedFile>(
        new MappedFile(path, std::move(opened), {static_cast<const std::byte*>(start), size}));
  } catch (...) {
    ::munmap(start, size);
    throw;
  }
}

MappedFile::MappedFile(std::filesystem::path path, Opened opened, std::span<const std::byte> bytes)
    : path_(std::move(path)),
      opened_(std::make_unique<const Opened>(std::move(opened))),
      bytes_(bytes),
      guarded_(guard_range(bytes.data(), bytes.size(), std::filesystem::absolute(path_).string())) {}

MappedFile::~MappedFile() {
  unguard_range(guarded_);
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::check() const {
  struct stat info {};
  const bool known = ::fstat(opened_->file.get(), &info) == 0;
  const Stamp now = known ? stamp_of(info) : opened_->stamp;
  if (now == opened_->stamp && !guarded_->damaged) return;
  guarded_->said = true;
  throw input_error(what_changed(path_.string(), opened_->stamp.size, now.size));
}

void MappedFile::release(std::span<const std::byte> part) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(bytes_.data());  // a page boundary
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data());
  if (part.empty() || begin < start || begin - start >= bytes_.size()) return;
  const std::size_t offset = begin - start;
  const std::size_t end = offset + std::min(part.size(), bytes_.size() - offset);
  const std::size_t first = (offset + page - 1) / page * page;
  // The last page of the file is whole even when the file ends inside it.
  const std::size_t last = end == bytes_.size() ? end : end / page * page;
  if (first >= last) return;
  ::madvise(const_cast<std::byte*>(bytes_.data()) + first, last - first, MADV_DONTNEED);  // advice: failing is harmless
}

void MappedFile::prefetch(std::span<const std::byte> part) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(bytes_.data());
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data());
  if (part.empty() || begin < start || begin - start + part.size() > bytes_.size()) return;
  const std::size_t first = (begin - start) / page * page;
  ::madvise(const_cast<std::byte*>(bytes_.data()) + first, begin - start + part.size() - first, MADV_WILLNEED);
}

bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::not_found && !error;
}

}  // namespace rankfall
