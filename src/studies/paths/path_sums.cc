#include "studies/paths/path_sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/parallel.h"
#include "linalg/norms.h"
#include "linalg/norms_impl.h"
#include "result/statistics.h"
#include "studies/counts/path_counts.h"
#include "studies/part_of.h"

namespace rankfall {
namespace {

constexpr double kGroupBytes = 2e9;

// What a sum of paths is, in one sample.
struct SumValues {
  CentredNorms norms;
  double projection = 0, norm_share = 0, residual_share = 0;
};

// Which sum: an origin's paths of a length, of all lengths, or all origins' of a length.
struct Cell {
  std::optional<std::size_t> origin;
  std::optional<Index> length;

  auto operator<=>(const Cell&) const = default;
};

struct StateValues {
  std::map<Cell, SumValues> cells;
  bool has_shares = true, has_residual_shares = true;
  double cancellation = 0;
  double reconstruction_error = 0;
  Matrix<double> gram, residual_gram;  // between lengths
};

class SumsObserver final : public PathSumsObserver {
 public:
  SumsObserver(std::span<const std::uint8_t> valid, bool gram) : valid_(valid), gram_(gram) {}

  void hidden(Index /*state*/, const MatrixRef<double>& x, const PathSums& sums) override {
    states.push_back(values(x, sums, false));
  }
  void output(const Decomposition& out) { states.push_back(values(out.x, out.sums, gram_)); }

  std::vector<StateValues> states;
  std::vector<Origin> origins;

 private:
  StateValues values(const MatrixRef<double>& x, const PathSums& sums, bool gram) {
    origins = sums.origins;
    StateValues out;
    // All sums, and the matrices of those that are not stored as such.
    std::map<Cell, Matrix<double>> made;
    std::vector<std::pair<Cell, const Matrix<double>*>> all;
    const Index n_lengths = sums.n_lengths();
    for (std::size_t o = 0; o < sums.origins.size(); ++o) {
      for (std::size_t k = 0; k < sums.sums[o].size(); ++k) {
        if (sums.sums[o][k].rows() > 0) all.push_back({{o, static_cast<Index>(k)}, &sums.sums[o][k]});
      }
      if (Matrix<double> sum = sums.of_origin(o); sum.rows() > 0) made[{o, std::nullopt}] = std::move(sum);
    }
    for (Index k = 0; k < n_lengths; ++k) {
      if (Matrix<double> sum = sums.of_length(k); sum.rows() > 0) made[{std::nullopt, k}] = std::move(sum);
    }
    for (const auto& [cell, sum] : made) all.emplace_back(cell, &sum);

    const Whole whole(x, valid_);
    out.has_shares = whole.has_shares;
    out.has_residual_shares = whole.has_residual_shares;
    const double square = whole.square;
    const double residual_square = whole.has_residual_shares ? whole.residual_square : NAN;
    std::vector<SumValues> found(all.size());
    parallel_for(std::ssize(all), [&](Index n) {
      const auto i = static_cast<std::size_t>(n);
      const Matrix<double>& y = *all[i].second;
      found[i].norms = centred_norms<double>(y, valid_);
      found[i].projection = valid_product(y, whole.state, valid_) / square;
      found[i].residual_share = valid_product(y, whole.residual, valid_) / residual_square;
    });
    // Shares by norm are among what is summed side by side: cells of one kind.
    const auto kind = [](const Cell& cell) { return 2 * cell.origin.has_value() + cell.length.has_value(); };
    std::array<double, 4> totals{};
    for (std::size_t i = 0; i < all.size(); ++i) {
      totals.at(static_cast<std::size_t>(kind(all[i].first))) += found[i].norms.state.frobenius;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      found[i].norm_share = found[i].norms.state.frobenius / totals.at(static_cast<std::size_t>(kind(all[i].first)));
      out.cells[all[i].first] = found[i];
    }
    out.cancellation = totals[1] / std::sqrt(square);
    const Matrix<double> error = sums.total() - x;
    out.reconstruction_error = error.isZero(0) ? 0 : std::sqrt(valid_product(error, error, valid_) / square);

    if (gram) {
      out.gram.setZero(n_lengths, n_lengths);
      out.residual_gram.setZero(n_lengths, n_lengths);
      for (Index j = 0; j < n_lengths; ++j) {
        for (Index k = 0; k <= j; ++k) {
          const auto a = made.find({std::nullopt, j});
          const auto b = made.find({std::nullopt, k});
          if (a == made.end() || b == made.end()) continue;
          out.gram(j, k) = out.gram(k, j) = valid_product(a->second, b->second, valid_) / square;
          out.residual_gram(j, k) = out.residual_gram(k, j) =
              centred_rows<double>(a->second, valid_).cwiseProduct(centred_rows<double>(b->second, valid_)).sum() /
              residual_square;
        }
      }
    }
    return out;
  }

