#include "io/file_error.h"

#include <cerrno>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "io/utf8.h"

namespace rankfall {
namespace {

std::string_view likely_cause(int error) {
  switch (error) {
    case ENOENT:
      return "; there is no such file or folder: check the path";
    case ENOTDIR:
      return "; a part of the path is a file, not a folder";
    case EACCES:
    case EPERM:
      return "; this user may not: check the permissions of the file and its folder";
    case EROFS:
      return "; the file system is read-only";
    case ENXIO:
      return "; it is a device, pipe or socket, expected a regular file";
    case ENOSPC:
      return "; the disk is full";
    case EDQUOT:
      return "; this user's disk quota is used up";
    case EFBIG:
      return "; the file would be larger than this system allows";
    case ENAMETOOLONG:
      return "; the name is too long for this file system";
    case ELOOP:
      return "; symbolic links point at each other";
    case EMFILE:
    case ENFILE:
      return "; too many files are open";
    case ENOMEM:
      return "; the file may be larger than the address space allowed to this process (ulimit -v)";
    default:
      return "";
  }
}

}  // namespace

Error file_error(const std::filesystem::path& path, std::string_view what, int error) {
  return Error(ErrorKind::kInput, fmt::format("{}: {}: {}{}", printable(path.string()), what,
                                              std::generic_category().message(error), likely_cause(error)));
}

}  // namespace rankfall
