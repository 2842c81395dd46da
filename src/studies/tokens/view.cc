#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "result/manifest.h"
#include "studies/views.h"
#include "view/rows.h"

namespace rankfall {

View tokens_view(const Result& result, const ViewOptions& /*options*/) {
  Table table;
  table.layout = Table::Layout::kRunning;
  table.columns = {{"sample"}, {"piece"}, {"id", TableColumn::Kind::kCount}};
  Rows rows;
  for (const Row& row : result.rows) {
    if (row.metric == "token") rows.push_back(&row);
  }
  std::string label;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = *rows[i];
    if (i == 0 || rows[i - 1]->sample != row.sample) {
      std::size_t n = 1;
      while (i + n < rows.size() && rows[i + n]->sample == row.sample) ++n;
      label = fmt::format("sample {}: {}", row.sample.value_or(0), counted(n, "token"));
    }
    table.rows.push_back({label, row.text, Number(finite(row.mean))});
  }
  Figure figure;
  figure.id = "tokens";
  figure.title = "Tokens and their ids";
  figure.caption = "The tokens of each sample, and the id of each in the vocabulary.";
  View view;
  if (!table.rows.empty()) {
    std::set<std::optional<Index>> samples;
    for (const Row* row : rows) samples.insert(row->sample);
    view.answers.push_back({Question::kTokens,
                            fmt::format("{} in {}.", counted(rows.size(), "token"), counted(samples.size(), "sample")),
                            Tone::kNeutral});
    figure.nodes.emplace_back(std::move(table));
  }
  if (const std::string special = text_of(result.manifest, "special_tokens"); !special.empty()) {
    view.notes.push_back(fmt::format("Special tokens around each sample: {}.", special));
  }
  view.figures.push_back(std::move(figure));
  return view;
}

}  // namespace rankfall
