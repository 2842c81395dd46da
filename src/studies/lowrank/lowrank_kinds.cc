#include <algorithm>
#include <cmath>
#include <limits>

#include "linalg/norms_impl.h"
#include "network/attention/kind.h"
#include "network/seen_keys.h"
#include "result/statistics.h"
#include "studies/lowrank/lowrank_parts.h"
#include "studies/part_of.h"
#include <rankfall/error.h>
#include <rankfall/forward.h>
#include <rankfall/measure.h>

namespace rankfall {
namespace {

constexpr std::size_t kTogether = 8;  // samples whose states are kept at a time

// Products of a query with keys (or with what stands for them), mean over the tokens of a sample that are no padding.
double products_per_query(const Attention& attention, const Sample& sample) {
  const Index n = sample.n_tokens();
  const std::vector<Index> tokens = valid_rows(n, sample.valid);
  const auto n_valid = std::ssize(tokens);
  if (const AttentionKind& kind = kind_of(attention.weights); kind.is_low_rank) {
    return static_cast<double>((kind.products ? kind.products : kind.thin_width)(attention.weights, n_valid));
  }
  if (n_valid == n) return mean_seen_keys(attention.mask, n);
  const SeenKeys keys(attention.mask, n);
  Index seen = 0;
  for (const Index query : tokens) {
    seen += std::ranges::count_if(tokens, [&](Index key) { return keys.allows(query, key); });
  }
  return static_cast<double>(seen) / static_cast<double>(std::max<Index>(1, n_valid));
}

// The mean over a network's attention layers.
double products_per_query(const Network& network, const Sample& sample) {
  Statistics products;
  for (const SubLayer& layer : network.layers) {
    if (const Attention* attention = layer.attention()) products.add(products_per_query(*attention, sample));
  }
  return products.mean().value_or(0);
}

// Every kind, with about n/4 products for each query, where it has a size.
std::vector<AttentionChoice> default_kinds(const Network& network, std::span<const Sample> samples) {
  Index n = 0;
  for (const Sample& sample : samples) n = std::max(n, sample.n_tokens());
  bool causal = false;
  for (const SubLayer& layer : network.layers) {
    if (const Attention* attention = layer.attention()) causal = causal || attention->mask.causal;
  }
  std::vector<AttentionChoice> kinds;
  for (const AttentionKind* kind : kAttentionKinds) {
    for (const std::string& text : kind->within({std::max<Index>(1, n / 4), n, causal})) {
      kinds.push_back(attention_named(text));
    }
  }
  return kinds;
}

class StateKeeper final : public Observer<double> {
 public:
  Needs needs() const override { return {.hidden = true}; }
  void hidden(Index /*state*/, const MatrixRef<double>& x) override { states.emplace_back(x); }
  std::vector<Matrix<double>> states;
};

struct Distance {
  double all = 0, residual = 0;
};

// Relative Frobenius distance of the valid rows, and of what they are less their means.
Distance distance(const MatrixRef<double>& x, const MatrixRef<double>& expected, std::span<const std::uint8_t> valid) {
  const std::vector<Index> rows = valid_rows(x.rows(), valid);
  const Matrix<double> reference = expected(rows, Eigen::all);
  const Matrix<double> off = x(rows, Eigen::all) - reference;
  const auto residual = [](const Matrix<double>& m) { return (m.rowwise() - m.colwise().mean()).norm(); };
  // Tokens that are alike but for rounding have no residual to be compared with.
  const double kept = residual(reference);
  const double floor = kFloorEpsilons * std::numeric_limits<double>::epsilon() * reference.norm();
  const double none = std::numeric_limits<double>::quiet_NaN();
  return {off.norm() / reference.norm(), kept > floor ? residual(off) / kept : none};
}

class DistanceObserver final : public Observer<double> {
 public:
  DistanceObserver(const StateKeeper& reference, std::span<const std::uint8_t> valid)
      : reference_(reference), valid_(valid) {}
  Needs needs() const override { return {.hidden = true}; }
  void hidden(Index state, const MatrixRef<double>& x) override {
    found.push_back(distance(x, reference_.states[static_cast<std::size_t>(state)], valid_));
  }
  std::vector<Distance> found;