  std::span<const std::uint8_t> valid_;
  bool gram_;
};

struct NamedNorm {
  const char* name;
  double (*of)(const Norms&);
};
constexpr std::array kNorms = {
    NamedNorm{"composite", [](const Norms& n) { return n.composite(); }},
    NamedNorm{"one", [](const Norms& n) { return n.one; }},
    NamedNorm{"inf", [](const Norms& n) { return n.inf; }},
    NamedNorm{"frobenius", [](const Norms& n) { return n.frobenius; }},
};

class SumRows {
 public:
  SumRows(const PathsJob& job, Origins kinds)
      : network_(job.network), counts_(path_counts(job.network, *job.model.weights)), kinds_(kinds) {}

  // Of all samples, states 0..L and the output, which is the last of them if it is the last state.
  std::vector<Row> make(const std::vector<SumsObserver>& samples, bool interference) {
    const bool apart = network_.final_norm && !network_.final_norm_in_state;
    const std::size_t n_states = samples[0].states.size();
    for (std::size_t l = 0; l < n_states; ++l) {
      const bool is_output = l + 1 == n_states;
      if (is_output && !apart) break;
      layer_ = std::min(static_cast<Index>(l), network_.sizes.n_blocks);
      kind_ = is_output ? "output" : "";
      state(samples, l);
    }
    if (interference) gram(samples);
    return std::move(rows_);
  }

 private:
  Row& add(std::string metric) {
    return rows_.emplace_back(Row{.layer = layer_, .metric = std::move(metric), .kind = kind_});
  }

  void state(const std::vector<SumsObserver>& samples, std::size_t l) {
    // Cells in the order of origins and lengths; samples of different lengths have the same.
    const StateCounts& counts = counts_[l];
    const auto& origins = samples[0].origins;
    Index n_lengths = 0;
    for (const auto& [cell, values] : samples[0].states[l].cells) {
      if (cell.length) n_lengths = std::max(n_lengths, *cell.length + 1);
    }
    for (std::size_t o = 0; o <= origins.size(); ++o) {
      const bool all = o == origins.size();
      for (Index k = 0; k <= n_lengths; ++k) {
        const std::optional<Index> length = k == n_lengths ? std::nullopt : std::optional(k);
        if (all && !length) continue;
        const BigInt count = all ? count_of(counts, length) : count_of(counts, origins[o], length);
        if (count == 0 || (all && kinds_ == Origins::kEmbedding)) continue;
        cell({all ? std::nullopt : std::optional(o), length}, all ? Origin{Origin::Kind::kAll, {}} : origins[o], count,
             samples, l);
      }
    }
    const auto over = [&](auto member) {
      Statistics statistics;
      for (const SumsObserver& sample : samples) statistics.add(sample.states[l].*member);
      return statistics;
    };
    set(add("paths.cancellation"), over(&StateValues::cancellation));
    const Statistics error = over(&StateValues::reconstruction_error);
    set(add("reconstruction_error"), error);
    double largest = 0;
    for (const SumsObserver& sample : samples) {
      const double e = sample.states[l].reconstruction_error;
      if (!(e <= largest) && !std::isnan(largest)) largest = e;
    }
    Row& row = add("reconstruction_error");
    row.kind = kind_ + (kind_.empty() ? "largest" : ", largest");
    row.mean = largest;
    row.n = error.n();
  }

