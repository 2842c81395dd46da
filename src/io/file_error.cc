#include "io/file_error.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <system_error>

#include "base/errors.h"
#include "io/utf8.h"

namespace rankfall {
namespace {

struct Cause {
  int error;
  std::string_view text;
};
constexpr Cause kCauses[] = {
    {ENOENT, "; there is no such file or folder: check the path"},
    {ENOTDIR, "; a part of the path is a file, not a folder"},
    {EACCES, "; this user may not: check the permissions of the file and its folder"},
    {EPERM, "; this user may not: check the permissions of the file and its folder"},
    {EROFS, "; the file system is read-only"},
    {ENXIO, "; it is a device, pipe or socket, expected a regular file"},
    {ENOSPC, "; the disk is full"},
    {EDQUOT, "; this user's disk quota is used up"},
    {EFBIG, "; the file would be larger than this system allows"},
    {ENAMETOOLONG, "; the name is too long for this file system"},
    {ELOOP, "; symbolic links point at each other"},
    {EMFILE, "; too many files are open"},
    {ENFILE, "; too many files are open"},
    {ENOMEM, "; the file may be larger than the address space allowed to this process (ulimit -v)"},
};

}  // namespace

Error file_error(const std::filesystem::path& path, std::string_view what, int error) {
  if (error == ENOENT && what == "cannot be opened") return input_error("{}: no such file", printable(path.string()));
  const auto* cause = std::ranges::find(kCauses, error, &Cause::error);
  return input_error("{}: {}: {}{}", printable(path.string()), what, std::generic_category().message(error),
                     cause == std::end(kCauses) ? std::string_view() : cause->text);
}

}  // namespace rankfall
