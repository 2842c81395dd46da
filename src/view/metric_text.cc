#include "view/metric_text.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace rankfall {
namespace {

struct Entry {
  std::string_view name, words, formula;
  bool is_share = false;
};

// X: tokens by channels; P: one head's attention; σ₁ ≥ σ₂ ≥ ...: singular values; math.md 6 has the definitions.
constexpr Entry kMetrics[] = {
    {"cosine.mean", "mean cosine between two tokens", "mean over i≠j of xᵢ·xⱼ / (‖xᵢ‖ ‖xⱼ‖)", true},
    {"cosine.mean_abs", "mean absolute cosine between two tokens", "mean over i≠j of |xᵢ·xⱼ| / (‖xᵢ‖ ‖xⱼ‖)", true},
    {"rank.stable", "stable rank", "‖X‖_F² / ‖X‖₂²"},
    {"rank.effective", "effective rank", "exp of the entropy of σᵢ / Σσ"},
    {"rank.participation", "participation ratio", "(Σλ)² / Σλ², λ of the centred covariance"},
    {"rank.numerical", "numerical rank", "number of σᵢ > max(n,d) eps σ₁"},
    {"singular.min", "smallest singular value", "min σᵢ(X)"},
    {"attention.entropy", "attention entropy in nats", "mean over rows of −Σ P log P"},
    {"attention.sink", "attention on the first token", "mean over rows i of P_i1"},
    {"attention.sigma1", "largest singular value of attention", "σ₁(P)"},
    {"attention.sigma2", "second singular value of attention", "σ₂(P)"},
    {"attention.rank1_distance", "attention's distance from rank 1", "σ₂(P) / σ₁(P)", true},
    {"attention.dobrushin", "Dobrushin coefficient of attention", "max over i,k of ½ ‖Pᵢ − Pₖ‖₁", true},
    {"attention.gap", "gap between attention's two largest singular values", "1 − σ₂(P) / σ₁(P)", true},
    {"attention.rank.stable", "stable rank of attention", "‖P‖_F² / σ₁²"},
    {"attention.rank.effective", "effective rank of attention", "exp of the entropy of σᵢ / Σσ"},
    {"attention.rank.numerical", "numerical rank of attention", "number of σᵢ > eps σ₁"},
    {"attention.singular", "singular value of attention", "σₖ(P)"},
    {"attention.singular.error", "error of attention's singular values", "none is off by more"},
    {"attention.energy", "share of attention in its first k singular values", "(σ₁² + ... + σₖ²) / ‖P‖_F²", true},
    {"scaling.sigma2", "second singular value against the number of tokens n", "σ₂(P)"},
    {"scaling.logit_std", "standard deviation of the logits", ""},
    {"scaling.exponent", "exponent of n in the second singular value", "fit of log σ₂ over log n"},
    {"jl.failure", "share of draws that fail", "‖P R^T R w − P w‖ above what is claimed", true},
    {"jl.failure.low", "lower end of the share of draws that fail", "95 %, Clopper and Pearson", true},
    {"jl.failure.high", "upper end of the share of draws that fail", "95 %, Clopper and Pearson", true},
    {"jl.k_claimed", "k claimed to suffice", "5 ln n / (eps² (1 − eps))"},
    {"jl.k_needed", "smallest k that suffices", "no more than the share allowed fails"},
    {"jl.growth", "exponent of n in the k that suffices", "fit of log k over log n"},
    {"jl.statement", "what is true of the theorem", ""},
    {"state.distance", "distance from the network's own hidden states", "‖X' − X‖_F / ‖X‖_F"},
    {"state.distance.residual", "distance from the network's own states less their token mean",
     "‖res X' − res X‖_F / ‖res X‖_F"},
    {"layer.seconds", "seconds for one layer", ""},
    {"layer.memory_mb", "memory of one layer in MB", ""},
    {"layer.gflop", "operations of one layer in GFLOP", ""},
    {"layer.sequential", "steps of one layer that wait for each other", ""},
    {"mixing.seconds", "seconds for one layer without its projections", ""},
    {"mixing.gflop", "operations of one layer without its projections in GFLOP", ""},
    {"mixing.exponent", "exponent of n in a layer's cost without its projections", "fit of log cost over log n"},
    {"layer.exponent", "exponent of n in a layer's cost", "fit of log cost over log n"},
    {"local_exponent", "local exponent of the residual's decay",
     "step of log‖res X‖ / the step before; 3: cubic, 1: geometric"},
    {"log10_error", "uncertainty of log10 of the residual",
     "what rounding leaves unknown in log10 of any norm; from the response to random changes of 256 roundings"},
    {"decay", "how the residual falls", "fit of log10‖res X‖ over layers"},
    {"rounding_layer", "first layer lost in rounding", "log10‖res X‖ off by more than 0.05"},
    {"growth_factor", "growth factor of the residual", "‖res X'‖ / ‖res X‖"},
    {"paths.count", "number of paths", "C(L,k) H^k"},
    {"paths.norm.frobenius", "norm of the paths' sum", "‖Yₖ‖_F"},
    {"paths.share.projection", "share of the paths by projection", "<Yₖ,Y> / ‖Y‖²", true},
    {"paths.share.norm", "share of the paths by norm", "‖Yₖ‖ / Σ‖Yₖ‖", true},
    {"paths.share.residual", "share of the paths in the residual", "<res Yₖ, res Y> / ‖res Y‖²", true},
    {"paths.cancellation", "cancellation between lengths", "Σ‖Yₖ‖ / ‖ΣYₖ‖"},
    {"paths.proportion", "share of all paths", "C(L,k) H^k / (H+1)^L", true},
    {"paths.cumulative", "share of all paths up to this length", "", true},
    {"paths.total", "number of all paths", "(H+1)^L"},
    {"paths.mean_length", "mean length of a path", "L H / (H+1)"},
    {"paths.mode", "most frequent length", ""},
    {"paths.gram.projection", "interference of lengths", "<Yⱼ,Yₖ> / ‖Y‖²"},
    {"paths.gram.residual", "interference of lengths in the residual", "<res Yⱼ, res Yₖ> / ‖res Y‖²"},
    {"head.share.projection", "share of all paths through a head", "<Y_h,Y> / ‖Y‖²", true},
    {"head.share.residual", "share of all paths through a head in the residual", "<res Y_h, res Y> / ‖res Y‖²", true},
    {"mlp.share.projection", "share of all paths from an MLP", "<Y_m,Y> / ‖Y‖²", true},
    {"mlp.share.residual", "share of all paths from an MLP in the residual", "<res Y_m, res Y> / ‖res Y‖²", true},
    {"head.norm.frobenius", "norm of all paths through a head", "‖Y_h‖_F"},
    {"head.relative_norm.frobenius", "norm of all paths through a head beside the output's", "‖Y_h‖_F / ‖Y‖_F", true},
    {"path.norm.frobenius", "norm of a path", "‖P_path X W_path‖_F"},
    {"path.relative_norm.frobenius", "norm of a path beside the output's", "‖P_path X W_path‖_F / ‖Y‖_F", true},
    {"path.share.projection", "share of a path", "<Y_path,Y> / ‖Y‖²", true},
    {"path.share.residual", "share of a path in the residual", "<res Y_path, res Y> / ‖res Y‖²", true},
    {"reconstruction_error", "error of the sum over paths", "‖ΣYₖ − X‖_F / ‖X‖_F"},
    {"beta_star", "what replaces beta H in the sound form", "√(Σ γ² w ‖W‖₁ · Σ w ‖W‖∞), w = ‖W_QK‖₁"},
    {"theorem", "what became of a theorem", ""},
    {"beta", "beta of the theorem", "‖W_QK‖₁ times the composite norm of W_V"},
    {"gamma", "gamma of the theorem", "√(n max q)"},
    {"range", "range of the logits", "max over i of maxⱼ Eᵢⱼ − minⱼ Eᵢⱼ"},
    {"accuracy", "accuracy", "share of right answers", true},
    {"loss", "loss", ""},
    {"gflops", "speed in GFLOP/s", "2mnk of all products / time"},
    {"share_of_peak", "share of this machine's product peak", "GFLOP/s / peak", true},
};

// metric = family '.' norm
constexpr Entry kFamilies[] = {
    {"residual", "residual", "‖X − 1·mean‖"},
    {"relative_residual", "relative residual", "‖X − 1·mean‖ / ‖X‖", true},
    {"minimal_residual", "smallest residual", "min over x of ‖X − 1·x‖"},
    {"relative_minimal_residual", "smallest relative residual", "min over x of ‖X − 1·x‖ / ‖X‖", true},
    {"minimal_residual_lower", "lower bound of the smallest residual", "≤ min over x of ‖X − 1·x‖"},
    {"minimal_residual_gap", "how far the smallest residual may lie below the value", "1 − lower bound / value", true},
    {"log10_residual", "log10 of the residual", "log10 ‖X − 1·mean‖"},
    {"log10_relative_residual", "log10 of the relative residual", "log10 (‖X − 1·mean‖ / ‖X‖)"},
};
constexpr Entry kNorms[] = {
    {"composite", "composite norm", "√(‖·‖₁ ‖·‖∞)"},
    {"one", "1-norm", "largest column sum"},
    {"inf", "infinity norm", "largest row sum"},
    {"frobenius", "Frobenius norm", ""},
    {"spectral", "spectral norm", "σ₁"},
};

// metric = prefix name
constexpr Entry kPrefixes[] = {
    {"bound.", "upper bound of the residual by ", ""},
    {"tightness.", "measured / bound for ", "", true},
    {"log10_bound.", "log10 of the bound by ", ""},
    {"log10_measured.", "log10 of what is bounded by ", ""},
    {"log10_tightness.", "log10 of measured / bound for ", ""},
};

template <std::size_t n>
const Entry* find(const Entry (&entries)[n], std::string_view name) {
  const auto* it = std::ranges::find(entries, name, &Entry::name);
  return it == std::end(entries) ? nullptr : it;
}

}  // namespace

MetricText metric_text(std::string_view metric) {
  if (const Entry* known = find(kMetrics, metric)) {
    return {std::string(known->words), std::string(known->formula), known->is_share, false, false};
  }
  if (const auto dot = metric.find('.'); dot != std::string_view::npos) {
    const Entry* family = find(kFamilies, metric.substr(0, dot));
    const Entry* norm = find(kNorms, metric.substr(dot + 1));
    if (family && norm) {
      std::string formula = std::string(family->formula) + ", " + std::string(norm->words);
      if (!norm->formula.empty()) formula += " " + std::string(norm->formula);
      return {std::string(family->words), formula, family->is_share, family->name == "relative_residual",
              family->name.starts_with("log10_")};
    }
  }
  for (const Entry& prefix : kPrefixes) {
    if (metric.starts_with(prefix.name)) {
      return {std::string(prefix.words) + std::string(metric.substr(prefix.name.size())), "", prefix.is_share, false,
              prefix.name.starts_with("log10_")};
    }
  }
  return {.words = std::string(metric), .formula = ""};
}

}  // namespace rankfall
