#include "studies/collapse/collapse_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "result/statistics.h"
#include "studies/collapse/decay.h"
#include "view/number_text.h"

namespace rankfall {
namespace {

// The status of a value at a layer, in words.
const char* words_of(Status status) {
  switch (status) {
    case Status::kNotCarried:
      return "not carried by double precision";
    case Status::kExactlyZero:
      return "exactly 0";
    case Status::kOutOfRange:
      return "below 10^(-10^308)";
    case Status::kBelowFloat32:
      return "below float32";
    case Status::kBelowFloat64:
      return "below float64";
    default:
      return "";
  }
}

void set_known_status(Row& row, Status status) { set_status(row, status, words_of(status)); }

struct NamedNorm {
  const char* name;
  double LogNorms::*value;
};
constexpr std::array kNorms = {
    NamedNorm{"composite", &LogNorms::composite},
    NamedNorm{"one", &LogNorms::one},
    NamedNorm{"inf", &LogNorms::inf},
    NamedNorm{"frobenius", &LogNorms::frobenius},
    NamedNorm{"spectral", &LogNorms::spectral},
};

using Value = std::function<double(const Curve&, Index)>;

// Over the samples that have a value: tokens that are equal have no residual, and no logarithm of it.
Statistics over_samples(std::span<const Curve> curves, Index layer, const Value& value) {
  Statistics statistics;
  for (const Curve& curve : curves) {
    const double x = value(curve, layer);
    if (std::isfinite(x)) statistics.add(x);
  }
  return statistics;
}

Value residual_of(double LogNorms::*norm) {
  return [norm](const Curve& curve, Index l) { return curve[static_cast<std::size_t>(l)].residual.*norm; };
}
Value relative_of(double LogNorms::*norm) {
  return [norm](const Curve& curve, Index l) {
    const SplitNorms& norms = curve[static_cast<std::size_t>(l)];
    return norms.residual.*norm - norms.state.*norm;
  };
}

// By state, for one sample.
std::vector<double> series(const Curve& curve, const Value& value) {
  std::vector<double> out;
  for (std::size_t l = 0; l < curve.size(); ++l) out.push_back(value(curve, static_cast<Index>(l)));
  return out;
}
// The mean over samples; -infinity from where a sample that had a value has none.
std::vector<double> mean_series(std::span<const Curve> curves, const Value& value) {
  std::vector<double> out;
  const Index n = over_samples(curves, 0, value).n();
  for (std::size_t l = 0; l < curves[0].size(); ++l) {
    const Statistics statistics = over_samples(curves, static_cast<Index>(l), value);
    const bool all = statistics.n() == n && n > 0;
    out.push_back(all ? statistics.mean().value_or(-INFINITY) : -INFINITY);
  }
  return out;
}

class Rows {
 public:
  Rows(CollapseCurves curves, bool arithmetic)
      : arithmetic_(arithmetic),
        exact_(std::move(curves.exact)),
        floats_(std::move(curves.floats)),
        errors_(std::move(curves.errors)) {}

  std::vector<Row> make(bool each_sample) {
    for (Index l = 0; l < n_states(); ++l) exact_state(l);
    for (const FloatRun& run : floats_) {
      for (Index l = 0; l < n_states() && !run.curves.empty(); ++l) float_state(run, l);
    }
    for (const FloatRun& run : floats_) rounding(run);
    decay("relative_residual", relative_of(&LogNorms::composite));
    decay("residual", residual_of(&LogNorms::composite));
    for (std::size_t s = 0; s < exact_.size() && each_sample; ++s) {
      for (Index l = 0; l < n_states(); ++l) sample_state(s, l);
    }
    return std::move(rows_);
  }

 private:
  Index n_states() const { return std::ssize(exact_[0]); }

  Row& add(std::optional<Index> layer, std::string metric, const char* kind) {
    return rows_.emplace_back(Row{.layer = layer, .metric = std::move(metric), .kind = kind});
  }

  // The largest error of all samples; infinity if one is not known.
  double error(Index layer) const {
    double largest = 0;
    for (const auto& errors : errors_) largest = std::max(largest, errors[static_cast<std::size_t>(layer)]);
    return largest;
  }

