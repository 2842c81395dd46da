#include "studies/theory/theory_observer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "base/errors.h"
#include "engine/kernel/draws.h"

namespace rankfall {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

struct NamedNorm {
  const char* name;
  double LogNorms::*value;
};
constexpr std::array kNorms = {NamedNorm{"composite", &LogNorms::composite}, NamedNorm{"one", &LogNorms::one},
                               NamedNorm{"inf", &LogNorms::inf}, NamedNorm{"frobenius", &LogNorms::frobenius}};

bool is_predicted(const Metric& metric) {
  return metric.kind == MetricKind::kNorms || metric.kind == MetricKind::kCosine ||
         metric.kind == MetricKind::kTokens || metric.kind == MetricKind::kSpectrum;
}

// The norms of a Gram matrix that need no draw.
struct FrobeniusNorms {
  double residual = kLogZero, state = kLogZero;  // log10
};
FrobeniusNorms frobenius_of(const Gram& k, const Tokens& tokens, Index width) {
  const double count = tokens.count() * static_cast<double>(width);
  const Distances x = distances_of(k, tokens);
  const auto norm = [](double log_square) { return 0.5 * log_square / std::numbers::ln10; };
  FrobeniusNorms out;
  out.state = norm(x.log + std::log(count));
  out.residual = norm(k.rest.log + log_or_zero(k.rest.value.trace()) + std::log(static_cast<double>(width)));
  return out;
}

// The mean over pairs of 1 - (D_ij - (s_i - s_j)^2) / (2 s_i s_j).
double mean_cosine(const Gram& k, const Tokens& tokens) {
  const Distances x = distances_of(k, tokens);
  const RowVector<double> lengths = relative_lengths(x, tokens);
  const Matrix<double> products = plain(k, x.log);
  double sum = 0;
  double n = 0;
  for (const Index i : tokens.rows()) {
    for (const Index j : tokens.rows()) {
      if (i == j) continue;
      ++n;
      if (lengths(i) > 0 && lengths(j) > 0) sum += products(i, j) / (lengths(i) * lengths(j));
    }
  }
  return n == 0 ? kNoValue : sum / n;
}

// The log10 of a named norm, with its prefix; nothing for other metrics.
struct NormName {
  double LogNorms::*norm = nullptr;
  bool relative = false, logarithm = false;
};
std::optional<NormName> norm_name(std::string_view metric) {
  for (const NamedNorm& norm : kNorms) {
    for (const bool logarithm : {false, true}) {
      for (const bool relative : {false, true}) {
        if (metric ==
            fmt::format("{}{}residual.{}", logarithm ? "log10_" : "", relative ? "relative_" : "", norm.name)) {
          return NormName{norm.value, relative, logarithm};
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<TheoryMetric> theory_metrics(const std::vector<std::string>& asked) {
  for (const std::string& name : asked) {
    for (const Metric& metric : all_metrics()) {
      if (name == metric.name && !is_predicted(metric) && metric.kind != MetricKind::kGradient)
        throw usage_error("theory does not predict the metric '{}'", name);
    }
  }
  std::vector<TheoryMetric> out;
  for (const std::size_t i : select_metrics(asked)) {
    if (is_predicted(all_metrics()[i])) out.push_back({all_metrics()[i].name, i});
  }
  for (const char* prefix : {"log10_residual", "log10_relative_residual"}) {
    for (const NamedNorm& norm : kNorms) out.push_back({fmt::format("{}.{}", prefix, norm.name), {}});
  }
  return out;
}

TheoryObserver::TheoryObserver(const std::vector<TheoryMetric>& metrics, const Network& network, const Sample& sample,
                               std::uint64_t seed, Index first_draw, Index n_draws)
    : metrics_(metrics),
      width_(network.sizes.d_model),
      sample_(sample),
      seed_(seed),
      first_draw_(first_draw),
      n_draws_(n_draws),
      values_(static_cast<std::size_t>(network.sizes.n_blocks + 1), std::vector<double>(metrics.size(), kNoValue)) {}

void TheoryObserver::hidden(Index state, const Gram& k, const Tokens& tokens) {
  std::vector<double>& values = values_[static_cast<std::size_t>(state)];
  const SplitState factor = factor_of(k, tokens, sample_.valid);
  const FrobeniusNorms frobenius = frobenius_of(k, tokens, width_);

  std::vector<std::size_t> from_states;  // metrics of measure that need a drawn state
  for (const TheoryMetric& metric : metrics_) {
    if (metric.measured && !norm_name(metric.name) && metric.name != "cosine.mean")
      from_states.push_back(*metric.measured);
  }
  SplitNorms norms{{0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}};
  std::vector<double> of_states(all_metrics().size(), 0.0);
  const double share_of_draw = 1 / static_cast<double>(n_draws_);
  for (Index draw = 0; draw < n_draws_; ++draw) {
    // The same numbers in every state, so that curves over layers do not jump.
    const RandomKey key = random_key(seed_, fmt::format("theory, states, draw {}", first_draw_ + draw));
    const SplitState x = drawn_linear(factor, {1, 0}, width_, key, key);
    const SplitNorms own = split_norms(x, sample_.valid, false);
    for (const NamedNorm& norm : kNorms) {
      norms.residual.*norm.value += share_of_draw * own.residual.*norm.value;
      norms.state.*norm.value += share_of_draw * own.state.*norm.value;
    }
    if (from_states.empty()) continue;
    std::vector<double> one(all_metrics().size(), kNoValue);
    state_values<double>(from_states, joined(x), sample_.valid, one);
    for (const std::size_t m : from_states) of_states[m] += share_of_draw * one[m];
  }
  norms.residual.frobenius = frobenius.residual;
  norms.state.frobenius = frobenius.state;
  for (std::size_t m = 0; m < metrics_.size(); ++m) {
    if (const auto norm = norm_name(metrics_[m].name)) {
      const double log = norms.residual.*norm->norm - (norm->relative ? norms.state.*norm->norm : 0);
      values[m] = norm->logarithm ? log : std::pow(10, log);
    } else if (metrics_[m].name == "cosine.mean") {
      values[m] = mean_cosine(k, tokens);
    } else {
      values[m] = of_states[*metrics_[m].measured];
    }
  }
}

}  // namespace rankfall
