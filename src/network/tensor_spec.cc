#include <rankfall/model.h>

namespace rankfall {

Index TensorSpec::matrix_rows() const { return shape.size() < 2 ? 1 : shape[0]; }

Index TensorSpec::matrix_cols() const {
  Index n = 1;
  for (std::size_t i = shape.size() < 2 ? 0 : 1; i < shape.size(); ++i) n *= shape[i];
  return n;
}

}  // namespace rankfall
