#include "io/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/errors.h"
#include "io/checked_size.h"
#include "io/file_limits.h"
#include "io/file_signature.h"
#include "io/utf8.h"

namespace rankfall {
namespace {

constexpr std::string_view kGgufMagic = "GGUF";
constexpr std::size_t kMaxKey = 65'535, kMaxTensorName = 255;
constexpr std::uint32_t kMaxDimensions = 4;

// The format's types of values.
enum GgufValueType : std::uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kText,
  kList,
  kU64,
  kI64,
  kF64,
  kTypes
};

std::size_t size_of(std::uint32_t type) {
  constexpr std::array<std::size_t, kTypes> kSizes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kSizes[type];
}

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// A value of fixed size. Whole numbers above those of an int64 become its largest, which nothing accepts.
GgufValue scalar(std::uint32_t type, const std::byte* at) {
  switch (type) {
    case kU8:
      return std::int64_t{load<std::uint8_t>(at)};
    case kI8:
      return std::int64_t{load<std::int8_t>(at)};
    case kU16:
      return std::int64_t{load<std::uint16_t>(at)};
    case kI16:
      return std::int64_t{load<std::int16_t>(at)};
    case kU32:
      return std::int64_t{load<std::uint32_t>(at)};
    case kI32:
      return std::int64_t{load<std::int32_t>(at)};
    case kF32:
      return double{load<float>(at)};
    case kBool:
      return load<std::uint8_t>(at) != 0;
    case kU64:
      return static_cast<std::int64_t>(std::min(load<std::uint64_t>(at), kMaxSize));
    case kI64:
      return load<std::int64_t>(at);
    default:
      return load<double>(at);
  }
}

// Goes through the bytes from front to back; what is not there is an error that names the place.
class GgufReader {
 public:
  GgufReader(std::span<const std::byte> bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }

  std::span<const std::byte> take(std::uint64_t n, std::string_view what) {
    if (n > left()) {
      throw input_error(
          "{}: byte {}: expected {}, {} bytes, and the file ends after {}; the download may be incomplete", where_, at_,
          what, n, left());
    }
    const auto part = bytes_.subspan(at_, static_cast<std::size_t>(n));
    at_ += static_cast<std::size_t>(n);
    return part;
  }
  template <class T>
  T number(std::string_view what) {
    return load<T>(take(sizeof(T), what).data());
  }
  std::string_view text(std::string_view what, std::size_t most) {
    const auto length = number<std::uint64_t>(what);
    if (length > most && length <= left()) fail("{} of {} bytes, expected at most {}", what, length, most);
    const auto part = take(length, what);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw input_error("{}: byte {}: {}", where_, at_, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& where_;
  std::size_t at_ = 0;
};

GgufValue read_value(GgufReader& in, std::string_view key) {
  const auto type = in.number<std::uint32_t>("the type of a value");
  if (type >= kTypes) in.fail("{} has a value of type {}, expected 0 to 12", in_quotes(key), type);
  if (type == kText) return in.text("a text", in.left());
  if (type != kList) return scalar(type, in.take(size_of(type), "a value").data());
  GgufList list;
  list.type = in.number<std::uint32_t>("the type of a list");
  list.count = in.number<std::uint64_t>("the length of a list");
  if (list.type >= kTypes || list.type == kList) {
    in.fail("{} is a list of type {}, expected one of numbers or texts", in_quotes(key), list.type);
  }
  if (list.type != kText) {
    const auto n_bytes = checked_product(list.count, size_of(list.type));
    if (!n_bytes) in.fail("{} is a list of {} elements", in_quotes(key), list.count);
    list.bytes = in.take(*n_bytes, "a list");
    return list;
  }
  const GgufReader start = in;
  for (std::uint64_t i = 0; i < list.count; ++i) in.text("a text of a list", in.left());
  GgufReader again = start;
  list.bytes = again.take(in.at() - start.at(), "a list");
  return list;
}

struct GgufInfo {
  GgufTensor tensor;
  std::uint64_t offset = 0;  // of the data's beginning
};

GgufInfo read_info(GgufReader& in) {
  GgufInfo info;
  GgufTensor& tensor = info.tensor;
  tensor.name = std::string(in.text("a tensor's name", kMaxTensorName));
  const std::string name = in_quotes(tensor.name);
  const auto n_dimensions = in.number<std::uint32_t>("the number of dimensions");
  if (n_dimensions > kMaxDimensions) {
    in.fail("tensor {} has {} dimensions, expected at most {}", name, n_dimensions, kMaxDimensions);
  }
  std::vector<std::uint64_t> sizes;
  for (std::uint32_t i = 0; i < n_dimensions; ++i) sizes.push_back(in.number<std::uint64_t>("a size"));
  std::ranges::reverse(sizes);
  if (!checked_element_count(sizes) || std::ranges::find(sizes, 0U) != sizes.end()) {
    in.fail("tensor {} has sizes whose product is zero or too large: {}", name, fmt::join(sizes, " x "));
  }
  for (const std::uint64_t size : sizes) tensor.shape.push_back(static_cast<Index>(size));
  const auto number = in.number<std::uint32_t>("a tensor's type");
  tensor.type = ggml_type(number);
  if (!tensor.type) in.fail("tensor {} has type {}, which is none of the format", name, number);
  info.offset = in.number<std::uint64_t>("a tensor's place");
  return info;
}

}  // namespace

std::vector<std::string_view> GgufList::texts() const {
  std::vector<std::string_view> out;
  if (type != kText) return out;
  out.reserve(static_cast<std::size_t>(count));  // each takes eight bytes of the file
  const std::byte* at = bytes.data();
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto length = static_cast<std::size_t>(load<std::uint64_t>(at));
    out.emplace_back(reinterpret_cast<const char*>(at + sizeof(std::uint64_t)), length);
    at += sizeof(std::uint64_t) + length;
  }
  return out;
}

std::vector<std::int64_t> GgufList::integers() const {
  std::vector<std::int64_t> out;
  for (std::uint64_t i = 0; i < count && type != kText; ++i) {
    const GgufValue value = scalar(type, bytes.data() + i * size_of(type));
    const auto* integer = std::get_if<std::int64_t>(&value);
    const auto* flag = std::get_if<bool>(&value);
    if (!integer && !flag) return {};
    out.push_back(integer ? *integer : std::int64_t{*flag});
  }
  return out;
}

std::vector<double> GgufList::numbers() const {
  std::vector<double> out;
  for (std::uint64_t i = 0; i < count && type != kText; ++i) {
    const GgufValue value = scalar(type, bytes.data() + i * size_of(type));
    if (const auto* number = std::get_if<double>(&value)) {
      out.push_back(*number);
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      out.push_back(static_cast<double>(*integer));
    } else {
      return {};
    }
  }
  return out;
}

Index GgufTensor::n_cols() const {
  if (shape.empty()) return 1;
  if (shape.size() == 1) return shape[0];
  return std::accumulate(shape.begin() + 1, shape.end(), Index{1}, std::multiplies<>());
}

std::size_t GgufTensor::row_bytes() const { return static_cast<std::size_t>(n_cols()) / type->block * type->bytes; }

bool looks_like_gguf(std::span<const std::byte> bytes) {
  return bytes.size() >= kGgufMagic.size() && std::memcmp(bytes.data(), kGgufMagic.data(), kGgufMagic.size()) == 0;
}

bool is_gguf_file(const std::filesystem::path& path) {
  std::error_code error;
  if (path.empty() || !std::filesystem::is_regular_file(path, error)) return false;
  return path.extension() == ".gguf" || looks_like_gguf(MappedFile::open(path)->bytes());
}

std::shared_ptr<const GgufFile> GgufFile::open(const std::filesystem::path& path) {
  const std::shared_ptr<GgufFile> out(new GgufFile);
  out->file_ = MappedFile::open(path);
  out->where_ = printable(path.string());
  out->read(out->file_->bytes());
  return out;
}

std::shared_ptr<const GgufFile> GgufFile::parse(std::span<const std::byte> bytes, std::string_view where) {
  const std::shared_ptr<GgufFile> out(new GgufFile);
  out->where_ = std::string(where);
  out->read(bytes);
  return out;
}

const GgufTensor* GgufFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

const GgufValue* GgufFile::value(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

void GgufFile::read(std::span<const std::byte> bytes) {
  n_bytes_ = bytes.size();
  if (!looks_like_gguf(bytes)) {
    const std::string_view kind = describe_signature(bytes);
    throw input_error("{}: {}", where_,
                      kind.empty() ? std::string("does not begin with 'GGUF'; expected a model file of llama.cpp")
                                   : std::string(kind) + "; expected a GGUF file");
  }
  GgufReader in(bytes, where_);
  in.take(kGgufMagic.size(), "the magic");
  const auto version = in.number<std::uint32_t>("the version");
  if (version != 2 && version != 3) {
    const bool turned = version == 0x02000000U || version == 0x03000000U;
    in.fail("version {}, expected 2 or 3{}", version, turned ? "; this is a big-endian file" : "");
  }
  const auto n_tensors = in.number<std::uint64_t>("the number of tensors");
  const auto n_values = in.number<std::uint64_t>("the number of keys");
  constexpr std::uint64_t kLeastTensor = 8 + 4 + 4 + 8, kLeastValue = 8 + 4 + 1;
  if (n_tensors > in.left() / kLeastTensor || n_values > in.left() / kLeastValue) {
    in.fail("{} tensors and {} keys, which {} bytes cannot hold", n_tensors, n_values, in.left());
  }
  if (n_tensors > kMaxGgufTensors || n_values > kMaxGgufKeys) {
    in.fail("{} tensors and {} keys, expected at most {} and {}", n_tensors, n_values, kMaxGgufTensors, kMaxGgufKeys);
  }
  for (std::uint64_t i = 0; i < n_values; ++i) {
    const std::string key(in.text("a key", kMaxKey));
    if (!values_.emplace(key, read_value(in, key)).second) in.fail("key {} appears twice", in_quotes(key));
  }
  std::uint64_t alignment = 32;
  if (const GgufValue* given = value("general.alignment")) {
    const auto* number = std::get_if<std::int64_t>(given);
    constexpr std::int64_t kMost = std::int64_t{1} << 20;
    if (!number || *number < 1 || *number > kMost || !std::has_single_bit(static_cast<std::uint64_t>(*number))) {
      throw input_error("{}: 'general.alignment' is no power of two up to {}", where_, kMost);
    }
    alignment = static_cast<std::uint64_t>(*number);
  }
  std::vector<GgufInfo> infos;
  for (std::uint64_t i = 0; i < n_tensors; ++i) infos.push_back(read_info(in));
  const std::uint64_t padding = (alignment - in.at() % alignment) % alignment;
  in.take(std::min<std::uint64_t>(padding, in.left()), "padding");
  const std::span<const std::byte> data = bytes.subspan(in.at());

  std::ranges::sort(infos, {}, &GgufInfo::offset);
  std::uint64_t end = 0;
  for (GgufInfo& info : infos) {
    GgufTensor& tensor = info.tensor;
    const std::string name = in_quotes(tensor.name);
    if (info.offset % alignment != 0) {
      throw input_error("{}: tensor {} begins at {}, expected a multiple of {}", where_, name, info.offset, alignment);
    }
    if (info.offset < end) throw input_error("{}: tensor {} overlaps the one before it", where_, name);
    end = info.offset;
    if (is_readable(*tensor.type)) {
      if (tensor.n_cols() % static_cast<Index>(tensor.type->block) != 0 ||
          (tensor.shape.size() > 1 && tensor.shape.back() % static_cast<Index>(tensor.type->block) != 0)) {
        throw input_error("{}: tensor {} has rows of {} weights, and {} stores blocks of {}", where_, name,
                          tensor.shape.empty() ? 1 : tensor.shape.back(), tensor.type->name, tensor.type->block);
      }
      const auto n_bytes = checked_product(static_cast<std::uint64_t>(tensor.n_rows()), tensor.row_bytes());
      if (!n_bytes || info.offset > data.size() || *n_bytes > data.size() - info.offset) {
        throw input_error("{}: tensor {} ends behind the file's end; the download may be incomplete", where_, name);
      }
      tensor.bytes = data.subspan(static_cast<std::size_t>(info.offset), static_cast<std::size_t>(*n_bytes));
      end += *n_bytes;
    }
    if (!by_name_.emplace(tensor.name, tensors_.size()).second) {
      throw input_error("{}: tensor {} appears twice", where_, name);
    }
    tensors_.push_back(std::move(tensor));
  }
}

}  // namespace rankfall
