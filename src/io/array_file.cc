#include "io/array_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.h"
#include "io/dtype.h"
#include "io/file_signature.h"
#include "io/json_file.h"
#include "io/mapped_file.h"
#include "io/npy.h"
#include "io/utf8.h"
#include <rankfall/error.h>

namespace rankfall {
namespace {

using nlohmann::json;

// The first bytes that are no white space.
char first_character(std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes.first(std::min<std::size_t>(bytes.size(), 4096))) {
    const char c = static_cast<char>(byte);
    if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return c;
  }
  return '\0';
}

// Nested lists of one shape, flattened in order.
class JsonArray {
 public:
  JsonArray(const json& list, std::size_t rank, std::string where) : where_(std::move(where)), shape_(rank, -1) {
    collect(list, 0);
    for (Index& size : shape_) size = std::max<Index>(size, 0);
  }

  Array array() && {
    if (all_integers_) {
      std::vector<std::int64_t> integers;
      for (const json* number : numbers_)
        integers.push_back(number->is_boolean() ? int{number->get<bool>()} : number->get<std::int64_t>());
      return make(DType::kI64, std::move(integers));
    }
    std::vector<double> reals;
    for (const json* number : numbers_)
      reals.push_back(number->is_boolean() ? (number->get<bool>() ? 1.0 : 0.0) : number->get<double>());
    return make(DType::kF64, std::move(reals));
  }

 private:
  void collect(const json& value, std::size_t level) {
    if (level == shape_.size()) {
      if (value.is_boolean()) {
        numbers_.push_back(&value);
        return;
      }
      if (!value.is_number())
        throw input_error(fmt::format("{}: found a {}, expected a number", where_, value.type_name()));
      const bool fits = value.is_number_integer() &&
                        !(value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX});
      all_integers_ = all_integers_ && fits;
      numbers_.push_back(&value);
      return;
    }
    if (!value.is_array()) throw input_error(fmt::format("{}: found a {}, expected a list", where_, value.type_name()));
    const auto size = static_cast<Index>(value.size());
    if (shape_[level] >= 0 && shape_[level] != size) {
      throw input_error(
          fmt::format("{}: lists of {} and of {} entries, expected equal ones", where_, shape_[level], size));
    }
    shape_[level] = size;
    for (const json& item : value) collect(item, level + 1);
  }

  template <class T>
  Array make(DType dtype, std::vector<T> values) const {
    auto kept = std::make_shared<std::vector<T>>(std::move(values));
    return {dtype, shape_, std::as_bytes(std::span<const T>(*kept)), kept};
  }

  std::string where_;
  std::vector<Index> shape_;
  std::vector<const json*> numbers_;
  bool all_integers_ = true;
};

std::size_t depth_of(const json& value) {
  std::size_t depth = 0;
  for (const json* v = &value; v->is_array(); v = &v->front()) {
    ++depth;
    if (v->empty()) break;
  }
  return depth;
}

std::string rank_text(std::size_t rank) {
  return rank == 1 ? "[tokens] or [samples, tokens]"
                   : fmt::format("{} sizes, or {} with samples first", rank, rank + 1);
}

}  // namespace

ArrayFile::ArrayFile(const std::filesystem::path& path) : where_(path.string()) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  const std::string_view kind = describe_signature(bytes);
  if (kind.starts_with("is a NumPy")) {
    const NpyArray npy = read_npy(path);
    npy_ = {npy.dtype, npy.shape, npy.bytes, npy.keep};
  } else if (first_character(bytes) == '[' || path.extension() == ".json") {
    json_ = std::make_shared<json>(read_json_file(path));
  } else {
    safetensors_ = SafetensorsFile::open(path);
  }
}

std::vector<Array> ArrayFile::samples(std::string_view name, std::size_t rank) const {
  if (json_) return json_samples(name, rank);
  if (npy_) return split(*npy_, "the array", rank);
  const TensorInfo* tensor = safetensors_->find(name);
  if (!tensor && safetensors_->tensors().size() == 1) tensor = safetensors_->tensors().data();
  if (!tensor) {
    std::string found;
    for (const TensorInfo& other :
         safetensors_->tensors().first(std::min<std::size_t>(safetensors_->tensors().size(), 6))) {
      found += fmt::format("{}{}", found.empty() ? "" : ", ", in_quotes(other.name));
    }
    throw input_error(
        fmt::format("{}: found {}, expected a tensor '{}'", where_, found.empty() ? "nothing" : found, name));
  }
  if (!tensor->supported) safetensors_->at(tensor->name);  // says so
  return split({tensor->dtype, tensor->shape, tensor->bytes, safetensors_}, in_quotes(tensor->name), rank);
}

std::vector<Array> ArrayFile::samples_if_present(std::string_view name, std::size_t rank) const {
  if (safetensors_ && safetensors_->find(name)) return samples(name, rank);
  const auto* object = static_cast<const json*>(json_.get());
  return object && object->is_object() && object->contains(name) ? samples(name, rank) : std::vector<Array>{};
}

std::vector<Array> ArrayFile::split(const Array& array, std::string_view name, std::size_t rank) const {
  if (array.shape.size() == rank) return {array};
  if (array.shape.size() != rank + 1) {
    throw input_error(
        fmt::format("{}: {} has shape {}, expected {}", where_, name, shape_text(array.shape), rank_text(rank)));
  }
  const auto n = static_cast<std::size_t>(array.shape[0]);
  const std::vector<Index> shape(array.shape.begin() + 1, array.shape.end());
  std::vector<Array> samples;
  const std::size_t stride = n == 0 ? 0 : array.bytes.size() / n;
  // A shape such as [10^18, 0] is sound and holds nothing.
  if (stride == 0)
    throw input_error(fmt::format("{}: {} has shape {}: it is empty", where_, name, shape_text(array.shape)));
  samples.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    samples.push_back({array.dtype, shape, array.bytes.subspan(i * stride, stride), array.keep});
  }
  return samples;
}

std::vector<Array> ArrayFile::json_samples(std::string_view name, std::size_t rank) const {
  const json* list = static_cast<const json*>(json_.get());
  if (list->is_object()) {
    const auto found = list->find(name);
    if (found == list->end()) throw input_error(fmt::format("{}: found no '{}', expected it or a list", where_, name));
    list = &*found;
  }
  if (depth_of(*list) <= rank) return {JsonArray(*list, rank, where_).array()};
  std::vector<Array> samples;
  samples.reserve(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    samples.push_back(JsonArray((*list)[i], rank, fmt::format("{}: sample {}", where_, i)).array());
  }
  return samples;
}

}  // namespace rankfall
