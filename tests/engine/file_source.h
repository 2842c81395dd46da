#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/dtype.h"
#include "io/safetensors.h"
#include <rankfall/model.h>

namespace rankfall {

// Weights by exact name from one safetensors file, for tests.
class FileSource final : public WeightSource {
 public:
  FileSource(std::vector<TensorSpec> tensors, const std::string& path)
      : tensors_(std::move(tensors)), file_(SafetensorsFile::open(path)) {}

  TensorData rows(int tensor, Index first, Index count) const override {
    const TensorSpec& spec = tensors_[static_cast<std::size_t>(tensor)];
    const TensorInfo* info = file_->find(spec.name);
    if (!info) throw std::runtime_error("no tensor " + spec.name);
    const std::size_t row_bytes = static_cast<std::size_t>(spec.matrix_cols()) * dtype_size(info->dtype);
    return {
        info->dtype,
        info->bytes.subspan(static_cast<std::size_t>(first) * row_bytes, static_cast<std::size_t>(count) * row_bytes),
        file_};
  }

 private:
  std::vector<TensorSpec> tensors_;
  std::shared_ptr<const SafetensorsFile> file_;
};

}  // namespace rankfall