 private:
  const StateKeeper& reference_;
  std::span<const std::uint8_t> valid_;
};

struct Kind {
  AttentionChoice choice;
  Network network;
  std::string refused;
  std::vector<Statistics> all, residual;  // by state
};

// What has nothing to be compared with is no distance.
void add_finite(Statistics& statistics, double value) {
  if (std::isfinite(value)) statistics.add(value);
}

}  // namespace

std::vector<Row> kind_rows(const LowrankJob& job, const Progress& progress) {
  std::vector<Kind> kinds;
  const auto n_states = static_cast<std::size_t>(job.network.sizes.n_blocks + 1);
  for (AttentionChoice& choice :
       job.options.attention.empty() ? default_kinds(job.network, job.samples) : std::vector(job.options.attention)) {
    Kind kind{std::move(choice), {}, "", std::vector<Statistics>(n_states), std::vector<Statistics>(n_states)};
    try {
      kind.network = with_attention(job.network, kind.choice);
    } catch (const Error& error) {
      kind.refused = error.what();
    }
    kinds.push_back(std::move(kind));
  }

  for (std::size_t first = 0; first < job.samples.size(); first += kTogether) {
    const auto samples = job.samples.subspan(first, std::min(kTogether, job.samples.size() - first));
    const auto part = [&](std::size_t k) {
      const auto per_batch = static_cast<double>(kinds.size() + 1);
      return part_of(progress, static_cast<double>(first) * per_batch + static_cast<double>(k * samples.size()),
                     static_cast<double>(job.samples.size()) * per_batch, k == 0 ? "" : kinds[k - 1].choice.name,
                     static_cast<double>(samples.size()));
    };
    std::vector<StateKeeper> references(samples.size());
    std::vector<Observer<double>*> watch;
    watch.reserve(samples.size());
    for (StateKeeper& keeper : references) watch.push_back(&keeper);
    forward<double>(job.network, *job.model.weights, samples, watch, {.progress = part(0)});
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      Kind& kind = kinds[k];
      if (!kind.refused.empty()) continue;
      std::vector<DistanceObserver> observers;
      observers.reserve(samples.size());
      watch.clear();
      for (std::size_t s = 0; s < samples.size(); ++s) {
        watch.push_back(&observers.emplace_back(references[s], samples[s].valid));
      }
      forward<double>(kind.network, *job.model.weights, samples, watch, {.progress = part(k + 1)});
      for (const DistanceObserver& observer : observers) {
        for (std::size_t state = 0; state < n_states; ++state) {
          add_finite(kind.all[state], observer.found[state].all);
          add_finite(kind.residual[state], observer.found[state].residual);
        }
      }
    }
  }

  std::vector<Row> rows;
  for (const Kind& kind : kinds) {
    const auto add = [&](const char* metric, std::optional<std::size_t> state = {}) -> Row& {
      std::string variant = job.variant.name == "full" ? kind.choice.name : job.variant.name + " " + kind.choice.name;
      return rows.emplace_back(Row{.variant = std::move(variant), .layer = state, .metric = metric});
    };
    if (!kind.refused.empty()) {
      set_status(add("state.distance"), Status::kRefused, kind.refused);
      continue;
    }
    Statistics products;
    for (const Sample& sample : job.samples) products.add(products_per_query(kind.network, sample));
    set(add("state.products"), products);
    for (std::size_t state = 0; state < n_states; ++state) {
      set(add("state.distance", state), kind.all[state]);
      Row& residual = add("state.distance.residual", state);
      set(residual, kind.residual[state]);
      if (kind.residual[state].n() == 0) set_rounding_floor(residual);
    }
  }
  return rows;
}

}  // namespace rankfall
