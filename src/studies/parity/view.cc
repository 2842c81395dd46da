#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "studies/views.h"
#include "view/number_text.h"
#include "view/rows.h"

namespace rankfall {
namespace {

// Differences up to these are called rounding. The families of tests/data stay below 10^-12 and 10^-4; the rest is room
// for deeper networks.
constexpr double kDoubleRounding = 1e-9, kSingleRounding = 1e-3;

// The differences of one model and variant in one arithmetic.
struct Differences {
  std::string model, variant, precision;
  std::map<std::string_view, double> values;  // by metric

  std::optional<double> of(std::string_view metric) const {
    const auto found = values.find(metric);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }
  double largest() const {
    return std::max(of("parity.hidden.max").value_or(0), of("parity.attention.max").value_or(0));
  }
};

std::vector<Differences> differences_of(const Result& result) {
  std::vector<Differences> out;
  for (const Row& row : result.rows) {
    const auto value = finite(row.mean);
    if (!row.metric.starts_with("parity.") || !value) continue;
    auto place = std::ranges::find_if(out, [&](const Differences& one) {
      return one.model == row.model && one.variant == row.variant && one.precision == row.kind;
    });
    if (place == out.end()) place = out.insert(place, {row.model, row.variant, row.kind, {}});
    place->values[row.metric] = *value;
  }
  return out;
}

std::string arithmetic_words(const std::string& precision) {
  return precision == "f64" ? "float64" : precision == "f32" ? "float32" : shortened(precision);
}

// "1.9×10^-14 in hidden states and 7.4×10^-14 in attention", the largest of all models.
std::string difference_words(const std::vector<Differences>& all, const std::string& precision) {
  std::vector<std::string> parts;
  for (const auto& [metric, words] :
       {std::pair("parity.hidden.max", "hidden states"), std::pair("parity.attention.max", "attention")}) {
    std::optional<double> largest;
    for (const Differences& one : all) {
      if (one.precision == precision && one.of(metric)) largest = std::max(largest.value_or(0), *one.of(metric));
    }
    if (largest) parts.push_back(fmt::format("{} in {}", significant(*largest, 2), words));
  }
  return joined(parts);
}

// Judged by the finest arithmetic that was run: what remains there is not our rounding.
std::optional<Answer> parity_answer(const std::vector<Differences>& all) {
  const bool has_double = std::ranges::find(all, "f64", &Differences::precision) != all.end();
  const std::string finest = has_double ? "f64" : all.front().precision;
  Names models, precisions;
  const Differences* worst = nullptr;
  for (const Differences& one : all) {
    models.add(one.model);
    precisions.add(one.precision);
    if (one.precision == finest && (!worst || one.largest() > worst->largest())) worst = &one;
  }
  std::vector<std::string> parts;
  for (const std::string& precision : precisions.list()) {
    const std::string words = difference_words(all, precision);
    if (!words.empty()) parts.push_back(fmt::format("{} ({})", words, arithmetic_words(precision)));
  }
  if (parts.empty()) return {};
  const bool in_double = has_double && worst->largest() <= kDoubleRounding;
  const bool in_single = worst->largest() <= kSingleRounding;
  return Answer{
      Question::kReference,
      fmt::format("rankfall and the reference {}. Relative to the largest number of the same matrix, they differ by at "
                  "most {}{}.",
                  in_double   ? "agree to float64 rounding"
                  : in_single ? "agree to float32 rounding"
                              : "differ by more than float32 rounding",
                  fmt::join(parts, "; "),
                  models.size() > 1 ? fmt::format("; the model that differs most is {}", shortened(worst->model)) : ""),
      in_single ? Tone::kGood : Tone::kBad};
}

}  // namespace

View parity_view(const Result& result, const ViewOptions& /*options*/) {
  using Kind = TableColumn::Kind;
  const std::vector<Differences> all = differences_of(result);
  View view;
  if (all.empty()) return view;
  Figure figure;
  figure.id = "parity";
  figure.title = "Difference from the reference";
  figure.caption = fmt::format(
      "|ours - reference| over all numbers of all layers and samples, relative to the largest number of the same "
      "matrix of the reference. Up to {} counts as float64 rounding, up to {} as float32 rounding.",
      significant(kDoubleRounding, 1), significant(kSingleRounding, 1));
  Table table;
  table.title = figure.title;
  table.about = "relative to the largest number of the same matrix of the reference";
  table.n_labels = 3;
  table.columns = {{"model"},
                   {"variant"},
                   {"arithmetic"},
                   {"largest", Kind::kNumber, "hidden states", 2},
                   {"median", Kind::kNumber, "hidden states", 2},
                   {"largest", Kind::kNumber, "attention", 2},
                   {"median", Kind::kNumber, "attention", 2}};
  const bool has_attention =
      std::ranges::any_of(all, [](const Differences& one) { return one.of("parity.attention.max").has_value(); });
  if (!has_attention) table.columns.erase(table.columns.begin() + 5, table.columns.end());
  for (const Differences& one : all) {
    std::vector<Cell> cells = {one.model, one.variant, arithmetic_words(one.precision)};
    for (const char* metric :
         {"parity.hidden.max", "parity.hidden.median", "parity.attention.max", "parity.attention.median"}) {
      if (has_attention || std::string_view(metric).starts_with("parity.hidden")) {
        cells.emplace_back(Number(one.of(metric)));
      }
    }
    table.rows.push_back(std::move(cells));
  }
  figure.nodes.emplace_back(std::move(table));
  view.figures.push_back(std::move(figure));
  if (auto answer = parity_answer(all)) view.answers.push_back(std::move(*answer));
  return view;
}

}  // namespace rankfall
