#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "io/safetensors.h"

namespace rankfall {

// Pages behind us are given back when the files are larger than this; below it the system may keep them.
inline constexpr std::uint64_t kReleaseAbove = std::uint64_t{1} << 30;

// The tensors of a checkpoint directory: those of model.safetensors or, where that is absent, those of the files that
// model.safetensors.index.json names. Thread-safe: read-only.
class CheckpointFiles {
 public:
  // Throws Error (kInput) when there is nothing to read, saying what the directory seems to be instead; and for an
  // index that names files elsewhere, or tensors that its files do not have.
  static std::shared_ptr<const CheckpointFiles> open(const std::filesystem::path& directory);

  struct Entry {
    const SafetensorsFile* file = nullptr;
    const TensorInfo* tensor = nullptr;
  };
  const Entry* find(std::string_view name) const;  // null if there is none
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
  const std::string& where() const { return where_; }  // the file, or the index
  std::uint64_t n_bytes() const;                       // of all files

  void check() const;  // each file (MappedFile::check)

  // Of the file; of several, the SHA-256 of their SHA-256s, each with a newline after it, in the order of their names.
  std::string digest() const;

 private:
  CheckpointFiles() = default;
  void read_index(const std::filesystem::path& index);

  std::string where_;
  std::map<std::string, std::shared_ptr<const SafetensorsFile>> files_;  // by name
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace rankfall
