#include "io/file_signature.h"

#include <algorithm>
#include <cctype>

namespace rankfall {
namespace {

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), text.begin(), [](char a, char b) {
           return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
         });
}

}  // namespace

std::string_view describe_signature(std::span<const std::byte> bytes) {
  using namespace std::string_view_literals;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 512));
  if (text.starts_with("version https://git-lfs")) {
    return "is a Git LFS pointer, not the file itself; run `git lfs pull` in its repository";
  }
  if (text.starts_with("PK\x03\x04"sv) || text.starts_with("PK\x05\x06"sv)) {
    return "is a zip archive, perhaps a PyTorch checkpoint; those hold pickle, which is not read because it can "
           "execute "
           "code: convert it to safetensors";
  }
  if (text.size() >= 2 && text[0] == '\x80' && text[1] >= 1 && text[1] <= 5) {
    return "is a Python pickle, perhaps a PyTorch checkpoint; pickle is not read because it can execute code: convert "
           "it "
           "to safetensors";
  }
  if (text.starts_with("\x1f\x8b"sv)) return "is compressed with gzip; unpack it first";
  if (text.starts_with("\x28\xb5\x2f\xfd"sv)) return "is compressed with zstd; unpack it first";
  if (text.starts_with("\xfd"
                       "7zXZ"sv))
    return "is compressed with xz; unpack it first";
  if (text.starts_with("\x93NUMPY"sv)) return "is a NumPy array (.npy)";
  if (text.starts_with("\x89HDF\r\n"sv))
    return "is an HDF5 file, perhaps a Keras checkpoint; convert it to safetensors";
  if (text.starts_with("GGUF"sv)) return "is a GGUF file; convert it to safetensors";
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != text.npos) {
    const std::string_view page = text.substr(first);
    if (starts_with_ignoring_case(page, "<!doctype html") || starts_with_ignoring_case(page, "<html")) {
      return "is an HTML page, not the file itself; the download may have ended at a login or error page";
    }
    if (starts_with_ignoring_case(page, "<?xml") || starts_with_ignoring_case(page, "<error")) {
      return "is an XML document, not the file itself; the download may have ended at an error page";
    }
    if (page.starts_with("{")) return "begins like a JSON text";
  }
  if (!text.empty() && text.find_first_not_of('\0') == text.npos) {
    return "begins with nothing but zeros; the download may be incomplete";
  }
  return {};
}

}  // namespace rankfall
