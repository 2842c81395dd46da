#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/mapped_file.h"
#include <rankfall/model.h>

namespace rankfall {

// One tensor of a SafetensorsFile, which must outlive `bytes`. Shape, dtype and bytes agree: that was checked when the
// file was opened. The product of any of the sizes in `shape` (zeros left out) fits an Index.
struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;         // meaningless unless `supported`
  std::vector<Index> shape;          // empty: one element
  std::span<const std::byte> bytes;  // row-major, little-endian, at any alignment
  std::string dtype_name;            // as in the file
  bool supported = true;             // false: a dtype of the format that rankfall cannot read (F8_E4M3, U16, C64 ...)

  Index size() const;  // number of elements
};

// A checkpoint file, mapped; its bytes are read when they are touched. Thread-safe: read-only.
// Format: 8 bytes little-endian length n, n bytes of JSON, data; every byte of the data belongs to exactly one tensor.
class SafetensorsFile {
 public:
  // Throws Error (kInput) for whatever is not a complete, sound file.
  static std::shared_ptr<const SafetensorsFile> open(const std::filesystem::path& path);
  // The same on bytes in memory, which must outlive the result; `where` begins the messages.
  static std::shared_ptr<const SafetensorsFile> parse(std::span<const std::byte> bytes, std::string_view where);

  std::span<const TensorInfo> tensors() const { return tensors_; }  // in the order of their data
  const TensorInfo* find(std::string_view name) const;              // null if there is none; any dtype
  const TensorInfo& at(std::string_view name) const;                // Error if there is none or it is unsupported
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& where() const { return where_; }                      // for messages
  const std::shared_ptr<const MappedFile>& file() const { return file_; }  // null after parse()

  // The tensor's pages may leave memory; see MappedFile::release.
  void release(const TensorInfo& tensor) const;

 private:
  SafetensorsFile() = default;
  void read(std::span<const std::byte> bytes);

  std::shared_ptr<const MappedFile> file_;
  std::string where_;
  std::vector<TensorInfo> tensors_;
  std::vector<std::uint32_t> by_name_;  // indices into tensors_, in the order of names
  std::map<std::string, std::string> metadata_;
};

// "[768, 2304]"
std::string shape_text(std::span<const Index> shape);

}  // namespace rankfall
