#include "report/path_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "report/number_text.h"
#include "report/single_path_tables.h"

namespace rankfall {
namespace {

constexpr std::size_t kMostRanked = 20;  // heads, tokens
constexpr Index kLongest = 1'000'000;    // of a path; files may say more

// What sums over paths show: by length, head and token.
class SumTables {
 public:
  SumTables(const Rows& rows, TableText& out) : rows_(rows), out_(out) {}

  void lengths() {
    const Rows output = output_rows();
    const Rows shares = with_metric(output, "paths.share.residual");
    if (shares.empty()) return;
    // Origins as columns, lengths as lines; with an origin for each block only those that are one, and a second table.
    std::vector<Origin> origins = {{Origin::Kind::kAll, {}}};
    bool by_block = false;
    std::set<Index> lengths;
    for (const Row* row : shares) {
      const bool is_block = row->origin && row->origin->block;
      by_block |= is_block;
      if (row->origin && !is_block && std::ranges::find(origins, *row->origin) == origins.end()) {
        origins.push_back(*row->origin);
      }
      if (row->length) lengths.insert(*row->length);
    }
    if (lengths.empty()) return;
    LayerBlock table = block_for(*shares[0], "paths.share.residual", "length");
    table.title =
        fmt::format("share of the residual by path length: <res Yₖ, res Y> / ‖res Y‖², at the output (layer {})",
                    *shares[0]->layer);
    for (const Origin& origin : origins) table.variants.push_back(to_string(origin));
    table.text_name = "paths";
    table.layers.assign(lengths.begin(), lengths.end());
    table.cells.resize(origins.size());
    const auto find = [&](std::string_view metric, const Origin& origin, std::optional<Index> length) -> const Row* {
      const auto found = std::ranges::find_if(output, [&](const Row* row) {
        return row->metric == metric && row->origin == origin && row->length == length;
      });
      return found == output.end() ? nullptr : *found;
    };
    for (const Index length : lengths) {
      const Row* count = find("paths.count", origins[0], length);
      table.texts.push_back(count ? digits_text(count->exact, 9) : "");
      for (std::size_t o = 0; o < origins.size(); ++o) {
        const Row* row = find("paths.share.residual", origins[o], length);
        table.cells[o].push_back(cell_of(row ? row->mean : std::nullopt));
      }
    }
    out_.block(table);
    if (by_block) origin_table(output);
    findings(table);
  }

  void gram() {
    for (const char* metric : {"paths.gram.residual", "paths.gram.projection"}) {
      const Rows all = with_metric(rows_, metric);
      if (all.empty()) continue;
      Index n = 0;
      while (n * n < static_cast<Index>(all.size())) ++n;
      if (n * n != static_cast<Index>(all.size())) continue;  // not what rankfall writes
      const bool residual = std::string_view(metric).ends_with("residual");
      out_.title(*all[0],
                 residual
                     ? "interference between lengths in the residual: <res Yⱼ, res Yₖ> / ‖res Y‖²; all of them sum to 1"
                     : "interference between lengths: <Yⱼ, Yₖ> / ‖Y‖²; all of them sum to 1");
      constexpr int kWidth = 10;
      const Index per_piece = std::max(1, (out_.options.width - 6) / kWidth);
      for (Index first = 0; first < n; first += per_piece) {
        std::string head = "length";
        for (Index k = first; k < std::min(n, first + per_piece); ++k) head += fmt::format("{:>{}}", k, kWidth);
        out_.text += out_.paint(Colour::kDim, head) + '\n';
        for (Index j = 0; j < n; ++j) {
          std::string line = fmt::format("{:>6}", j);
          for (Index k = first; k < std::min(n, first + per_piece); ++k) {
            const auto& mean = all[static_cast<std::size_t>(j * n + k)]->mean;
            line += fmt::format("{:>{}}", mean ? significant(*mean, 2) : "-", kWidth);
          }
          out_.text += line + '\n';
        }
        out_.text += '\n';
      }
    }
  }

