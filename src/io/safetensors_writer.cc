#include "io/safetensors_writer.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <numeric>
#include <set>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/dcheck.h"
#include "base/errors.h"
#include "io/checked_size.h"
#include "io/dtype.h"
#include "io/safetensors_header.h"
#include "io/utf8.h"

namespace rankfall {
namespace {

[[noreturn]] void fail(const TensorPlan& plan, const std::string& text) {
  throw usage_error("cannot write tensor {}: {}", in_quotes(plan.name), text);
}

std::uint64_t element_count(const TensorPlan& plan) {
  if (plan.shape.size() > kMaxTensorDimensions) fail(plan, "too many dimensions");
  std::vector<std::uint64_t> shape;
  for (const Index size : plan.shape) {
    if (size < 0) fail(plan, fmt::format("size {} in its shape", size));
    shape.push_back(static_cast<std::uint64_t>(size));
  }
  const auto n = checked_element_count(shape);
  if (!n || !checked_product(*n, dtype_size(plan.dtype))) fail(plan, "too many elements to address");
  return *n;
}

bool is_writable(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kI32 || dtype == DType::kI64;
}

template <class To, class From>
To convert(From value) {
  if constexpr (std::integral<To> && std::integral<From>) {
    if (!std::in_range<To>(value)) throw numerical_error("{} does not fit {} bits", value, 8 * sizeof(To));
  }
  return static_cast<To>(value);
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, std::vector<TensorPlan> tensors,
                                     const std::map<std::string, std::string>& metadata)
    : tensors_(std::move(tensors)), offsets_(tensors_.size()), sizes_(tensors_.size()), file_(path) {
  std::vector<std::size_t> order(tensors_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    return dtype_size(tensors_[a].dtype) > dtype_size(tensors_[b].dtype);
  });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::set<std::string> names{"__metadata__"};
  std::uint64_t end = 0;
  for (const std::size_t i : order) {
    const TensorPlan& plan = tensors_[i];
    if (!names.insert(plan.name).second) fail(plan, "the name is taken");
    if (utf8_first_error(plan.name) != plan.name.size()) fail(plan, "the name is not UTF-8");
    if (!is_writable(plan.dtype)) throw Bug(fmt::format("SafetensorsWriter: dtype {}", dtype_name(plan.dtype)));
    sizes_[i] = element_count(plan);
    const std::uint64_t n_bytes = sizes_[i] * dtype_size(plan.dtype);
    if (n_bytes > kMaxSize / 2 - end) fail(plan, "the file would be too large");
    // push_back: operator[] of an ordered_json looks through all its keys.
    header.get_ref<nlohmann::ordered_json::object_t&>().emplace_back(
        plan.name,
        nlohmann::ordered_json{
            {"dtype", dtype_name(plan.dtype)}, {"shape", plan.shape}, {"data_offsets", {end, end + n_bytes}}});
    offsets_[i] = end;
    end += n_bytes;
    n_elements_ += sizes_[i];
  }

  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > kMaxSafetensorsHeader || tensors_.size() > kMaxSafetensorsEntries) {
    throw usage_error("too many tensors for one safetensors file: {}", tensors_.size());
  }
  const std::uint64_t length = text.size();
  const std::uint64_t data = sizeof length + length;
  for (std::uint64_t& offset : offsets_) offset += data;
  n_bytes_ = data + end;
  file_.reserve(n_bytes_);
  file_.write_at(0, std::as_bytes(std::span(&length, 1)));
  file_.write_at(sizeof length, std::as_bytes(std::span(text)));
}

template <class T>
void SafetensorsWriter::write(std::size_t tensor, Index first, std::span<const T> values) {
  if (tensor >= tensors_.size() || first < 0 || static_cast<std::uint64_t>(first) > sizes_[tensor] ||
      values.size() > sizes_[tensor] - static_cast<std::uint64_t>(first)) {
    throw Bug(fmt::format("SafetensorsWriter: {} elements at {} of tensor {}", values.size(), first, tensor));
  }
  const DType dtype = tensors_[tensor].dtype;
  const std::uint64_t offset = offsets_[tensor] + static_cast<std::uint64_t>(first) * dtype_size(dtype);
  visit_dtype(dtype, [&]<class Stored>() {
    if constexpr (std::is_same_v<Stored, T>) {
      file_.write_at(offset, std::as_bytes(values));
    } else if constexpr (std::is_floating_point_v<Stored> ||
                         (std::is_integral_v<T> && std::is_integral_v<Stored> && sizeof(Stored) >= 4)) {
      std::array<Stored, 8192> buffer;
      for (std::size_t done = 0; done < values.size();) {
        const auto piece = values.subspan(done, std::min(buffer.size(), values.size() - done));
        std::transform(piece.begin(), piece.end(), buffer.begin(), convert<Stored, T>);
        file_.write_at(offset + done * sizeof(Stored), std::as_bytes(std::span(buffer).first(piece.size())));
        done += piece.size();
      }
    } else {
      throw Bug(fmt::format("SafetensorsWriter: real values for a tensor of {}", dtype_name(dtype)));
    }
  });
  n_written_ += values.size();
}

template void SafetensorsWriter::write(std::size_t, Index, std::span<const float>);
template void SafetensorsWriter::write(std::size_t, Index, std::span<const double>);
template void SafetensorsWriter::write(std::size_t, Index, std::span<const std::int32_t>);
template void SafetensorsWriter::write(std::size_t, Index, std::span<const std::int64_t>);

void SafetensorsWriter::commit() {
  if (n_written_ != n_elements_) {
    throw Bug(fmt::format("SafetensorsWriter: {} elements written, {} declared", n_written_.load(), n_elements_));
  }
  file_.commit();
}

}  // namespace rankfall
