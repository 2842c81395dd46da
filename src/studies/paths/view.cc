#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "studies/paths/figures.h"
#include "studies/views.h"
#include "view/number_text.h"
#include <rankfall/metric_info.h>

namespace rankfall {
namespace {

using Kind = TableColumn::Kind;

constexpr std::size_t kMostRanked = 20;  // heads, tokens
constexpr Index kMostLengths = 5;        // in the table of tokens

// Lines by the size of their first number, the largest first.
void rank_lines(Table& table) {
  table.most = kMostRanked;
  std::ranges::stable_sort(table.rows, std::ranges::greater(), [&](const std::vector<Cell>& row) {
    return std::abs(std::get<Number>(row[table.n_labels]).value.value_or(0));
  });
}

// All paths through each head and from each MLP.
std::optional<Figure> paths_through_heads(const RowGroup& group, std::size_t number) {
  constexpr std::array<std::tuple<std::string_view, std::size_t>, 5> kColumns = {{{"head.share.residual", 1},
                                                                                  {"mlp.share.residual", 1},
                                                                                  {"head.share.projection", 2},
                                                                                  {"mlp.share.projection", 2},
                                                                                  {"head.relative_norm.frobenius", 3}}};
  Figure figure;
  figure.id = fmt::format("heads-{}", number);
  figure.title = "What passes through each head";
  figure.caption =
      fmt::format("All paths of {} that pass through a head, and all that begin at an MLP: their shares in the output.",
                  group.name());
  for (const std::string_view metric : {"head.share.residual", "head.share.projection"}) {
    Heat heat;
    heat.value = metric_info(metric).words;
    heat.title = fmt::format("{}: {}", group.name(), heat.value);
    heat.share = true;
    heat.only_drawn = true;
    for (const Row* row : with_metric(group.rows, metric)) {
      if (row->layer && row->head)
        heat.values.push_back({static_cast<double>(*row->layer), static_cast<double>(*row->head), finite(row->mean)});
    }
    if (!heat.values.empty()) figure.nodes.emplace_back(std::move(heat));
  }
  Table table;
  table.title = group.name() + ": heads and MLPs";
  table.about =
      "all paths through each head (L1H0: block 1, head 0) and from each MLP: share of the output's residual, share of "
      "the output (projection), norm relative to the output's (of the largest heads only); the largest come first. "
      "Sets of paths overlap, so shares need not sum to 1.";
  table.columns = {{"part"}, {"residual", Kind::kShare}, {"projection", Kind::kShare}, {"norm", Kind::kNumber}};
  std::map<std::string, std::size_t> lines;
  for (const auto& [metric, column] : kColumns) {
    for (const Row* row : with_metric(group.rows, metric)) {
      if (!row->layer) continue;
      const std::string part =
          row->head ? fmt::format("L{}H{}", *row->layer, *row->head) : fmt::format("L{} MLP", *row->layer);
      const auto [line, is_new] = lines.try_emplace(part, table.rows.size());
      if (is_new) table.rows.push_back({part, Number(), Number(), Number()});
      table.rows[line->second][column] = Number(finite(row->mean));
    }
  }
  if (table.rows.empty()) return {};
  rank_lines(table);
  figure.nodes.emplace_back(std::move(table));
  return figure;
}

// Products of the sums of two lengths.
std::optional<Figure> path_interference(const RowGroup& group, std::size_t number) {
  Figure figure;
  figure.id = fmt::format("interference-{}", number);
  figure.title = "Interference between lengths";
  figure.caption =
      "Inner products of the sums of all paths of two lengths, in the residual and in the output; negative ones "
      "cancel.";
  for (const std::string_view metric : {"paths.gram.residual", "paths.gram.projection"}) {
    const bool residual = metric.ends_with("residual");
    Heat heat;
    heat.title = fmt::format("{}: interference between lengths{}", group.name(), residual ? " in the residual" : "");
    heat.about = fmt::format("{}; all of them sum to 1", metric_info(metric).formula);
    heat.x = "length";
    heat.y = "other length";
    heat.value = "product";
    for (const Row* row : with_metric(group.rows, metric)) {
      if (row->length && row->k)
        heat.values.push_back({static_cast<double>(*row->length), static_cast<double>(*row->k), finite(row->mean)});
    }
    if (!heat.values.empty()) figure.nodes.emplace_back(std::move(heat));
  }
  if (figure.nodes.empty()) return {};
  return figure;
}

// The contributions to one output token of a sample, from input tokens and from elsewhere.
struct Reached {
  std::string to;
  std::map<Index, std::map<std::optional<Index>, std::optional<double>>> tokens;  // by length; none: all together
  double embedding = 0, mlp = 0, bias = 0;
  Index longest = 0;
};

void add_reached(const RowGroup& group, Index sample, const Reached& reached, Figure& figure) {
  const Index n_lengths = std::min(reached.longest, kMostLengths - 1) + 1;
  Table table;
  table.title = fmt::format("{}: sample {} {}", group.name(), sample, reached.to);
  if (figure.nodes.empty()) {
    table.about =
        "share of each input token's embedding in what sets the output token apart from the others, over all lengths "
        "and by length; the largest come first";
  }
  table.columns = {{"token", Kind::kCount}, {"all lengths", Kind::kShare}};
  for (Index k = 0; k < n_lengths; ++k) table.columns.push_back({fmt::format("length {}", k), Kind::kNumber});
  for (const auto& entry : reached.tokens) {
    const auto& shares = entry.second;
    auto& line = table.rows.emplace_back();
    line.emplace_back(Number(static_cast<double>(entry.first)));
    const auto add = [&](std::optional<Index> length) {
      const auto share = shares.find(length);
      line.emplace_back(Number(share == shares.end() ? std::nullopt : share->second));
    };
    add({});
    for (Index k = 0; k < n_lengths; ++k) add(k);
  }
  rank_lines(table);
  figure.nodes.emplace_back(std::move(table));
  std::string text = fmt::format("embeddings {}, MLPs {}, biases {}.", significant(reached.embedding, 2),
                                 significant(reached.mlp, 2), significant(reached.bias, 2));
  if (reached.longest >= n_lengths) {
    text += fmt::format(" Lengths above {} are in the csv and json output only.", n_lengths - 1);
  }
  figure.nodes.emplace_back(Sentences{{{"by origin", Tone::kNeutral, std::move(text)}}});
}

std::optional<Figure> tokens_reached(const RowGroup& group, std::size_t number) {
  std::map<Index, Reached> samples;
  for (const Row* row : with_metric(group.rows, "token.share.residual")) {
    Reached& reached = samples[row->sample.value_or(0)];
    if (reached.to.empty()) reached.to = row->kind;
    const auto share = finite(row->mean);
    if (row->k) reached.tokens[*row->k][row->length] = share;
    if (!row->length) continue;
    reached.longest = std::max(reached.longest, *row->length);
    const Origin::Kind kind = row->origin.value_or(Origin{}).kind;
    (kind == Origin::Kind::kMlp    ? reached.mlp
     : kind == Origin::Kind::kBias ? reached.bias
                                   : reached.embedding) += share.value_or(0);
  }
  Figure figure;
  figure.id = fmt::format("tokens-{}", number);
  figure.title = "Which input tokens reach the output";
  figure.caption = fmt::format("Shares of the input tokens of {} in one token of the output.", group.name());
  for (const auto& [sample, reached] : samples) {
    if (!reached.tokens.empty()) add_reached(group, sample, reached, figure);
  }
  if (figure.nodes.empty()) return {};
  return figure;
}

// The input token that reaches the output most.
std::optional<Answer> token_answer(const RowGroup& group) {
  const Row* best = nullptr;
  for (const Row* row : with_metric(group.rows, "token.share.residual")) {
    if (!row->k || row->length || !finite(row->mean)) continue;
    if (!best || std::abs(*row->mean) > std::abs(*best->mean)) best = row;
  }
  if (!best) return {};
  return Answer{Question::kPaths,
                fmt::format("{}: input token {} has the largest share in the output token{}, {} (sample {}).",
                            shortened(group.name()), *best->k, best->kind.empty() ? "" : " (" + best->kind + ")",
                            significant(*best->mean, 2), best->sample.value_or(0)),
                Tone::kNeutral};
}

// The heads and MLPs with the largest shares of the output's residual.
std::optional<Answer> heads_answer(const RowGroup& group, bool several) {
  constexpr std::size_t kMostNamed = 3;
  const auto largest = [](Rows rows) {
    std::erase_if(rows, [](const Row* row) { return !row->layer || !finite(row->mean); });
    std::ranges::stable_sort(rows, std::ranges::greater(), [](const Row* row) { return std::abs(*row->mean); });
    if (rows.size() > kMostNamed) rows.resize(kMostNamed);
    return rows;
  };
  std::vector<std::string> parts;
  for (const Row* row : largest(with_metric(group.rows, "head.share.residual"))) {
    parts.push_back(fmt::format("L{}H{} {}", *row->layer, row->head.value_or(0), significant(*row->mean, 2)));
  }
  if (parts.empty()) return {};
  return Answer{
      Question::kPaths,
      fmt::format(
          "{}{}he heads with the largest shares (by size) of the output's residual are {} (L1H0: block 1, head 0).",
          several ? shortened(group.name()) + ": " : "", several ? "t" : "T", joined(parts)),
      Tone::kNeutral};
}

}  // namespace

View paths_view(const Result& result, const ViewOptions& /*options*/) {
  View view;
  std::size_t number = 0;
  constexpr std::size_t kMostAnswers = 3;
  const std::vector<RowGroup> groups = by_variant(result);
  for (const RowGroup& group : groups) {
    ++number;
    for (const auto make :
         {paths_by_length, paths_through_heads, path_interference, random_paths, heaviest_paths, tokens_reached}) {
      if (auto figure = make(group, number)) view.figures.push_back(std::move(*figure));
    }
    for (auto answer : {paths_answer(group), heads_answer(group, groups.size() > 1), heaviest_answer(group),
                        random_answer(group), token_answer(group)}) {
      if (answer && view.answers.size() < kMostAnswers) view.answers.push_back(std::move(*answer));
    }
  }
  return view;
}

}  // namespace rankfall