  void heads() {
    const Rows residual = with_metric(rows_, "head.share.residual");
    if (residual.empty()) return;
    std::map<std::string, Ranked> all;
    std::vector<std::string> order;
    const auto put = [&](std::string_view metric, std::size_t column) {
      for (const Row* row : with_metric(rows_, metric)) {
        if (!row->layer) continue;
        const std::string label =
            row->head ? fmt::format("L{}H{}", *row->layer, *row->head) : fmt::format("L{} MLP", *row->layer);
        if (!all.contains(label)) order.push_back(label);
        Ranked& ranked = all.try_emplace(label, Ranked{label, std::vector<std::optional<double>>(3)}).first->second;
        ranked.values[column] = row->mean;
      }
    };
    put("head.share.residual", 0);
    put("mlp.share.residual", 0);
    put("head.share.projection", 1);
    put("mlp.share.projection", 1);
    put("head.relative_norm.frobenius", 2);
    LayerBlock table = block_for(*residual[0], "head.share.residual", "");
    table.unit = "part";
    table.title =
        "all paths through a head, all paths from an MLP: share of the output's residual, of the output, and norm "
        "beside the output's (of heads with large shares only)";
    table.variants = {"residual", "projection", "norm"};
    std::vector<Ranked> list;
    list.reserve(order.size());
    for (const std::string& label : order) list.push_back(all.at(label));
    ranked(std::move(table), std::move(list), "heads and MLPs");
  }

  void tokens() {
    const Rows all = with_metric(rows_, "token.share.residual");
    std::set<Index> samples;
    for (const Row* row : all) samples.insert(row->sample.value_or(0));
    for (const Index sample : samples) {
      LayerBlock table;
      std::map<Index, Ranked> by_token;
      Index n_lengths = 0;
      for (const Row* row : all) {
        if (row->sample == sample && row->length) n_lengths = std::max(n_lengths, std::min(*row->length, kLongest) + 1);
      }
      constexpr Index kMostLengths = 5;
      const Index shown = std::min(n_lengths, kMostLengths);
      for (const Row* row : all) {
        if (row->sample != sample || !row->k) continue;
        if (table.unit.empty()) table = block_for(*row, row->metric, "token");
        Ranked& ranked =
            by_token
                .try_emplace(*row->k, Ranked{fmt::format("{}", *row->k),
                                             std::vector<std::optional<double>>(static_cast<std::size_t>(shown) + 1)})
                .first->second;
        if (!row->length) {
          ranked.values[0] = row->mean;
        } else if (*row->length >= 0 && *row->length < shown) {
          ranked.values[static_cast<std::size_t>(*row->length) + 1] = row->mean;
        }
      }
      if (table.unit.empty()) continue;
      const auto first = std::ranges::find_if(all, [&](const Row* row) { return row->sample == sample; });
      table.title = fmt::format(
          "sample {}, {}: share of each input token's embedding in what sets the output token apart, all lengths and "
          "by length",
          sample, (*first)->kind);
      table.variants = {"all lengths"};
      for (Index k = 0; k < shown; ++k) table.variants.push_back(fmt::format("{}", k));
      std::vector<Ranked> list;
      list.reserve(by_token.size());
      for (auto& [token, ranked] : by_token) list.push_back(std::move(ranked));
      ranked(std::move(table), std::move(list), "tokens");
      others(all, sample, n_lengths > shown ? std::optional(shown - 1) : std::nullopt);
    }
  }

 private:
  // Rows of the last layer, or of the output where that is something else.
  Rows output_rows() const {
    Index last = -1;
    bool apart = false;
    for (const Row* row : rows_) {
      if (!row->origin || !row->metric.starts_with("paths.")) continue;
      last = std::max(last, row->layer.value_or(-1));
      apart |= row->kind == "output";
    }
    Rows out;
    std::ranges::copy_if(rows_, std::back_inserter(out), [&](const Row* row) {
      return row->metric.starts_with("paths.") && row->layer == last && (row->kind == "output") == apart;
    });
    return out;
  }

  void origin_table(const Rows& output) {
    LayerBlock table = block_for(*output[0], "paths.share.residual", "origin");
    table.title = "shares by origin, all lengths together";
    table.variants = {"residual", "projection", "norm"};
    table.cells.resize(table.variants.size());
    for (const Row* row : with_metric(output, "paths.share.residual")) {
      if (!row->length) {
        table.labels.push_back(row->origin ? to_string(*row->origin) : "");
        table.layers.push_back(static_cast<Index>(table.layers.size()));
      }
    }
    for (std::size_t v = 0; v < table.variants.size(); ++v) {
      for (const Row* row : with_metric(output, "paths.share." + table.variants[v])) {
        if (!row->length && row->origin && row->origin->kind != Origin::Kind::kAll)
          table.cells[v].push_back(cell_of(row->mean));
      }
    }
    table.n = with_metric(output, "paths.share.residual")[0]->n;
    out_.block(table);
  }

