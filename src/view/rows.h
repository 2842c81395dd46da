#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "view/view.h"
#include <rankfall/result.h>

// Helpers that turn rows into views: groups, points, series, and words that several studies share.

namespace rankfall {

using Rows = std::vector<const Row*>;

// The rows of one model and variant.
struct RowGroup {
  std::string model, variant;
  Rows rows;

  std::string name() const { return variant.empty() ? model : model + " " + variant; }
};
// In the order in which they first appear.
std::vector<RowGroup> by_variant(const Result& result);
std::vector<RowGroup> by_model(const Result& result);  // variants are empty

Rows with_metric(const Rows& rows, std::string_view metric);

// True for a row that layer, head and variant place completely.
bool is_layer_row(const Row& row);

// Names in the order of their first use.
class Names {
 public:
  void add(const std::string& name);
  bool empty() const { return names_.empty(); }
  std::size_t size() const { return names_.size(); }
  const std::vector<std::string>& list() const { return names_; }

 private:
  std::vector<std::string> names_;
};

std::optional<double> finite(std::optional<double> value);

// The row's whole number: its digits, at most so many, otherwise rounded.
std::string whole_text(const Row& row, std::size_t most);

// The row's value at x, with n, status and what is said of it, and a band of one deviation.
Point point_of(const Row& row, double x, std::string series);

// Numbered from 0; names are titles.
std::vector<Series> numbered_series(const std::vector<std::string>& names);
// The usual variants have the same numbers, that is colours, in all figures.
std::vector<Series> variant_series(const std::vector<std::string>& variants);
std::vector<Series> ordered_series(const std::vector<std::string>& names);
Series reference_series(std::string name, std::string title);

// Words.
std::string joined(const std::vector<std::string>& words);                  // "a, b and c"
std::string shortened(const std::string& name);                             // names of files may be long
std::string counted(std::size_t n, std::string_view word);                  // "1 sample", "32 samples"
std::string title_case(std::string words);                                  // "relative residual" with a capital
std::string mean_words(std::string_view metric, Index n, bool over_seeds);  // "arithmetic mean over 32 samples"
std::string precision_words(const Manifest& manifest);                      // "float32 ", "float64 " or empty
// "Measured on 32 samples of 128 random token ids (uniform)."; model by model where they differ. Of trained weights on
// random inputs, also what that means.
std::string input_words(const Manifest& manifest, std::string_view verb = "Measured on", bool reads_weights = true);

}  // namespace rankfall
