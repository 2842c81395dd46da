#include "io/npy.h"

#include <cstdint>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.h"
#include "io/checked_size.h"
#include "io/dtype.h"
#include "io/file_signature.h"
#include "io/mapped_file.h"
#include "io/npy_header.h"
#include "io/utf8.h"

namespace rankfall {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeader = std::size_t{1} << 16;

struct NpyParts {
  std::string_view header;
  std::span<const std::byte> data;
};

NpyParts split_npy(std::span<const std::byte> bytes, std::string_view where) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic)) {
    const std::string_view kind = describe_signature(bytes);
    throw input_error("{}: {}", where,
                      kind.empty() ? "does not begin as a NumPy array (.npy) does; this is another kind of file"
                                   : std::string(kind) + "; expected a NumPy array (.npy)");
  }
  const auto truncated = [&](std::uint64_t expected) {
    throw input_error("{}: {} bytes, expected at least {}; the file may be incomplete", where, bytes.size(), expected);
  };
  const std::size_t at_version = kMagic.size();
  if (bytes.size() < at_version + 2) truncated(at_version + 2);
  const auto major = std::to_integer<unsigned>(bytes[at_version]);
  const auto minor = std::to_integer<unsigned>(bytes[at_version + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    throw input_error("{}: version {}.{} of the .npy format, expected 1.0, 2.0 or 3.0", where, major, minor);
  }
  const std::size_t at_length = at_version + 2;
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  if (bytes.size() < at_length + length_bytes) truncated(at_length + length_bytes);
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + at_length, length_bytes);
  if (length > kMaxHeader)
    throw input_error("{}: a header of {} bytes, expected at most {}", where, length, kMaxHeader);
  const std::size_t at_header = at_length + length_bytes;
  if (bytes.size() - at_header < length) truncated(at_header + length);
  return {.header = text.substr(at_header, length), .data = bytes.subspan(at_header + length)};
}

DType parse_descr(const std::string& descr, std::string_view where) {
  const auto refuse = [&](std::string_view reason) {
    throw input_error("{}: dtype {}{}, expected little-endian f8 f4 f2 i8 i4 i2 i1 u1 or b1", where, in_quotes(descr),
                      reason);
  };
  const char order = descr.empty() ? '\0' : descr[0];
  const std::string_view kind = std::string_view(descr).substr(descr.empty() ? 0 : 1);
  if (kind.starts_with("O")) refuse(" holds Python objects as pickle, which is not read because it can execute code");
  constexpr struct {
    std::string_view kind;
    DType dtype;
  } kKinds[] = {{"f8", DType::kF64}, {"f4", DType::kF32}, {"f2", DType::kF16}, {"i8", DType::kI64}, {"i4", DType::kI32},
                {"i2", DType::kI16}, {"i1", DType::kI8},  {"u1", DType::kU8},  {"b1", DType::kBool}};
  for (const auto& known : kKinds) {
    if (known.kind != kind) continue;
    if (order == '<' || order == '=') return known.dtype;
    if (order == '|' && dtype_size(known.dtype) == 1) return known.dtype;
    if (order == '>') {
      if (dtype_size(known.dtype) == 1) return known.dtype;
      refuse(fmt::format(" is big-endian; save it again with a.astype('<{}')", kind));
    }
  }
  refuse(" cannot be read");
  return DType::kF64;
}

// The elements in row-major order, when the first index is the one that varies fastest in `bytes`.
std::shared_ptr<const std::vector<std::byte>> row_major(std::span<const std::byte> bytes, std::span<const Index> shape,
                                                        std::size_t size) {
  auto out = std::make_shared<std::vector<std::byte>>(bytes.size());
  std::vector<Index> index(shape.size(), 0);
  std::vector<std::size_t> stride(shape.size(), size);  // bytes from one element to the next along each dimension
  for (std::size_t d = 1; d < shape.size(); ++d) stride[d] = stride[d - 1] * static_cast<std::size_t>(shape[d - 1]);
  std::size_t from = 0;
  for (std::size_t to = 0; to < bytes.size(); to += size) {
    std::memcpy(out->data() + to, bytes.data() + from, size);
    for (std::size_t d = shape.size(); d-- > 0;) {  // like an odometer: the last dimension turns first
      from += stride[d];
      if (++index[d] < shape[d]) break;
      from -= stride[d] * static_cast<std::size_t>(shape[d]);
      index[d] = 0;
    }
  }
  return out;
}

}  // namespace

NpyArray parse_npy(std::span<const std::byte> bytes, std::string_view where) {
  const NpyParts parts = split_npy(bytes, where);
  const NpyHeader header = parse_npy_header(parts.header, where);
  NpyArray array;
  array.dtype = parse_descr(header.descr, where);
  const std::size_t size = dtype_size(array.dtype);
  const std::string shape = fmt::format("({})", fmt::join(header.shape, ", "));
  const auto n = checked_element_count(header.shape);
  const auto n_bytes = n ? checked_product(*n, size) : std::nullopt;
  if (!n_bytes) throw input_error("{}: shape {} has too many elements to address", where, shape);
  if (*n_bytes != parts.data.size()) {
    throw input_error("{}: {} bytes of data, expected {} (shape {} {}); {}", where, parts.data.size(), *n_bytes, shape,
                      dtype_name(array.dtype),
                      parts.data.size() < *n_bytes ? "the file may be incomplete" : "it may hold more than one array");
  }
  array.shape.assign(header.shape.begin(), header.shape.end());
  array.bytes = parts.data;
  if (header.fortran_order && array.shape.size() > 1) {
    const auto copy = row_major(parts.data, array.shape, size);
    array.bytes = *copy;
    array.keep = copy;
  }
  return array;
}

NpyArray read_npy(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  NpyArray array = parse_npy(file->bytes(), printable(path.string()));
  if (!array.keep) array.keep = file;
  return array;
}

}  // namespace rankfall