  // Who keeps the residual, and how good the sums are.
  void findings(const LayerBlock& table) {
    std::size_t largest = 0;
    double sum = 0;
    double weighted = 0;
    double sizes = 0;
    std::optional<Index> most;  // from there on the sum stays above 0.9
    for (std::size_t i = 0; i < table.layers.size(); ++i) {
      const double share = table.cells[0][i].mean.value_or(0);
      if (share > table.cells[0][largest].mean.value_or(0)) largest = i;
      sum += share;
      if (sum < 0.9) most.reset();
      if (sum >= 0.9 && !most) most = table.layers[i];
      weighted += std::abs(share) * static_cast<double>(table.layers[i]);
      sizes += std::abs(share);
    }
    std::string text;
    if (table.cells[0][largest].mean.value_or(0) > 0) {
      text = fmt::format("Paths of length {} have the largest share of the residual, {}", table.layers[largest],
                         significant(*table.cells[0][largest].mean, 2));
      if (most && *most > table.layers[largest]) text += fmt::format("; those up to length {}, 0.9 or more", *most);
      text += fmt::format("; mean length by share {:.2f}. ", weighted / sizes);
    } else if (!table.cells[0][largest].mean) {
      text =
          "The residual of the output is zero or rounding: there are no shares of it (rankfall collapse follows it "
          "on). ";
    }
    double error = 0;
    std::optional<double> cancellation;
    for (const Row* row : rows_) {
      if (row->metric == "reconstruction_error" && row->mean) error = std::max(error, *row->mean);
      if (row->metric == "paths.cancellation") cancellation = row->mean;
    }
    text += fmt::format(
        "The sum over all paths is the forward pass with relative error {:.0e} at most (reconstruction_error)", error);
    if (cancellation) text += fmt::format("; cancellation Σ‖Yₖ‖ / ‖Y‖ = {}", significant(*cancellation, 3));
    out_.lines(text + ".");
    out_.text += '\n';
  }

  struct Ranked {
    std::string label;
    std::vector<std::optional<double>> values;
  };

  // Lines sorted by the size of their first value; the rest is mentioned.
  void ranked(LayerBlock table, std::vector<Ranked> all, const char* what) {
    std::ranges::stable_sort(all, [](const Ranked& a, const Ranked& b) {
      return std::abs(a.values[0].value_or(0)) > std::abs(b.values[0].value_or(0));
    });
    const std::size_t shown = std::min(all.size(), kMostRanked);
    table.cells.resize(table.variants.size());
    for (std::size_t i = 0; i < shown; ++i) {
      table.layers.push_back(static_cast<Index>(i));
      table.labels.push_back(all[i].label);
      for (std::size_t v = 0; v < table.variants.size(); ++v) table.cells[v].push_back(cell_of(all[i].values[v]));
    }
    out_.block(table);
    if (shown < all.size()) {
      out_.lines(
          fmt::format("{} of {} {} shown, by the size of their share of the residual.", shown, all.size(), what));
      out_.text += '\n';
    }
  }

  // What does not come from the embedding.
  void others(const Rows& all, Index sample, std::optional<Index> last_length) {
    double embedding = 0;
    double mlp = 0;
    double bias = 0;
    for (const Row* row : all) {
      if (row->sample != sample || !row->length) continue;
      const Origin::Kind kind = row->origin.value_or(Origin{}).kind;
      (kind == Origin::Kind::kMlp ? mlp : kind == Origin::Kind::kBias ? bias : embedding) += row->mean.value_or(0);
    }
    std::string text = fmt::format("Of it all the embeddings have {}, MLPs {}, biases {}.", significant(embedding, 2),
                                   significant(mlp, 2), significant(bias, 2));
    if (last_length) text += fmt::format(" Lengths above {} are in csv and json.", *last_length);
    out_.lines(text);
    out_.text += '\n';
  }

  const Rows& rows_;
  TableText& out_;
};

}  // namespace

std::string path_tables(const Result& result, const TableOptions& options) {
  TableText out(options);
  for (const RowGroup& group : by_variant(result)) {
    SumTables sums(group.rows, out);
    sums.lengths();
    sums.gram();
    sums.heads();
    add_single_paths(group.rows, out);
    sums.tokens();
  }
  return std::move(out.text);
}

}  // namespace rankfall