  // Why a sample has no logarithm there. Logarithms end near -1e308.
  static Status no_value(const Curve& curve, Index layer) {
    for (Index l = layer; l-- > 0;) {
      const double before = curve[static_cast<std::size_t>(l)].residual.composite;
      if (std::isfinite(before)) return before < -1e300 ? Status::kOutOfRange : Status::kExactlyZero;
    }
    return Status::kExactlyZero;
  }

  // The status of the mean at a layer.
  Status status(Index layer, bool has_value) const {
    if (!std::isfinite(error(layer))) return Status::kNotCarried;
    if (!has_value) return no_value(exact_[0], layer);
    Status status = Status::kNone;
    for (const FloatRun& run : floats_) {
      if (!run.curves.empty() && layer >= run.rounding_layer) {
        status = run.kind == std::string_view("f32") ? Status::kBelowFloat32 : Status::kBelowFloat64;
      }
    }
    return status;
  }

  void exact_state(Index l) {
    const auto put = [&](const char* prefix, const auto& of) {
      for (const NamedNorm& norm : kNorms) {
        Row& row = add(l, fmt::format("{}.{}", prefix, norm.name), "exact");
        set(row, over_samples(exact_, l, of(norm.value)));
        set_known_status(row, status(l, row.mean.has_value()));
      }
    };
    put("log10_residual", residual_of);
    put("log10_relative_residual", relative_of);
    for (const NamedNorm& norm : kNorms) {
      if (!arithmetic_) break;
      Row& row = add(l, fmt::format("log10_mean_relative_residual.{}", norm.name), "exact");
      row.mean = log10_mean(l, relative_of(norm.value));
      row.n = over_samples(exact_, l, relative_of(norm.value)).n();
      set_known_status(row, status(l, row.mean.has_value()));
    }
    const Value residual = residual_of(&LogNorms::composite);
    if (l >= 2) {
      Statistics exponents;
      for (const Curve& curve : exact_) {
        if (const auto exponent = local_exponent(series(curve, residual), l)) exponents.add(*exponent);
      }
      set(add(l, "local_exponent", "exact"), exponents);
    }
    if (l >= 1) {
      const Statistics steps = over_samples(exact_, l, step(residual));
      Row& row = add(l, "growth_factor", "exact");
      row.n = steps.n();
      set_power(row, steps.mean());
    }
    set_error(add(l, "log10_error", "exact"), error(l)).n = std::ssize(exact_);
  }

  // log10 of the arithmetic mean of 10^value over the samples that have a value; relative to the largest, since no
  // double holds the others.
  std::optional<double> log10_mean(Index layer, const Value& value) const {
    double largest = -INFINITY;
    for (const Curve& curve : exact_) {
      if (const double x = value(curve, layer); std::isfinite(x)) largest = std::max(largest, x);
    }
    if (!std::isfinite(largest)) return std::nullopt;
    double sum = 0;
    Index n = 0;
    for (const Curve& curve : exact_) {
      const double x = value(curve, layer);
      if (!std::isfinite(x)) continue;
      sum += std::pow(10, x - largest);
      ++n;
    }
    return largest + std::log10(sum / static_cast<double>(n));
  }

  static Row& set_error(Row& row, double error) {
    if (std::isfinite(error)) {
      row.mean = error;
    } else {
      set_known_status(row, Status::kNotCarried);
    }
    return row;
  }

  static Value step(const Value& value) {
    return [value](const Curve& curve, Index l) { return value(curve, l) - value(curve, l - 1); };
  }

  // 10^log10_value, or the power in words where no double can hold it.
  static void set_power(Row& row, std::optional<double> log10_value) {
    if (!log10_value) return;
    if (std::abs(*log10_value) < 300) {
      row.mean = std::pow(10, *log10_value);
    } else {
      set_status(row, Status::kOutOfRange, power_of_ten(*log10_value, 3));
    }
  }

