#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "io/atomic_file.h"
#include <rankfall/model.h>

namespace rankfall {

// A tensor to be written. dtype: F32, F64, I32 or I64.
struct TensorPlan {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<Index> shape;
};

// Writes a safetensors file that need not fit in memory: all tensors are declared first, then their elements arrive in
// pieces, in any order, from any number of threads; every element must be written exactly once before commit(). Until
// commit() the target is untouched. The whole size is reserved at the start. Tensors are stored with the wider elements
// first, otherwise in the order given, so that all data is aligned.
// A full disk, a missing folder and the like throw Error (kInput).
class SafetensorsWriter {
 public:
  // Throws Error (kUsage) if a name appears twice or is not UTF-8, or if a shape is impossible.
  SafetensorsWriter(const std::filesystem::path& path, std::vector<TensorPlan> tensors,
                    const std::map<std::string, std::string>& metadata = {});

  // Elements [first, first + values.size()) of tensor number `tensor` (as declared), row-major. Real values go to F32
  // and F64, rounded to nearest; integers go to every dtype, and one that does not fit I32 throws Error (kNumerical).
  // T: float, double, std::int32_t or std::int64_t.
  template <class T>
  void write(std::size_t tensor, Index first, std::span<const T> values);

  void commit();

  std::uint64_t n_bytes() const { return n_bytes_; }  // of the whole file

 private:
  std::vector<TensorPlan> tensors_;
  std::vector<std::uint64_t> offsets_;  // in the file, of each tensor's first element
  std::vector<std::uint64_t> sizes_;    // elements of each tensor
  std::uint64_t n_elements_ = 0;
  std::uint64_t n_bytes_ = 0;
  std::atomic<std::uint64_t> n_written_{0};
  AtomicFile file_;
};

}  // namespace rankfall
