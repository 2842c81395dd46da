#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json_limits.h"
#include "io/safetensors.h"
#include <rankfall/model.h>

namespace rankfall {

// A row-major array; `keep` holds the bytes alive.
struct Array {
  DType dtype = DType::kF64;
  std::vector<Index> shape;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> keep;
};

// Samples of equal rank one after the other. They are read when they are asked for: a file of ten million of them costs
// nothing but those that are used.
class SampleArrays {
 public:
  SampleArrays() = default;
  SampleArrays(std::size_t size, std::function<Array(std::size_t)> read) : size_(size), read_(std::move(read)) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Array operator[](std::size_t i) const { return read_(i); }

 private:
  std::size_t size_ = 0;
  std::function<Array(std::size_t)> read_;
};

// A file of samples: safetensors, npy, or JSON (lists of numbers, or an object of such lists by name), told apart by
// their first bytes and, for JSON, the ending. Every sample is an
// array of `rank` sizes; a file holds several of them along one axis in front, or a single one without it. In JSON
// samples may differ in length.
class ArrayFile {
 public:
  // Throws Error (kInput) for what is none of the three. JSON has to be read to its end, but of lists of samples, which
  // are lists of more than `rank` levels, only the first `n_kept` entries are kept in memory, if it is given: others
  // count, but must not be asked for.
  explicit ArrayFile(const std::filesystem::path& path, std::size_t rank = 0, std::optional<std::size_t> n_kept = {});

  // The samples of the array called `name`. An array that is alone in its file may have any name, and in npy and JSON
  // has none. Throws Error (kInput) when there is none, or when its rank is not `rank` or `rank` + 1.
  SampleArrays samples(std::string_view name, std::size_t rank) const;
  // The same for an array that may be absent: then nothing. The name counts.
  SampleArrays samples_if_present(std::string_view name, std::size_t rank) const;

  const std::string& where() const { return where_; }

 private:
  SampleArrays split(const Array& array, std::string_view name, std::size_t rank) const;
  SampleArrays json_samples(std::string_view name, std::size_t rank) const;

  std::string where_;
  std::shared_ptr<const SafetensorsFile> safetensors_;
  std::optional<Array> npy_;
  std::shared_ptr<const JsonLists> json_;
};

}  // namespace rankfall
