#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "linalg/attention_measures.h"
#include "linalg/leading_values.h"
#include "linalg/norms_impl.h"
#include "linalg/spectra.h"
#include "result/statistics.h"
#include "studies/lowrank/lowrank_parts.h"
#include <rankfall/forward.h>

namespace rankfall {
namespace {

constexpr Index kAllBelow = 1024;  // tokens up to which all singular values are found

// 1, 2, 3, 4, 6, 8, 12, ... : two of each octave.
std::vector<Index> ranks_up_to(Index n) {
  std::vector<Index> ranks;
  for (Index k = 1; k <= n; k *= 2) {
    ranks.push_back(k);
    if (k >= 2 && k + k / 2 <= n) ranks.push_back(k + k / 2);
  }
  return ranks;
}

struct Spectrum {
  std::vector<double> values;         // descending; the leading ones where there are many tokens
  double frobenius2 = 0;              // of all
  double entropy = 0;                 // mean over rows
  std::optional<double> error, rest;  // of leading ones: of sigma_2, and above what is left
};

Spectrum spectrum_of(const MatrixRef<double>& whole, std::span<const std::uint8_t> valid, std::uint64_t seed) {
  const std::vector<Index> tokens = valid_rows(whole.rows(), valid);
  const auto n = std::ssize(tokens);
  Matrix<double> p;
  if (n < whole.rows()) {
    p = whole(tokens, tokens);
  }
  const MatrixRef<double> seen = n < whole.rows() ? MatrixRef<double>(p) : whole;
  Spectrum out;
  for (Index i = 0; i < n; ++i) out.entropy += row_entropy(seen.row(i)) / static_cast<double>(n);
  out.frobenius2 = seen.squaredNorm();
  if (n <= kAllBelow) {
    out.values = singular_values<double>(seen);
    return out;
  }
  LeadingValues leading = leading_values(seen, {.seed = seed});
  out.error = leading.second - leading.values[1];
  out.rest = leading.rest;
  out.values = std::move(leading.values);
  return out;
}

// Of one sample; heads arrive on several threads, each in its own place.
class SpectrumObserver final : public Observer<double> {
 public:
  SpectrumObserver(const Network& network, const Sample& sample, std::uint64_t seed)
      : n_heads_(network.sizes.n_heads),
        valid_(sample.valid),
        seed_(seed),
        found_(static_cast<std::size_t>(network.sizes.n_blocks * n_heads_)) {}

  Needs needs() const override { return {.attention = Needs::Attention::kWhole}; }
  void attention(Index block, Index head, const MatrixRef<double>& p) override {
    found_[static_cast<std::size_t>(block * n_heads_ + head)] = spectrum_of(p, valid_, seed_);
  }
  const Spectrum& found(Index block, Index head) const {
    return found_[static_cast<std::size_t>(block * n_heads_ + head)];
  }

 private:
  Index n_heads_;
  std::span<const std::uint8_t> valid_;
  std::uint64_t seed_;
  std::vector<Spectrum> found_;
};

// Statistics over samples by metric, kind and k, in the order in which they first come.
class HeadRows {
 public:
  void add(const char* metric, double value) { add(metric, "", std::nullopt, value); }
  void add(const char* metric, std::string kind, std::optional<Index> k, double value, bool at_least = false) {
    const auto key = std::tuple(std::string(metric), std::move(kind), k);
    const auto [at, is_new] = index_.try_emplace(key, cells_.size());
    if (is_new) cells_.push_back({key, {}, false});
    cells_[at->second].statistics.add(value);
    cells_[at->second].at_least |= at_least;
  }
  void write(Index block, Index head, std::vector<Row>& rows) const {
    for (const Cell& cell : cells_) {
      const auto& [metric, kind, k] = cell.key;
      Row& row = rows.emplace_back(Row{.layer = block, .head = head, .metric = metric, .kind = kind, .k = k});
      set(row, cell.statistics);
      if (cell.at_least) set_status(row, Status::kAtLeast, "at least");
    }
  }

 private:
  using Key = std::tuple<std::string, std::string, std::optional<Index>>;
  struct Cell {
    Key key;
    Statistics statistics;
    bool at_least;
  };
  std::map<Key, std::size_t> index_;
  std::vector<Cell> cells_;
};

void add_spectrum(const Spectrum& s, const LowrankOptions& options, HeadRows& rows) {
  if (s.values.empty()) return;
  const double sigma1 = s.values[0];
  const double sigma2 = s.values.size() > 1 ? s.values[1] : 0;
  rows.add("attention.entropy", s.entropy);
  rows.add("attention.sigma1", sigma1);
  rows.add("attention.sigma2", sigma2);
  if (sigma1 == 0) return;
  rows.add("attention.gap", 1 - sigma2 / sigma1);
  rows.add("attention.rank.stable", s.frobenius2 / (sigma1 * sigma1));
  if (!s.rest) rows.add("attention.rank.effective", effective_rank(s.values));
  for (const double eps : options.eps) {
    const auto count = std::ranges::count_if(s.values, [&](double value) { return value > eps * sigma1; });
    rows.add("attention.rank.numerical", fmt::format("eps={}", eps), std::nullopt, static_cast<double>(count),
             s.rest && *s.rest > eps * sigma1);
  }
  const std::vector<Index> ranks = ranks_up_to(std::ssize(s.values));
  for (const Index k : ranks) rows.add("attention.singular", "", k, s.values[static_cast<std::size_t>(k - 1)]);
  double sum = 0;
  std::size_t summed = 0;
  for (const Index k : ranks) {
    for (; summed < static_cast<std::size_t>(k); ++summed) sum += s.values[summed] * s.values[summed];
    rows.add("attention.energy", "", k, std::min(1.0, sum / s.frobenius2));
  }
  if (s.error) rows.add("attention.singular.error", *s.error);
}

}  // namespace

std::vector<Row> spectrum_rows(const LowrankJob& job, const Progress& progress) {
  std::vector<SpectrumObserver> observers;
  std::vector<Observer<double>*> watch;
  observers.reserve(job.samples.size());
  for (const Sample& sample : job.samples) {
    watch.push_back(&observers.emplace_back(job.network, sample, job.options.seed));
  }
  forward<double>(job.network, *job.model.weights, job.samples, watch, {.progress = progress});
  std::vector<Row> rows;
  for (Index block = 0; block < job.network.sizes.n_blocks; ++block) {
    for (Index head = 0; head < job.network.sizes.n_heads; ++head) {
      HeadRows of_head;
      for (const SpectrumObserver& observer : observers)
        add_spectrum(observer.found(block, head), job.options, of_head);
      of_head.write(block, head, rows);
    }
  }
  return rows;
}

}  // namespace rankfall
