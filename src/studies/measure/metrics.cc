#include "studies/measure/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/errors.h"
#include "base/mapped.h"
#include "base/suggestion.h"
#include "linalg/attention_measures.h"
#include "linalg/minimiser.h"
#include "linalg/norms.h"
#include "linalg/norms_impl.h"
#include "linalg/spectra.h"

namespace rankfall {
namespace {

// What decides for whatever is not a residual itself.
constexpr const char* kState = "relative_residual.composite";

// Order within a kind is the order in which state_values and attention_values write.
constexpr std::array kMetrics = {
    Metric{"residual.composite", MetricKind::kNorms, true, "relative_residual.composite"},
    Metric{"residual.one", MetricKind::kNorms, true, "relative_residual.one"},
    Metric{"residual.inf", MetricKind::kNorms, true, "relative_residual.inf"},
    Metric{"residual.frobenius", MetricKind::kNorms, true, "relative_residual.frobenius"},
    Metric{"relative_residual.composite", MetricKind::kNorms, true, "relative_residual.composite"},
    Metric{"relative_residual.one", MetricKind::kNorms, true, "relative_residual.one"},
    Metric{"relative_residual.inf", MetricKind::kNorms, true, "relative_residual.inf"},
    Metric{"relative_residual.frobenius", MetricKind::kNorms, true, "relative_residual.frobenius"},
    Metric{"cosine.mean", MetricKind::kCosine, true, kState},
    Metric{"cosine.mean_abs", MetricKind::kCosine, true, kState},
    Metric{"token.massive_ratio", MetricKind::kTokens, false, nullptr},
    Metric{"token.rest_residual", MetricKind::kTokens, false, kState},
    Metric{"block.influence", MetricKind::kInfluence, false, nullptr},
    Metric{"gradient.W_Q", MetricKind::kGradient, false, nullptr},
    Metric{"gradient.W_K", MetricKind::kGradient, false, nullptr},
    Metric{"gradient.W_V", MetricKind::kGradient, false, nullptr},
    Metric{"residual.spectral", MetricKind::kSpectrum, false, "relative_residual.spectral"},
    Metric{"relative_residual.spectral", MetricKind::kSpectrum, false, "relative_residual.spectral"},
    Metric{"rank.stable", MetricKind::kSpectrum, false, kState},
    Metric{"rank.effective", MetricKind::kSpectrum, false, kState},
    Metric{"rank.participation", MetricKind::kSpectrum, false, kState},
    Metric{"rank.numerical", MetricKind::kSpectrum, false, kState},
    Metric{"singular.min", MetricKind::kSpectrum, false, kState},
    Metric{"rank.pooled", MetricKind::kPooled, false, nullptr},
    Metric{"minimal_residual.composite", MetricKind::kMinimiser, false, "relative_minimal_residual.composite"},
    Metric{"minimal_residual.one", MetricKind::kMinimiser, false, "relative_minimal_residual.one"},
    Metric{"minimal_residual.inf", MetricKind::kMinimiser, false, "relative_minimal_residual.inf"},
    Metric{"relative_minimal_residual.composite", MetricKind::kMinimiser, false, "relative_minimal_residual.composite"},
    Metric{"relative_minimal_residual.one", MetricKind::kMinimiser, false, "relative_minimal_residual.one"},
    Metric{"relative_minimal_residual.inf", MetricKind::kMinimiser, false, "relative_minimal_residual.inf"},
    Metric{"minimal_residual_lower.composite", MetricKind::kMinimiser, false, "relative_minimal_residual.composite"},
    Metric{"minimal_residual_lower.inf", MetricKind::kMinimiser, false, "relative_minimal_residual.inf"},
    Metric{"minimal_residual_gap.composite", MetricKind::kMinimiser, false, "relative_minimal_residual.composite"},
    Metric{"minimal_residual_gap.inf", MetricKind::kMinimiser, false, "relative_minimal_residual.inf"},
    Metric{"attention.entropy", MetricKind::kRowMeasures, false, nullptr},
    Metric{"attention.sink", MetricKind::kRowMeasures, false, nullptr},
    Metric{"attention.max_logit", MetricKind::kLogits, false, nullptr},
    Metric{"attention.logit_range", MetricKind::kLogits, false, nullptr},
    Metric{"attention.sigma1", MetricKind::kAttention, false, nullptr},
    Metric{"attention.sigma2", MetricKind::kAttention, false, kState},
    Metric{"attention.rank1_distance", MetricKind::kAttention, false, kState},
    Metric{"attention.dobrushin", MetricKind::kAttention, false, kState},
};

struct Group {
  const char* name;
  bool (*holds)(const Metric&);
};

constexpr std::array kGroups = {
    // The minimiser takes longer than all others together, the gradient several passes: they are asked for by name.
    Group{"all", [](const Metric& m) { return m.kind != MetricKind::kMinimiser && m.kind != MetricKind::kGradient; }},
    Group{"minimiser", [](const Metric& m) { return m.kind == MetricKind::kMinimiser; }},
    Group{"residual", [](const Metric& m) { return std::string_view(m.name).starts_with("residual."); }},
    Group{"relative_residual",
          [](const Metric& m) { return std::string_view(m.name).starts_with("relative_residual."); }},
    Group{"cosine", [](const Metric& m) { return m.kind == MetricKind::kCosine; }},
    Group{"spectral", [](const Metric& m) { return std::string_view(m.name).ends_with(".spectral"); }},
    Group{"rank",
          [](const Metric& m) {
            return std::string_view(m.name).starts_with("rank.") || m.name == std::string_view("singular.min");
          }},
    Group{"attention", [](const Metric& m) { return is_per_head(m); }},
    Group{"logits", [](const Metric& m) { return m.kind == MetricKind::kLogits; }},
    Group{"token", [](const Metric& m) { return m.kind == MetricKind::kTokens; }},
    Group{"gradient", [](const Metric& m) { return m.kind == MetricKind::kGradient; }},
    Group{"rankme", [](const Metric& m) { return m.kind == MetricKind::kPooled; }},  // its name in the literature
};

// Writes the values of one kind to the metrics of that kind, in order.
void write(MetricKind kind, std::initializer_list<double> numbers, std::span<double> values) {
  auto next = numbers.begin();
  for (std::size_t i = 0; i < kMetrics.size(); ++i) {
    if (kMetrics[i].kind == kind) values[i] = *next++;
  }
}

bool wants(std::span<const std::size_t> chosen, MetricKind kind) {
  return std::ranges::any_of(chosen, [&](std::size_t i) { return kMetrics[i].kind == kind; });
}

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

// The largest token's norm against the mean of all others, and the relative residual of these; nothing to compare with
// a single token. Behind a norm all tokens may be as long as each other, and rounding must not choose: of those within
// 1e-5 of the largest it is the first.
struct MassiveToken {
  double ratio = 0, rest_residual = 0;
};

template <class T>
std::optional<MassiveToken> massive_token(const MatrixRef<T>& x, std::span<const std::uint8_t> valid) {
  std::vector<std::uint8_t> rest(static_cast<std::size_t>(x.rows()), 1);
  if (!valid.empty()) rest.assign(valid.begin(), valid.end());
  const std::vector<Index> rows = valid_rows(x.rows(), valid);
  if (rows.size() < 2) return std::nullopt;
  RowVector<double> lengths = RowVector<double>::Zero(x.rows());
  for (const Index i : rows) {
    lengths(i) = x.row(i).template cast<double>().norm();
    // Squares that leave the range of double; elsewhere the plain sum keeps its bits.
    if (!std::isfinite(lengths(i)) || lengths(i) == 0) lengths(i) = x.row(i).template cast<double>().stableNorm();
  }
  const double largest = lengths.maxCoeff();
  for (const Index i : rows) {
    if (lengths(i) * (1 + 1e-5) < largest) continue;
    rest[static_cast<std::size_t>(i)] = 0;
    break;
  }
  const CentredNorms norms = centred_norms<T>(x, rest);
  return MassiveToken{ratio(largest, (lengths.sum() - largest) / static_cast<double>(rows.size() - 1)),
                      ratio(norms.residual.composite(), norms.state.composite())};
}

}  // namespace

bool is_per_head(const Metric& metric) {
  return metric.kind == MetricKind::kRowMeasures || metric.kind == MetricKind::kLogits ||
         metric.kind == MetricKind::kAttention;
}

bool rows_differ_by_tokens_only(const Attention& attention) {
  return attention.mask.is_complete() && std::holds_alternative<NoPositions>(attention.positions);
}

std::span<const Metric> all_metrics() { return kMetrics; }

std::vector<std::size_t> select_metrics(const std::vector<std::string>& asked) {
  const std::vector<std::size_t> named = named_metrics(asked);
  std::set<std::size_t> chosen(named.begin(), named.end());
  for (std::size_t i = 0; i < kMetrics.size(); ++i) {
    if (kMetrics[i].by_default) chosen.insert(i);
  }
  return {chosen.begin(), chosen.end()};
}

std::vector<std::size_t> named_metrics(const std::vector<std::string>& asked) {
  std::set<std::size_t> chosen;
  for (const std::string& name : asked) {
    bool known = false;
    for (std::size_t i = 0; i < kMetrics.size(); ++i) {
      const auto in_group = [&](const Group& group) { return name == group.name && group.holds(kMetrics[i]); };
      if (name == kMetrics[i].name || std::ranges::any_of(kGroups, in_group)) {
        chosen.insert(i);
        known = true;
      }
    }
    if (known) continue;
    const auto names = mapped<std::string>(metric_names(), &MetricName::name);
    // Forty names bury the one that was meant: they are listed only where none is near.
    const std::string meant = did_you_mean(name, names);
    throw usage_error("unknown metric '{}'{}", name,
                      meant.empty() ? fmt::format(", expected one of {}", fmt::join(names, ", ")) : meant);
  }
  return {chosen.begin(), chosen.end()};
}

std::vector<MetricName> metric_names() {
  std::vector<MetricName> names;
  names.reserve(kMetrics.size() + kGroups.size());
  for (const Metric& metric : kMetrics) names.push_back({metric.name, metric.by_default, is_per_head(metric), {}});
  for (const Group& group : kGroups) {
    MetricName entry{group.name, false, false, {}};
    for (const Metric& metric : kMetrics) {
      if (group.holds(metric)) entry.members.emplace_back(metric.name);
    }
    names.push_back(std::move(entry));
  }
  return names;
}

template <class T>
void state_values(std::span<const std::size_t> chosen, const MatrixRef<T>& x, std::span<const std::uint8_t> valid,
                  std::span<double> values) {
  if (wants(chosen, MetricKind::kNorms)) {
    const CentredNorms norms = centred_norms<T>(x, valid);
    const Norms& r = norms.residual;
    const Norms& s = norms.state;
    write(MetricKind::kNorms,
          {r.composite(), r.one, r.inf, r.frobenius, ratio(r.composite(), s.composite()), ratio(r.one, s.one),
           ratio(r.inf, s.inf), ratio(r.frobenius, s.frobenius)},
          values);
  }
  if (wants(chosen, MetricKind::kCosine)) {
    const Cosines c = cosines<T>(x, valid);
    if (c.n_pairs > 0) write(MetricKind::kCosine, {c.mean, c.mean_abs}, values);  // else there is no value
  }
  if (wants(chosen, MetricKind::kTokens)) {
    if (const auto massive = massive_token<T>(x, valid)) {
      write(MetricKind::kTokens, {massive->ratio, massive->rest_residual}, values);
    }
  }
  if (wants(chosen, MetricKind::kSpectrum)) {
    const RankMeasures m = rank_measures<T>(x, valid);
    write(MetricKind::kSpectrum,
          {m.residual_spectral, ratio(m.residual_spectral, m.spectral), m.stable, m.effective, m.participation,
           m.numerical, m.singular_min},
          values);
  }
  if (wants(chosen, MetricKind::kMinimiser)) {
    const MinimisedNorms m = minimised_norms<T>(x, valid);
    const Norms s = centred_norms<T>(x, valid).state;
    write(MetricKind::kMinimiser,
          {m.composite.value, m.one.value, m.inf.value, ratio(m.composite.value, s.composite()),
           ratio(m.one.value, s.one), ratio(m.inf.value, s.inf), m.composite.lower, m.inf.lower, m.composite.gap(),
           m.inf.gap()},
          values);
  }
}

template <class T>
void attention_values(std::span<const std::size_t> chosen, const MatrixRef<T>& p, std::span<const std::uint8_t> valid,
                      std::span<double> values) {
  if (!wants(chosen, MetricKind::kAttention) && !wants(chosen, MetricKind::kRowMeasures)) return;
  const AttentionMeasures m = attention_measures<T>(p, valid);
  write(MetricKind::kRowMeasures, {m.entropy, m.sink}, values);
  write(MetricKind::kAttention, {m.sigma1, m.sigma2, m.rank1_distance, m.dobrushin}, values);
}

template <class T>
double block_influence(const MatrixRef<T>& before, const MatrixRef<T>& after, std::span<const std::uint8_t> valid) {
  double sum = 0;
  Index n = 0;
  for (const Index i : valid_rows(before.rows(), valid)) {
    const RowVector<double> a = before.row(i).template cast<double>();
    const RowVector<double> b = after.row(i).template cast<double>();
    const double length = a.norm() * b.norm();
    if (!(length > 0)) continue;
    sum += a.dot(b) / length;
    ++n;
  }
  return n == 0 ? std::numeric_limits<double>::quiet_NaN() : 1 - sum / static_cast<double>(n);
}

template double block_influence<float>(const MatrixRef<float>&, const MatrixRef<float>&, std::span<const std::uint8_t>);
template double block_influence<double>(const MatrixRef<double>&, const MatrixRef<double>&,
                                        std::span<const std::uint8_t>);
template void state_values<float>(std::span<const std::size_t>, const MatrixRef<float>&, std::span<const std::uint8_t>,
                                  std::span<double>);
template void state_values<double>(std::span<const std::size_t>, const MatrixRef<double>&,
                                   std::span<const std::uint8_t>, std::span<double>);
template void attention_values<float>(std::span<const std::size_t>, const MatrixRef<float>&,
                                      std::span<const std::uint8_t>, std::span<double>);
template void attention_values<double>(std::span<const std::size_t>, const MatrixRef<double>&,
                                       std::span<const std::uint8_t>, std::span<double>);

}  // namespace rankfall
