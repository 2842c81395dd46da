#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/safetensors.h"
#include <rankfall/weights.h>

namespace rankfall {

// A row-major array; `keep` holds the bytes alive.
struct Array {
  DType dtype = DType::kF64;
  std::vector<Index> shape;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> keep;
};

// A file of samples: safetensors, npy, or JSON (lists of numbers, or an object of such lists by name), told apart by
// their first bytes and, for JSON, the ending. Every sample is an
// array of `rank` sizes; a file holds several of them along one axis in front, or a single one without it. In JSON
// samples may differ in length.
class ArrayFile {
 public:
  // Throws Error (kInput) for what is none of the three.
  explicit ArrayFile(const std::filesystem::path& path);

  // The samples of the array called `name`. An array that is alone in its file may have any name, and in npy and JSON
  // has none. Throws Error (kInput) when there is none, or when its rank is not `rank` or `rank` + 1.
  std::vector<Array> samples(std::string_view name, std::size_t rank) const;
  // The same for an array that may be absent: then nothing. The name counts.
  std::vector<Array> samples_if_present(std::string_view name, std::size_t rank) const;

  const std::string& where() const { return where_; }

 private:
  std::vector<Array> split(const Array& array, std::string_view name, std::size_t rank) const;
  std::vector<Array> json_samples(std::string_view name, std::size_t rank) const;

  std::string where_;
  std::shared_ptr<const SafetensorsFile> safetensors_;
  std::optional<Array> npy_;
  std::shared_ptr<const void> json_;  // an nlohmann::json
};

}  // namespace rankfall
