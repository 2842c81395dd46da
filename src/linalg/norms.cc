#include "linalg/norms.h"

#include "linalg/norms_impl.h"

namespace rankfall {

template Norms norms(const MatrixRef<float>&);
template Norms norms(const MatrixRef<double>&);
template CentredNorms centred_norms(const MatrixRef<float>&, std::span<const std::uint8_t>);
template CentredNorms centred_norms(const MatrixRef<double>&, std::span<const std::uint8_t>);
template Matrix<double> centred_rows(const MatrixRef<float>&, std::span<const std::uint8_t>);
template Matrix<double> centred_rows(const MatrixRef<double>&, std::span<const std::uint8_t>);
template Cosines cosines(const MatrixRef<float>&, std::span<const std::uint8_t>);
template Cosines cosines(const MatrixRef<double>&, std::span<const std::uint8_t>);

}  // namespace rankfall