  void float_state(const FloatRun& run, Index l) {
    const auto put = [&](const char* prefix, const auto& of) {
      for (const NamedNorm& norm : kNorms) {
        if (norm.value == &LogNorms::spectral) continue;
        Row& row = add(l, fmt::format("{}.{}", prefix, norm.name), run.kind);
        set(row, over_samples(run.curves, l, of(norm.value)));
        if (l >= run.rounding_layer) set_status(row, Status::kRoundingFloor, row.mean ? "rounding" : "0");
      }
    };
    put("log10_residual", residual_of);
    put("log10_relative_residual", relative_of);
  }

  void rounding(const FloatRun& run) {
    Row& row = add(std::nullopt, "rounding_layer", run.kind);
    if (!run.failure.empty()) {
      set_status(row, Status::kFailed, "fails: " + run.failure);
    } else if (run.rounding_layer < n_states()) {
      row.mean = static_cast<double>(run.rounding_layer);
    } else {
      set_status(row, Status::kNotReached, "never");
    }
  }

  void decay(const char* kind, const Value& value) {
    std::vector<double> curve = mean_series(exact_, value);
    std::string rest;  // what became of the curve after its end
    for (std::size_t l = 0; l < curve.size() && rest.empty() && std::isfinite(curve[0]); ++l) {
      const Index layer = static_cast<Index>(l);
      if (!std::isfinite(error(layer))) {
        rest = fmt::format("; from layer {} on double precision does not carry it", layer);
        curve.resize(l);
      } else if (!std::isfinite(curve[l]) && l > 0) {
        const bool below =
            std::ranges::any_of(exact_, [&](const Curve& c) { return no_value(c, layer) == Status::kOutOfRange; });
        rest =
            fmt::format("; {} from layer {} on", words_of(below ? Status::kOutOfRange : Status::kExactlyZero), layer);
        curve.resize(l);
      }
    }
    std::vector<std::vector<double>> samples;
    for (const Curve& sample : exact_) samples.push_back(series(sample, value));
    const Decay decay = decay_of(curve, samples);
    Row& row = add(std::nullopt, "decay", kind);
    if (decay.law == Status::kDoublyExponential) row.mean = local_exponent(curve, decay.last);
    if (decay.law == Status::kExponential) row.mean = std::pow(10, decay.slope);
    row.n = std::ssize(exact_);
    set_status(row, decay.law, decay_words(decay, curve) + rest);
  }

  void sample_state(std::size_t s, Index l) {
    const auto put = [&](std::string metric) -> Row& {
      Row& row = add(l, std::move(metric), "exact");
      row.sample = static_cast<Index>(s);
      return row;
    };
    const double error = errors_[s][static_cast<std::size_t>(l)];
    const auto put_value = [&](std::string metric, std::optional<double> value) {
      Row& row = put(std::move(metric));
      if (!value) return;
      if (std::isfinite(*value)) row.mean = value;
      if (!std::isfinite(error)) {
        set_known_status(row, Status::kNotCarried);
      } else if (!row.mean) {
        set_known_status(row, no_value(exact_[s], l));
      }
    };
    const auto put_norms = [&](const char* prefix, const auto& of) {
      for (const NamedNorm& norm : kNorms)
        put_value(fmt::format("{}.{}", prefix, norm.name), of(norm.value)(exact_[s], l));
    };
    put_norms("log10_residual", residual_of);
    put_norms("log10_relative_residual", relative_of);
    const Value residual = residual_of(&LogNorms::composite);
    if (l >= 2) put_value("local_exponent", local_exponent(series(exact_[s], residual), l));
    if (l >= 1) {
      const double change = step(residual)(exact_[s], l);
      set_power(put("growth_factor"), std::isfinite(change) ? std::optional(change) : std::nullopt);
    }
    set_error(put("log10_error"), error);
  }

  bool arithmetic_;
  std::vector<Curve> exact_;
  std::vector<FloatRun> floats_;
  std::vector<std::vector<double>> errors_;  // by sample and state
  std::vector<Row> rows_;
};

}  // namespace

std::vector<Row> collapse_rows(CollapseCurves curves, bool each_sample, bool arithmetic) {
  return Rows(std::move(curves), arithmetic).make(each_sample);
}

}  // namespace rankfall
