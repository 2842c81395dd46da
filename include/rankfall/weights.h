#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/index.h>

namespace rankfall {

enum class DType { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU8, kBool };

// How a tensor is drawn when there is no file. kNormal and kTruncatedNormal (cut at two standard deviations): scale is
// the standard deviation; kUniform: on [-scale, scale]; kConstant: every entry is scale.
struct Init {
  enum class Kind { kConstant, kNormal, kTruncatedNormal, kUniform };
  Kind kind = Kind::kConstant;
  double scale = 0;
};

// One stored tensor of a model. As a matrix it has shape[0] rows and the product of the rest as columns; a vector is
// one row.
struct TensorSpec {
  std::string name;
  std::vector<Index> shape;
  Init init;

  RANKFALL_API Index matrix_rows() const;
  RANKFALL_API Index matrix_cols() const;
};

// Bytes of some rows of a tensor; `keep` holds them alive, whether they lie in a mapped file or in a buffer.
struct TensorData {
  DType dtype = DType::kF32;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> keep;
};

// Where weights come from: a mapped checkpoint or a seeded initialisation. Thread-safe: read-only for its users.
class RANKFALL_API WeightSource {
 public:
  virtual ~WeightSource() = default;

  // Rows [first, first + count) of tensor number `tensor` of Network::tensors, seen as a matrix; dense, row-major.
  virtual TensorData rows(int tensor, Index first, Index count) const = 0;

  // Says that these rows will be asked for soon; a hint that costs nothing.
  virtual void prefetch(int /*tensor*/, Index /*first*/, Index /*count*/) const {}

  // Throws Error kInput if a file is no longer what it was when it was opened: what was read since may be anything.
  virtual void check() const {}

  // SHA-256 of the files (docs/formats.md), which reads all of them; empty when there are none, and when files above 1
  // GB hold mostly what is not used.
  virtual std::string digest() const { return {}; }
};

}  // namespace rankfall
