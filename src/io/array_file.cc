#include "io/array_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/errors.h"
#include "base/mapped.h"
#include "io/dtype.h"
#include "io/file_signature.h"
#include "io/json_file.h"
#include "io/mapped_file.h"
#include "io/npy.h"
#include "io/utf8.h"

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
      if (!value.is_number()) throw input_error("{}: found a {}, expected a number", where_, value.type_name());
      const bool fits = value.is_number_integer() &&
                        !(value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX});
      all_integers_ = all_integers_ && fits;
      numbers_.push_back(&value);
      return;
    }
    if (!value.is_array()) throw input_error("{}: found a {}, expected a list", where_, value.type_name());
    const auto size = std::ssize(value);
    if (shape_[level] >= 0 && shape_[level] != size) {
      throw input_error("{}: lists of {} and of {} entries, expected equal ones", where_, shape_[level], size);
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

SampleArrays one(const Array& array) {
  return {1, [array](std::size_t) { return array; }};
}

}  // namespace

ArrayFile::ArrayFile(const std::filesystem::path& path, std::size_t rank, std::optional<std::size_t> n_kept)
    : where_(path.string()) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  const std::string_view kind = describe_signature(bytes);
  if (kind.starts_with("is a NumPy")) {
    const NpyArray npy = read_npy(path);
    npy_ = {npy.dtype, npy.shape, npy.bytes, npy.keep};
  } else if (first_character(bytes) == '[' || path.extension() == ".json") {
    json_ = std::make_shared<JsonLists>(read_json_lists(path, rank, n_kept.value_or(0)));
  } else if (constexpr std::size_t kHeader = 8;
             kind.empty() && (bytes.size() <= kHeader || bytes[kHeader] != std::byte{'{'})) {
    throw input_error("{}: is neither safetensors, NumPy (.npy) nor JSON", where_);
  } else {
    safetensors_ = SafetensorsFile::open(path);
  }
}

SampleArrays ArrayFile::samples(std::string_view name, std::size_t rank) const {
  if (json_) return json_samples(name, rank);
  if (npy_) return split(*npy_, "the array", rank);
  const TensorInfo* tensor = safetensors_->find(name);
  if (!tensor && safetensors_->tensors().size() == 1) tensor = safetensors_->tensors().data();
  if (!tensor) {
    const auto some = safetensors_->tensors().first(std::min<std::size_t>(safetensors_->tensors().size(), 6));
    const auto names = mapped<std::string>(some, [](const TensorInfo& other) { return in_quotes(other.name); });
    throw input_error("{}: found {}, expected a tensor '{}'", where_,
                      names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", ")), name);
  }
  if (!tensor->supported) safetensors_->at(tensor->name);  // says so
  return split({tensor->dtype, tensor->shape, tensor->bytes, safetensors_}, in_quotes(tensor->name), rank);
}

SampleArrays ArrayFile::samples_if_present(std::string_view name, std::size_t rank) const {
  if (safetensors_ && safetensors_->find(name)) return samples(name, rank);
  const bool in_json = json_ && json_->root.is_object() && json_->root.contains(name);
  return in_json ? samples(name, rank) : SampleArrays();
}

SampleArrays ArrayFile::split(const Array& array, std::string_view name, std::size_t rank) const {
  if (array.shape.size() == rank) return one(array);
  if (array.shape.size() != rank + 1) {
    throw input_error("{}: {} has shape {}, expected {}", where_, name, shape_text(array.shape), rank_text(rank));
  }
  const auto n = static_cast<std::size_t>(array.shape[0]);
  const std::vector<Index> shape(array.shape.begin() + 1, array.shape.end());
  const std::size_t stride = n == 0 ? 0 : array.bytes.size() / n;
  // A shape such as [10^18, 0] is sound and holds nothing.
  if (stride == 0) throw input_error("{}: {} has shape {}: it is empty", where_, name, shape_text(array.shape));
  return {n, [=](std::size_t i) {
            return Array{array.dtype, shape, array.bytes.subspan(i * stride, stride), array.keep};
          }};
}

SampleArrays ArrayFile::json_samples(std::string_view name, std::size_t rank) const {
  const json* list = &json_->root;
  std::string key;
  if (list->is_object()) {
    const auto found = list->find(name);
    if (found == list->end()) throw input_error("{}: found no '{}', expected it or a list", where_, name);
    list = &*found;
    key = name;
  }
  if (depth_of(*list) <= rank) return one(JsonArray(*list, rank, where_).array());
  const auto skipped = json_->n_skipped.find(key);
  const std::size_t n_skipped = skipped == json_->n_skipped.end() ? 0 : skipped->second;
  return {list->size() + n_skipped, [list, rank, where = where_, keep = json_](std::size_t i) {
            RANKFALL_DCHECK(i < list->size());
            return JsonArray((*list)[i], rank, fmt::format("{}: sample {}", where, i)).array();
          }};
}

}  // namespace rankfall
