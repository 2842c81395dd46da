#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/ggml_types.h"
#include "io/mapped_file.h"
#include <rankfall/index.h>

namespace rankfall {

// A list of a GGUF file's metadata, as it lies there.
struct GgufList {
  std::uint32_t type = 0;  // of its elements, which are no lists
  std::uint64_t count = 0;
  std::span<const std::byte> bytes;

  // Empty unless it is one of texts, which point into the file; of whole numbers; of numbers.
  std::vector<std::string_view> texts() const;
  std::vector<std::int64_t> integers() const;
  std::vector<double> numbers() const;
};

// Texts point into the file.
using GgufValue = std::variant<bool, std::int64_t, double, std::string_view, GgufList>;

struct GgufTensor {
  std::string name;
  const GgmlType* type = nullptr;
  std::vector<Index> shape;          // the slowest first: [out, in], as everywhere in rankfall
  std::span<const std::byte> bytes;  // empty for a type that is not read

  Index n_rows() const { return shape.size() < 2 ? 1 : shape[0]; }
  Index n_cols() const;  // of a row, in which blocks lie
  std::size_t row_bytes() const;
};

// A model file of llama.cpp (GGUF 2 or 3, little-endian), mapped. Format: magic, version, counts, key-values, tensor
// infos, padding, data. Thread-safe: read-only.
class GgufFile {
 public:
  // Throws Error (kInput) for whatever is not a complete, sound file: each tensor of a type that is read lies inside
  // the file, begins where the alignment says, overlaps no other and is made of whole blocks.
  static std::shared_ptr<const GgufFile> open(const std::filesystem::path& path);
  // The same on bytes in memory, which must outlive the result; `where` begins the messages.
  static std::shared_ptr<const GgufFile> parse(std::span<const std::byte> bytes, std::string_view where);

  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  const GgufTensor* find(std::string_view name) const;  // null if there is none
  const GgufValue* value(std::string_view key) const;   // null if there is none
  const std::map<std::string, GgufValue, std::less<>>& values() const { return values_; }
  const std::string& where() const { return where_; }                      // for messages
  const std::shared_ptr<const MappedFile>& file() const { return file_; }  // null after parse()
  std::size_t n_bytes() const { return n_bytes_; }

 private:
  GgufFile() = default;
  void read(std::span<const std::byte> bytes);

  std::shared_ptr<const MappedFile> file_;
  std::string where_;
  std::vector<GgufTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::map<std::string, GgufValue, std::less<>> values_;
  std::size_t n_bytes_ = 0;
};

// Whether bytes begin as such a file's.
bool looks_like_gguf(std::span<const std::byte> bytes);
// Whether it is a file that says so by its name or its first bytes, sound or not.
bool is_gguf_file(const std::filesystem::path& path);

}  // namespace rankfall
