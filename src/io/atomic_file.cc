#include "io/atomic_file.h"

#include <cerrno>
#include <chrono>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dcheck.h"
#include "base/errors.h"
#include "base/parse_number.h"
#include "io/file_error.h"

namespace rankfall {
namespace {

namespace fs = std::filesystem;

// Where the links of a path lead. Magic links of /proc/self/fd do not name a path: those give the descriptor.
struct Destination {
  fs::path path;
  std::optional<int> descriptor;
};

Destination follow_links(const fs::path& target) {
  constexpr int kMaxLinks = 40;  // as the kernel's
  const fs::path own_descriptors = fmt::format("/proc/{}/fd", ::getpid());
  fs::path path = target;
  for (int i = 0; i < kMaxLinks; ++i) {
    std::error_code none;
    if (!fs::is_symlink(fs::symlink_status(path, none))) return {.path = path, .descriptor = {}};
    if (fs::canonical(path.has_parent_path() ? path.parent_path() : ".", none) == own_descriptors) {
      const std::string name = path.filename().string();
      if (const auto descriptor = parse_number<int>(name)) return {.path = path, .descriptor = *descriptor};
    }
    std::error_code error;
    const fs::path next = fs::read_symlink(path, error);
    if (error) throw file_error(target, "cannot be written", error.value());
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  throw file_error(target, "cannot be written", ELOOP);
}

std::string random_suffix() {
  std::random_device device;  // the kernel's generator: a name nobody can prepare a link at
  return fmt::format("{:08x}{:08x}", device(), device());
}

// The beginning of a name, so that name, suffix and dots stay within the 255 bytes of a file name.
std::string shortened(std::string name) {
  constexpr std::size_t kMaxName = 200;
  if (name.size() > kMaxName) name.resize(kMaxName);
  return name;
}

constexpr int kAttempts = 16;  // at finding a name that is free

fs::path temporary_name(const fs::path& target) {
  return target.parent_path() / fmt::format(".{}.{}.tmp", shortened(target.filename().string()), random_suffix());
}

// Whether `name` is temporary_name of a file called `target`.
bool is_temporary_name(std::string_view name, const std::string& target) {
  constexpr std::string_view kEnd = ".tmp";
  constexpr std::size_t kSuffix = 16;
  const std::string begin = fmt::format(".{}.", shortened(target));
  if (name.size() != begin.size() + kSuffix + kEnd.size() || !name.starts_with(begin) || !name.ends_with(kEnd))
    return false;
  return name.substr(begin.size(), kSuffix).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Gives a nameless file this name, if nobody has it.
bool link_nameless(int fd, const fs::path& path) {
  const std::string nameless = fmt::format("/proc/self/fd/{}", fd);
  return ::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

// Gives a nameless file a name nobody else has; empty, with errno set, if that fails.
fs::path link_temporary(int fd, const fs::path& target) {
  for (int i = 0; i < kAttempts; ++i) {
    fs::path path = temporary_name(target);
    if (link_nameless(fd, path)) return path;
    if (errno != EEXIST && errno != EINTR) return {};
  }
  return {};
}

template <class Call>
auto retry_if_interrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

void sync_folder(const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;  // a folder we may write to but not read: the file is complete all the same
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& target) : target_(target) {
  const Destination destination = follow_links(target);
  resolved_ = destination.path;
  if (destination.descriptor) {
    // A second opening of the same file would begin at its start and overwrite what is there; a duplicate goes on.
    fd_ = ::fcntl(*destination.descriptor, F_DUPFD_CLOEXEC, 0);
    if (fd_ < 0) throw file_error(target_, "cannot be written", errno);
    direct_ = true;
    return;
  }
  struct stat info {};
  const bool exists = ::stat(resolved_.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) throw file_error(target_, "cannot be written", EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    open_special(S_ISFIFO(info.st_mode));
    return;
  }
  // rename() asks only the folder; a file that was made read-only is meant to stay.
  if (exists && ::faccessat(AT_FDCWD, resolved_.c_str(), W_OK, AT_EACCESS) != 0) {
    throw file_error(target_, "cannot be replaced", errno);
  }
  create_temporary();
  if (exists && ::fchmod(fd_, info.st_mode & 0777U) != 0) {
    const int error = errno;
    remove_temporary();
    throw file_error(target_, "cannot be given its permissions", error);
  }
}

AtomicFile::~AtomicFile() { remove_temporary(); }

// A named pipe that nobody reads would make open() wait for ever; without waiting it is an error (ENXIO). Readers that
// are just starting are given two seconds.
void AtomicFile::open_special(bool pipe) {
  for (int i = 0; i < 40; ++i) {
    fd_ = retry_if_interrupted([&] { return ::open(resolved_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY); });
    if (fd_ >= 0 || !pipe || errno != ENXIO) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (fd_ < 0 && pipe && errno == ENXIO) throw input_error("{}: is a pipe that nobody reads", target_.string());
  if (fd_ < 0) throw file_error(target_, "cannot be written", errno);
  ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) & ~O_NONBLOCK);
  direct_ = true;
}

void AtomicFile::create_temporary() {
  const fs::path folder = resolved_.has_parent_path() ? resolved_.parent_path() : ".";
  fd_ = retry_if_interrupted([&] { return ::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0666); });
  if (fd_ >= 0) return;
  for (int i = 0; i < kAttempts; ++i) {
    fs::path path = temporary_name(resolved_);
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd_ >= 0) {
      temporary_ = std::move(path);
      return;
    }
    if (errno != EEXIST && errno != EINTR) throw file_error(target_, "cannot be created", errno);
  }
  throw file_error(target_, "cannot be created", EEXIST);
}

void AtomicFile::remove_temporary() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void AtomicFile::write(std::string_view text) {
  if (fd_ < 0) throw Bug("AtomicFile: write after commit");
  while (!text.empty()) {
    const ssize_t n = retry_if_interrupted([&] { return ::write(fd_, text.data(), text.size()); });
    if (n < 0) throw file_error(target_, "cannot be written", errno);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  if (fd_ < 0) throw Bug("AtomicFile: write after commit");
  if (offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) - bytes.size()) {
    throw file_error(target_, "cannot be written", EFBIG);
  }
  while (!bytes.empty()) {
    const ssize_t n =
        retry_if_interrupted([&] { return ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (n < 0) throw file_error(target_, "cannot be written", errno);
    offset += static_cast<std::uint64_t>(n);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

void AtomicFile::reserve(std::uint64_t size) {
  if (fd_ < 0) throw Bug("AtomicFile: reserve after commit");
  if (size > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) {
    throw file_error(target_, "cannot be created", EFBIG);
  }
  if (direct_ || size == 0) return;  // a device has no size to reserve
  const auto length = static_cast<off_t>(size);
  if (retry_if_interrupted([&] { return ::fallocate(fd_, 0, 0, length); }) == 0) return;
  // Not every file system can; then a full disk shows when writing.
  const bool unsupported = errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL;
  if (!unsupported || retry_if_interrupted([&] { return ::ftruncate(fd_, length); }) != 0) {
    throw file_error(target_, fmt::format("cannot be given its {} bytes", size), errno);
  }
}

void AtomicFile::commit() {
  if (fd_ < 0) throw Bug("AtomicFile: committed twice");
  if (direct_) {
    if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) throw file_error(target_, "cannot be written", errno);
    return;
  }
  if (retry_if_interrupted([&] { return ::fsync(fd_); }) != 0) throw file_error(target_, "cannot be written", errno);
  // A new file takes its name at once. A file can be replaced only by one that has a name: whoever is killed between
  // the two calls leaves that name behind.
  const bool in_place = temporary_.empty() && link_nameless(fd_, resolved_);
  if (!in_place && temporary_.empty()) {
    temporary_ = link_temporary(fd_, resolved_);
    if (temporary_.empty()) throw file_error(target_, "cannot be given its name", errno);
  }
  if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) throw file_error(target_, "cannot be written", errno);
  if (!in_place && ::rename(temporary_.c_str(), resolved_.c_str()) != 0) {
    throw file_error(target_, "cannot be replaced", errno);
  }
  temporary_.clear();
  sync_folder(resolved_);
}

const fs::path& without_link(const fs::path& file) {
  std::error_code error;
  if (!fs::is_symlink(fs::symlink_status(file, error))) return file;
  fs::remove(file, error);
  if (error) throw file_error(file, "cannot be replaced", error.value());
  return file;
}

void remove_leftovers(const fs::path& target) {
  const fs::path folder = target.has_parent_path() ? target.parent_path() : ".";
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (is_temporary_name(it->path().filename().string(), target.filename().string())) leftovers.push_back(it->path());
  }
  for (const fs::path& leftover : leftovers) fs::remove(leftover, error);
}

void write_file_atomically(const fs::path& target, std::string_view text) {
  AtomicFile file(target);
  file.write(text);
  file.commit();
}

}  // namespace rankfall
