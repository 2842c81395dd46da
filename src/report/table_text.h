#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/block_text.h"
#include "report/paint.h"
#include <rankfall/report.h>

namespace rankfall {

using Rows = std::vector<const Row*>;

// The rows of one model and variant.
struct RowGroup {
  std::string model, variant;
  Rows rows;
};

// In the order in which they first appear.
std::vector<RowGroup> by_variant(const Result& result);

Rows with_metric(const Rows& rows, std::string_view metric);

// "float32 ", "float64 " or empty: what a result was computed in.
std::string precision_words(const Manifest& manifest);

LayerCell cell_of(std::optional<double> value);

// A block with lines to be filled, of the model and variant of this row.
LayerBlock block_for(const Row& row, std::string metric, std::string unit);

// Text that grows by tables and sentences.
struct TableText {
  explicit TableText(const TableOptions& table_options) : options(table_options), paint(table_options.colour) {}

  void block(LayerBlock block);
  void lines(const std::string& sentences, int indent = 0);
  void title(const Row& row, const std::string& words);

  const TableOptions& options;
  Painter paint;
  std::string text;
};

}  // namespace rankfall
