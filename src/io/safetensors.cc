#include "io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.h"
#include "io/checked_size.h"
#include "io/dtype.h"
#include "io/file_signature.h"
#include "io/safetensors_header.h"
#include "io/utf8.h"

namespace rankfall {
namespace {

using Entry = SafetensorsHeader::Entry;

struct FormatDType {
  std::string_view name;
  unsigned bits;
  std::optional<DType> dtype;  // absent: part of the format, not read by rankfall
};
constexpr FormatDType kFormatDTypes[] = {
    {"F64", 64, DType::kF64}, {"F32", 32, DType::kF32},
    {"F16", 16, DType::kF16}, {"BF16", 16, DType::kBF16},
    {"I64", 64, DType::kI64}, {"I32", 32, DType::kI32},
    {"I16", 16, DType::kI16}, {"I8", 8, DType::kI8},
    {"U8", 8, DType::kU8},    {"BOOL", 8, DType::kBool},
    {"U16", 16, {}},          {"U32", 32, {}},
    {"U64", 64, {}},          {"C64", 64, {}},
    {"F8_E4M3", 8, {}},       {"F8_E5M2", 8, {}},
    {"F8_E8M0", 8, {}},       {"F8_E4M3FNUZ", 8, {}},
    {"F8_E5M2FNUZ", 8, {}},   {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},       {"F4", 4, {}},
};

constexpr std::string_view kReadable = "F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL";

struct SafetensorsParts {
  std::string_view header;
  std::span<const std::byte> data;
};

SafetensorsParts split_safetensors(std::span<const std::byte> bytes, std::string_view where) {
  const auto not_safetensors = [&](const std::string& reason) {
    const std::string_view kind = describe_signature(bytes);
    throw input_error("{}: {}", where, kind.empty() ? reason : std::string(kind) + "; expected a safetensors file");
  };
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length) {
    not_safetensors(
        fmt::format("{} bytes, a safetensors file has at least 8; the download may be incomplete", bytes.size()));
  }
  std::memcpy(&length, bytes.data(), sizeof length);
  const auto rest = bytes.subspan(sizeof length);
  if (length > kMaxSafetensorsHeader) {
    not_safetensors(
        fmt::format("the first 8 bytes give a header of {} bytes, expected at most {}; this is not a safetensors file",
                    length, kMaxSafetensorsHeader));
  }
  if (length == 0 || rest.empty() || rest[0] != std::byte{'{'}) {
    not_safetensors("no header that begins with '{' after the first 8 bytes; this is not a safetensors file");
  }
  if (length > rest.size()) {
    throw input_error("{}: the header has {} bytes, expected {}; the download may be incomplete", where, rest.size(),
                      length);
  }
  const auto header = rest.first(length);
  return {.header = {reinterpret_cast<const char*>(header.data()), header.size()}, .data = rest.subspan(length)};
}

std::string shape_text(const std::vector<std::uint64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

// Everything but where the bytes are; checks the entry by itself.
TensorInfo make_info(Entry& entry, std::string_view where) {
  const auto fail_tensor = [&](const std::string& text) {
    throw input_error("{}: tensor {}: {}", where, in_quotes(entry.name), text);
  };
  const auto* format = std::find_if(std::begin(kFormatDTypes), std::end(kFormatDTypes),
                                    [&](const FormatDType& f) { return f.name == entry.dtype; });
  if (format == std::end(kFormatDTypes)) {
    fail_tensor(fmt::format("dtype {} is unknown, expected one of {}", in_quotes(entry.dtype), kReadable));
  }
  const auto n = checked_element_count(entry.shape);
  const auto n_bits = n ? checked_product(*n, format->bits) : std::nullopt;
  if (!n_bits) fail_tensor(fmt::format("shape {} has too many elements to address", shape_text(entry.shape)));
  if (*n_bits % 8 != 0) {
    fail_tensor(fmt::format("shape {} of {} does not fill whole bytes", shape_text(entry.shape), entry.dtype));
  }
  if (entry.begin > entry.end) {
    fail_tensor(fmt::format("data_offsets [{}, {}] are reversed, expected begin <= end", entry.begin, entry.end));
  }
  if (entry.end > kMaxSize) {
    fail_tensor(fmt::format("data_offsets [{}, {}] are out of range; no file is that long", entry.begin, entry.end));
  }
  if (entry.end - entry.begin != *n_bits / 8) {
    fail_tensor(fmt::format("data_offsets [{}, {}] span {} bytes, expected {} ({} {}); the header contradicts itself",
                            entry.begin, entry.end, entry.end - entry.begin, *n_bits / 8, shape_text(entry.shape),
                            entry.dtype));
  }
  TensorInfo info;
  info.name = std::move(entry.name);
  info.dtype = format->dtype.value_or(DType::kU8);
  info.shape.assign(entry.shape.begin(), entry.shape.end());
  info.dtype_name = std::move(entry.dtype);
  info.supported = format->dtype.has_value();
  return info;
}

}  // namespace

std::string shape_text(std::span<const Index> shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Index TensorInfo::size() const { return std::accumulate(shape.begin(), shape.end(), Index{1}, std::multiplies<>()); }

std::shared_ptr<const SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  const std::shared_ptr<SafetensorsFile> result(new SafetensorsFile);
  result->file_ = MappedFile::open(path);
  result->where_ = printable(path.string());
  result->read(result->file_->bytes());
  return result;
}

std::shared_ptr<const SafetensorsFile> SafetensorsFile::parse(std::span<const std::byte> bytes,
                                                              std::string_view where) {
  const std::shared_ptr<SafetensorsFile> result(new SafetensorsFile);
  result->where_ = where;
  result->read(bytes);
  return result;
}

void SafetensorsFile::read(std::span<const std::byte> bytes) {
  const SafetensorsParts parts = split_safetensors(bytes, where_);
  SafetensorsHeader header = parse_safetensors_header(parts.header, where_);
  metadata_ = std::move(header.metadata);

  // In the order of their data, each tensor must begin where the one before it ended.
  std::sort(header.entries.begin(), header.entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  std::uint64_t position = 0;
  tensors_.reserve(header.entries.size());
  for (Entry& entry : header.entries) {
    const std::uint64_t begin = entry.begin, end = entry.end;
    TensorInfo info = make_info(entry, where_);
    const std::string after = tensors_.empty() ? "" : " of tensor " + in_quotes(tensors_.back().name);
    if (begin < position) {
      throw input_error(
          "{}: tensor {}: begins at {} and overlaps the bytes up to {}{}; the file may be damaged or forged", where_,
          in_quotes(info.name), begin, position, after);
    }
    if (begin > position) {
      throw input_error("{}: tensor {}: begins at {}, expected {}, the end{}; the bytes between belong to no tensor",
                        where_, in_quotes(info.name), begin, position, tensors_.empty() ? " of the header" : after);
    }
    position = end;
    if (end <= parts.data.size()) info.bytes = parts.data.subspan(begin, end - begin);
    tensors_.push_back(std::move(info));
  }
  if (position > parts.data.size()) {
    throw input_error("{}: {} bytes, expected {}; the download may be incomplete", where_, bytes.size(),
                      bytes.size() - parts.data.size() + position);
  }
  if (position < parts.data.size()) {
    throw input_error("{}: {} bytes, expected {}; the last {} belong to no tensor", where_, bytes.size(),
                      bytes.size() - parts.data.size() + position, parts.data.size() - position);
  }

  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), std::uint32_t{0});
  std::sort(by_name_.begin(), by_name_.end(),
            [this](std::uint32_t a, std::uint32_t b) { return tensors_[a].name < tensors_[b].name; });
}

const TensorInfo* SafetensorsFile::find(std::string_view name) const {
  const auto found = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                      [this](std::uint32_t i, std::string_view key) { return tensors_[i].name < key; });
  return found != by_name_.end() && tensors_[*found].name == name ? &tensors_[*found] : nullptr;
}

const TensorInfo& SafetensorsFile::at(std::string_view name) const {
  const TensorInfo* tensor = find(name);
  if (tensor == nullptr) {
    throw input_error("{}: no tensor {} among its {}{}", where_, in_quotes(name), tensors_.size(),
                      tensors_.empty() ? "" : ", such as " + in_quotes(tensors_.front().name));
  }
  if (!tensor->supported) {
    throw input_error(
        "{}: tensor {}: dtype {} cannot be read, expected one of {}; convert the file, for example to BF16", where_,
        in_quotes(name), tensor->dtype_name, kReadable);
  }
  return *tensor;
}

void SafetensorsFile::release(const TensorInfo& tensor) const {
  if (file_) file_->release(tensor.bytes);
}

}  // namespace rankfall
