#pragma once

#include <optional>
#include <string>
#include <vector>

#include <rankfall/result.h>

namespace rankfall {

// One value of the terminal table. Several rows may stand behind it (one per head, or per seed).
struct LayerCell {
  std::optional<double> mean;       // of the rows' means; absent if no row has one
  std::optional<double> low, high;  // smallest and largest of them
  bool at_floor = false;            // all rows are at the rounding floor
  std::string mark;                 // what is to be said of it, in short
  int n_rows = 0;
};

// What is found of a curve.
struct LayerSentence {
  Status status = Status::kNone;
  std::string text;
};

// What the terminal shows together: one metric of one model, layers by variants.
struct LayerBlock {
  std::string model, metric;
  bool by_head = false;  // cells are means over heads; layers are blocks of the network
  bool by_seed = false;  // cells are means over seeds
  std::vector<std::string> variants;
  std::vector<Index> layers;                  // ascending
  std::vector<std::vector<LayerCell>> cells;  // [variant][layer]
  std::optional<Index> n;                     // if all rows have the same
  bool over_seeds = false;                    // n counts seeds, otherwise samples
  std::vector<LayerSentence> sentences;       // what is found, by variant; may be empty

  // For blocks of something else than layers by variants; empty: as above.
  std::string title;                // instead of the metric's words and formula
  std::string unit;                 // instead of "layer"
  std::vector<std::string> labels;  // of the lines, instead of `layers`
  std::string text_name;            // a column of texts after the labels
  std::vector<std::string> texts;
};

// True for a row that layers and variants place completely; others go into a plain table.
bool is_layer_row(const Row& row);

// Blocks in the order in which models and metrics first appear, variants likewise. Rows that are no layer rows are
// ignored.
std::vector<LayerBlock> layer_blocks(const std::vector<const Row*>& rows);

}  // namespace rankfall