  void cell(const Cell& which, const Origin& origin, const BigInt& count, const std::vector<SumsObserver>& samples,
            std::size_t l) {
    const auto row = [&](std::string metric) -> Row& {
      Row& added = add(std::move(metric));
      added.origin = origin;
      added.length = which.length;
      return added;
    };
    Row& number = row("paths.count");
    number.exact = count.str();
    if (const double approximate = count.convert_to<double>(); std::isfinite(approximate)) number.mean = approximate;

    // A sum that is nowhere is zero; but shares of nothing, or of rounding, are none.
    const auto over = [&](const auto& value, bool StateValues::*has = nullptr) {
      Statistics statistics;
      for (const SumsObserver& sample : samples) {
        const StateValues& state = sample.states[l];
        if (has && !(state.*has)) continue;
        const auto found = state.cells.find(which);
        statistics.add(found == state.cells.end() ? 0.0 : value(found->second));
      }
      return statistics;
    };
    for (const NamedNorm& norm : kNorms) {
      set(row(fmt::format("paths.norm.{}", norm.name)),
          over([&](const SumValues& v) { return norm.of(v.norms.state); }));
    }
    for (const NamedNorm& norm : kNorms) {
      set(row(fmt::format("paths.residual.{}", norm.name)),
          over([&](const SumValues& v) { return norm.of(v.norms.residual); }));
    }
    set(row("paths.share.projection"), over([](const SumValues& v) { return v.projection; }, &StateValues::has_shares));
    set(row("paths.share.norm"), over([](const SumValues& v) { return v.norm_share; }, &StateValues::has_shares));
    Row& share = row("paths.share.residual");
    set(share, over([](const SumValues& v) { return v.residual_share; }, &StateValues::has_residual_shares));
    if (!share.mean) set_rounding_floor(share);
  }

  void gram(const std::vector<SumsObserver>& samples) {
    layer_ = network_.sizes.n_blocks;
    kind_ = network_.final_norm && !network_.final_norm_in_state ? "output" : "";
    const Index n = samples[0].states.back().gram.rows();
    const auto put_all = [&](const char* metric, auto member) {
      for (Index j = 0; j < n; ++j) {
        for (Index k = 0; k < n; ++k) {
          Statistics statistics;
          for (const SumsObserver& sample : samples) {
            const StateValues& state = sample.states.back();
            const bool residual = member == &StateValues::residual_gram;
            if (residual ? state.has_residual_shares : state.has_shares) statistics.add((state.*member)(j, k));
          }
          Row& row = add(metric);
          row.length = j;
          row.k = k;
          set(row, statistics);
        }
      }
    };
    put_all("paths.gram.projection", &StateValues::gram);
    put_all("paths.gram.residual", &StateValues::residual_gram);
  }

  const Network& network_;
  std::vector<StateCounts> counts_;
  Origins kinds_;
  Index layer_ = 0;
  std::string kind_;
  std::vector<Row> rows_;
};

}  // namespace

Index at_once(double bytes) { return std::max<Index>(1, static_cast<Index>(kGroupBytes / bytes)); }

double path_sum_bytes(const Network& network, Index n_tokens, bool by_block) {
  const double blocks = static_cast<double>(network.sizes.n_blocks + 1);
  // Before, after and between.
  return 3 * (by_block ? blocks * blocks : 3 * blocks) * static_cast<double>(n_tokens) *
         static_cast<double>(network.sizes.d_model) * sizeof(double);
}

void for_groups(std::size_t n_samples, double bytes, const std::function<void(std::size_t, std::size_t)>& body) {
  const auto group = static_cast<std::size_t>(at_once(bytes));
  for (std::size_t first = 0; first < n_samples; first += group) body(first, std::min(group, n_samples - first));
}

std::vector<Row> path_sum_rows(const PathsJob& job, const Progress& progress) {
  const bool by_block = job.options.origins_by_block;
  const Origins kinds = by_block ? Origins::kByBlock : Origins::kMerged;
  const auto samples = job.samples;
  std::vector<SumsObserver> observers;
  observers.reserve(samples.size());
  for (const Sample& sample : samples) observers.emplace_back(sample.valid, job.options.interference);

  const auto n_samples = static_cast<double>(samples.size());
  const double bytes = path_sum_bytes(job.network, size_of(samples).n_tokens, by_block);
  for_groups(samples.size(), bytes, [&](std::size_t first, std::size_t count) {
    std::vector<PathSumsObserver*> watch;
    watch.reserve(count);
    for (std::size_t s = first; s < first + count; ++s) watch.push_back(&observers[s]);
    const auto outputs =
        decompose(job.network, *job.model.weights, samples.subspan(first, count), kinds, watch,
                  {part_of(progress, static_cast<double>(first), n_samples, "paths", static_cast<double>(count))});
    parallel_for(static_cast<Index>(count), [&](Index s) {
      observers[first + static_cast<std::size_t>(s)].output(outputs[static_cast<std::size_t>(s)]);
    });
  });
  return SumRows(job, kinds).make(observers, job.options.interference);
}

}  // namespace rankfall
