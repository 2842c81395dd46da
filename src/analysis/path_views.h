#pragma once

#include <span>
#include <string>
#include <vector>

#include <rankfall/paths.h>

namespace rankfall {

// One model and variant, for the views of paths.h other than the sums by length. Each function makes the rows of one
// view.
struct PathsJob {
  const Model* model = nullptr;
  const Variant* variant = nullptr;
  Network network;  // the variant's
  std::span<const Sample> samples;
  const PathsOptions* options = nullptr;

  Row row(std::string metric) const {
    Row row;
    row.model = model->name;
    row.variant = variant->name;
    row.metric = std::move(metric);
    return row;
  }
};

std::vector<Row> head_rows(const PathsJob& job, const Progress& progress);
std::vector<Row> drawn_path_rows(const PathsJob& job, const Progress& progress);
std::vector<Row> top_path_rows(const PathsJob& job, const Progress& progress);
std::vector<Row> token_rows(const PathsJob& job, const Progress& progress);

// Products over what is no padding.
double valid_product(const MatrixRef<double>& a, const MatrixRef<double>& b, std::span<const std::uint8_t> valid);

// The output and its residual as directions whose products are shares: y / |y|^2 and res y / |res y|^2. Rows of padding
// are zero; a residual that is zero stays so.
Matrix<double> projection_direction(const MatrixRef<double>& y, std::span<const std::uint8_t> valid);
Matrix<double> residual_direction(const MatrixRef<double>& y, std::span<const std::uint8_t> valid);

}  // namespace rankfall
