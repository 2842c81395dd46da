#include "result/metric_table.h"

#include <array>
#include <cstddef>

namespace rankfall {
namespace {

using enum MetricAxis;

constexpr std::array kNormList = {
    MetricMember{"composite", "composite norm", "composite norm √(‖·‖₁ ‖·‖∞)"},
    MetricMember{"inf", "infinity norm", "infinity norm largest row sum"},
    MetricMember{"one", "1-norm", "1-norm largest column sum"},
    MetricMember{"frobenius", "Frobenius norm", "Frobenius norm"},
    MetricMember{"spectral", "spectral norm", "spectral norm σ₁"},
};
constexpr MetricMembers kNorms = {"NORM", kNormList};
constexpr MetricMembers first_norms(std::size_t n) { return {"NORM", std::span(kNormList).first(n)}; }

// R: the residual of what enters attention; s: the factor of the logits; eᵢ = exp(rangeᵢ) − 1; W = W_V W_O of a head;
// D = P − 1 q^T; M = Σₕ Dₕ R Wₕ.
constexpr std::array kBoundList = {
    MetricMember{"T2.2", "Theorem 2.2, one head", "4 s beta ‖R‖³", "‖D R W‖"},
    MetricMember{"T2.3", "Theorem 2.3, all heads, as published", "4 s beta H ‖R‖³", "‖M‖"},
    MetricMember{"T2.3_sound", "Theorem 2.3 in a form that is proved", "4 s beta_star ‖R‖³", "‖M‖"},
    MetricMember{"certified", "from weights and data, composite norm",
                 "√(max over j of Σₕ Σᵢ eᵢ (q^T |R W|)ⱼ · max over i of Σₕ eᵢ Σⱼ (q^T |R W|)ⱼ)", "‖M‖"},
    MetricMember{"certified_frobenius", "from weights and data, Frobenius norm", "‖Σₕ e (q^T |R W|)‖_F", "‖res M‖_F"},
    MetricMember{"dobrushin", "contraction by attention, in the channel j that comes closest", "Σₕ δ(Pₕ) spreadⱼ(R Wₕ)",
                 "spreadⱼ(M)"},
    MetricMember{"dobrushin_tanh", "Dobrushin coefficient δ from the range of logits",
                 "max over i,k of tanh(rangeⱼ(Eᵢⱼ − Eₖⱼ) / 4)", "δ(P)"},
    MetricMember{"lower", "lower bound with skips", "skip ‖res X‖_F − branch · the smaller of two upper bounds",
                 "‖res X'‖_F"},
    MetricMember{"T2.2_depth", "Theorem 2.2 over all layers up to l", "c^((3^l−1)/2) ‖res X₀‖^(3^l), c = 4 s beta",
                 "‖res X_l‖"},
    MetricMember{"T2.3_depth", "Theorem 2.3 over all layers up to l", "c^((3^l−1)/2) ‖res X₀‖^(3^l), c = 4 s beta H",
                 "‖res X_l‖"},
    MetricMember{"C3.2_depth", "Corollary 3.2 over all layers up to l, with MLPs",
                 "c^((3^l−1)/2) ‖res X₀‖^(3^l), c = 4 s beta H λ", "‖res X_l‖"},
};
constexpr MetricMembers kBounds = {"BOUND", kBoundList};

constexpr std::array kMatrixList = {
    MetricMember{"attention", "product of a path's attention matrices", "Pₖ ··· P₁"},
    MetricMember{"attention_reversed", "the same in the published order", "P₁ ··· Pₖ"},
    MetricMember{"term", "term of a path", "P_path X W_path"},
};
constexpr MetricMembers kMatrices = {"MATRIX", kMatrixList};

constexpr std::array kWeightList = {
    MetricMember{"q", "queries", "W_Q"},
    MetricMember{"k", "keys", "W_K"},
    MetricMember{"v", "values", "W_V"},
};
constexpr MetricMembers kWeights = {"WEIGHT", kWeightList};

constexpr std::array kComparedList = {
    MetricMember{"hidden", "hidden states", ""},
    MetricMember{"attention", "attention", ""},
};
constexpr MetricMembers kCompared = {"WHAT", kComparedList};

constexpr std::array kCheckList = {
    MetricMember{"version", "version of rankfall", ""},
    MetricMember{"build", "compiler and its settings", ""},
    MetricMember{"training", "program that trains", ""},
    MetricMember{"libraries", "libraries", ""},
    MetricMember{"blas", "matrix product library", ""},
    MetricMember{"blas_choice", "who chose its kernel", ""},
    MetricMember{"blas_kernel", "a faster kernel, if there is one", ""},
    MetricMember{"cpu", "processor", ""},
    MetricMember{"cores", "cores that may be used", ""},
    MetricMember{"threads", "threads", ""},
    MetricMember{"memory", "memory", ""},
    MetricMember{"random_numbers", "random numbers have the same bits as everywhere", ""},
    MetricMember{"rounding", "rounding mode", ""},
    MetricMember{"subnormal_numbers", "numbers below 2.2e-308 are kept", ""},
    MetricMember{"threads_agree", "threads do not change the result", ""},
    MetricMember{"reproducible", "whether results are reproducible", ""},
};
constexpr MetricMembers kChecks = {"CHECK", kCheckList};

constexpr std::array kIntervalList = {
    MetricMember{"relative_residual.composite", "relative residual", "relative residual, composite norm"},
    MetricMember{"cosine.mean", "mean cosine", "mean cosine between two tokens"},
};
constexpr MetricMembers kIntervals = {"METRIC", kIntervalList};

constexpr MetricMembers kNone = {};
constexpr std::array kPlaceholders = {kNorms, kBounds, kMatrices, kWeights, kCompared, kChecks, kIntervals};

}  // namespace

// X: a hidden state, tokens by channels; P: one head's attention; σ₁ ≥ σ₂ ≥ ...: singular values; Yₖ: the sum of all
// paths of length k; res: less the mean over tokens; n tokens, L layers, H heads. docs/math.md has the definitions.
const std::vector<MetricGroup>& metric_groups() {
  static const std::vector<MetricGroup> all = {
      {"residual",
       {
           {"relative_residual.*", "relative residual", "‖X − 1·mean‖ / ‖X‖, *", kShare, "measure@layer train@layer",
            "", kNorms},
           {"residual.*", "residual", "‖X − 1·mean‖, *", kPositive, "measure@layer", "", kNorms},
           {"geometric_relative_residual.*", "geometric mean of the relative residual",
            "10^(mean of log10 (‖X − 1·mean‖ / ‖X‖)), *", kShare, "measure@layer", "", first_norms(4),
            Averaging::kLogarithms},
           {"interval_low.*", "lower end of a 95 % interval",
            "2.5 % quantile of 2,000 bootstrap means over samples (several seeds: over seeds, then samples), *",
            kSigned, "measure@layer", "", kIntervals},
           {"interval_high.*", "upper end of a 95 % interval",
            "97.5 % quantile of 2,000 bootstrap means over samples (several seeds: over seeds, then samples), *",
            kSigned, "measure@layer", "", kIntervals},
           {"minimal_residual.*", "smallest residual", "min over x of ‖X − 1·x‖, *", kPositive, "measure@layer", "",
            first_norms(3)},
           {"relative_minimal_residual.*", "smallest relative residual", "min over x of ‖X − 1·x‖ / ‖X‖, *", kShare,
            "measure@layer", "", first_norms(3)},
           {"minimal_residual_lower.*", "lower bound of the smallest residual", "≤ min over x of ‖X − 1·x‖, *",
            kPositive, "measure@layer", "", first_norms(2)},
           {"minimal_residual_gap.*", "how far the smallest residual may lie below the value",
            "1 − lower bound / value, *", kShare, "measure@layer", "", first_norms(2)},
       }},
      {"exact residual",
       {
           {"log10_relative_residual.*", "log10 of the relative residual", "log10 (‖X − 1·mean‖ / ‖X‖), *", kLog10,
            "collapse@layer", "", kNorms},
           {"log10_mean_relative_residual.*", "log10 of the mean relative residual",
            "log10 of the arithmetic mean of ‖X − 1·mean‖ / ‖X‖, *", kLog10, "collapse@layer", "", kNorms,
            Averaging::kArithmetic},
           {"log10_residual.*", "log10 of the residual", "log10 ‖X − 1·mean‖, *", kLog10, "collapse@layer", "", kNorms},
           {"log10_error", "uncertainty of log10 of the residual",
            "what rounding leaves unknown in log10 of any norm; from the response to random changes of 256 roundings",
            kPositive, "collapse@layer", "", kNone, Averaging::kLargest},
           {"growth_factor", "growth factor of the residual", "‖res X'‖ / ‖res X‖", kPositive, "collapse@layer", "",
            kNone, Averaging::kLogarithms},
           {"local_exponent", "local exponent of the residual's decay",
            "step of log‖res X‖ / the step before; 3: cubic, 1: geometric", kSigned, "collapse@layer"},
           {"decay", "how the residual falls", "fit of log10‖res X‖ over layers", kPositive, "collapse"},
           {"rounding_layer", "first layer lost in rounding", "log10‖res X‖ off by more than 0.05", kCount, "collapse",
            "layer"},
       }},
      {"cosine",
       {
           {"cosine.mean", "mean cosine between two tokens", "mean over i≠j of xᵢ·xⱼ / (‖xᵢ‖ ‖xⱼ‖)", kShare,
            "measure@layer train@layer"},
           {"cosine.mean_abs", "mean absolute cosine between two tokens", "mean over i≠j of |xᵢ·xⱼ| / (‖xᵢ‖ ‖xⱼ‖)",
            kShare, "measure@layer"},
       }},
      {"token",
       {
           {"token.massive_ratio", "largest token norm against the others",
            "max over i of ‖xᵢ‖₂ / mean of the norms of the other tokens", kPositive, "measure@layer"},
           {"token.rest_residual", "relative residual without the token of largest norm",
            "‖X − 1·mean‖ / ‖X‖ of the other tokens, composite norm", kShare, "measure@layer"},
       }},
      {"block",
       {
           {"block.influence", "how much a block turns its tokens",
            "1 − mean over i of xᵢ·yᵢ / (‖xᵢ‖ ‖yᵢ‖), x entering the block, y leaving it", kPositive, "measure@layer"},
       }},
      {"rank",
       {
           {"rank.stable", "stable rank", "‖X‖_F² / ‖X‖₂²", kPositive, "measure@layer"},
           {"rank.effective", "effective rank", "exp of the entropy of σᵢ / Σσ", kPositive, "measure@layer"},
           {"rank.participation", "participation ratio", "(Σλ)² / Σλ², λ of the centred covariance", kPositive,
            "measure@layer"},
           {"rank.numerical", "numerical rank", "number of σᵢ > max(n,d) eps σ₁", kCount, "measure@layer"},
           {"singular.min", "smallest singular value", "min σᵢ(X)", kPositive, "measure@layer"},
           {"rank.pooled", "effective rank of the tokens of all samples together (RankMe)",
            "exp of the entropy of σᵢ / Σσ, X the tokens of all samples", kPositive, "measure@layer"},
       }},
      {"attention",
       {
           {"attention.entropy", "attention entropy in nats", "mean over rows of −Σ P log P", kPositive,
            "measure@head lowrank@head", "nats"},
           {"attention.sink", "attention on the first token", "mean over rows i of P_i1", kPositive, "measure@head"},
           {"attention.max_logit", "largest logit of attention", "max over i and seen j of zᵢⱼ", kSigned,
            "measure@head"},
           {"attention.logit_range", "largest range of logits in a row", "max over i of (max − min over seen j of zᵢⱼ)",
            kPositive, "measure@head"},
           {"attention.sigma1", "largest singular value of attention", "σ₁(P)", kPositive, "measure@head lowrank@head"},
           {"attention.sigma2", "second singular value of attention", "σ₂(P)", kPositive, "measure@head lowrank@head"},
           {"attention.rank1_distance", "attention's distance from rank 1", "σ₂(P) / σ₁(P)", kShare, "measure@head"},
           {"attention.dobrushin", "Dobrushin coefficient of attention", "max over i,k of ½ ‖Pᵢ − Pₖ‖₁", kShare,
            "measure@head bounds@head"},
           {"attention.gap", "gap between attention's two largest singular values", "1 − σ₂(P) / σ₁(P)", kShare,
            "lowrank@head"},
           {"attention.rank.stable", "stable rank of attention", "‖P‖_F² / σ₁²", kPositive, "lowrank@head"},
           {"attention.rank.effective", "effective rank of attention", "exp of the entropy of σᵢ / Σσ", kPositive,
            "lowrank@head"},
           {"attention.rank.numerical", "numerical rank of attention", "number of σᵢ > eps σ₁", kCount, "lowrank@head"},
           {"attention.singular", "singular value of attention", "σₖ(P)", kPositive, "lowrank@head"},
           {"attention.singular.error", "error of attention's singular values", "none is off by more", kPositive,
            "lowrank@head"},
           {"attention.energy", "share of attention in its first k singular values", "(σ₁² + ... + σₖ²) / ‖P‖_F²",
            kShare, "lowrank@head"},
       }},
      {"paths",
       {
           {"paths.count", "number of paths", "C(L,k) H^k", kCount, "paths@layer counts"},
           {"paths.norm.*", "norm of the paths' sum", "‖Yₖ‖, *", kPositive, "paths@layer", "", first_norms(4)},
           {"paths.residual.*", "residual of the paths' sum", "‖res Yₖ‖, *", kPositive, "paths@layer", "",
            first_norms(4)},
           {"paths.share.residual", "share of the paths in the residual", "<res Yₖ, res Y> / ‖res Y‖²", kShare,
            "paths@layer"},
           {"paths.share.projection", "share of the paths by projection", "<Yₖ,Y> / ‖Y‖²", kShare, "paths@layer"},
           {"paths.share.norm", "share of the paths by norm", "‖Yₖ‖ / Σ‖Yₖ‖", kShare, "paths@layer"},
           {"paths.cancellation", "cancellation between lengths", "Σ‖Yₖ‖ / ‖ΣYₖ‖", kPositive, "paths@layer"},
           {"paths.gram.residual", "interference of lengths in the residual", "<res Yⱼ, res Yₖ> / ‖res Y‖²", kSigned,
            "paths@layer"},
           {"paths.gram.projection", "interference of lengths", "<Yⱼ,Yₖ> / ‖Y‖²", kSigned, "paths@layer"},
           {"reconstruction_error", "error of the sum over paths", "‖ΣYₖ − X‖_F / ‖X‖_F", kPositive, "paths@layer"},
           {"paths.proportion", "share of all paths", "C(L,k) H^k / (H+1)^L", kShare, "counts"},
           {"paths.cumulative", "share of all paths up to this length", "", kShare, "counts"},
           {"paths.total", "number of all paths", "(H+1)^L", kCount, "counts"},
           {"paths.mean_length", "mean length of a path", "L H / (H+1)", kPositive, "counts"},
           {"paths.mode", "most frequent length", "", kCount, "counts"},
       }},
      {"heads and MLPs",
       {
           {"head.share.residual", "share of all paths through a head in the residual", "<res Y_h, res Y> / ‖res Y‖²",
            kShare, "paths@head"},
           {"head.share.projection", "share of all paths through a head", "<Y_h,Y> / ‖Y‖²", kShare, "paths@head"},
           {"head.norm.frobenius", "norm of all paths through a head", "‖Y_h‖_F", kPositive, "paths@head"},
           {"head.relative_norm.frobenius", "norm of all paths through a head beside the output's", "‖Y_h‖_F / ‖Y‖_F",
            kShare, "paths@head"},
           {"mlp.share.residual", "share of all paths from an MLP in the residual", "<res Y_m, res Y> / ‖res Y‖²",
            kShare, "paths@layer"},
           {"mlp.share.projection", "share of all paths from an MLP", "<Y_m,Y> / ‖Y‖²", kShare, "paths@layer"},
       }},
      {"single paths",
       {
           {"path.norm.frobenius", "norm of a path", "‖P_path X W_path‖_F", kPositive, "paths"},
           {"path.relative_norm.frobenius", "norm of a path beside the output's", "‖P_path X W_path‖_F / ‖Y‖_F", kShare,
            "paths"},
           {"path.share.residual", "share of a path in the residual", "<res Y_path, res Y> / ‖res Y‖²", kShare,
            "paths"},
           {"path.share.projection", "share of a path", "<Y_path,Y> / ‖Y‖²", kShare, "paths"},
           {"path.*.relative_residual.composite", "relative residual of the *", "‖res M‖ / ‖M‖, composite norm, M = *",
            kPositive, "paths", "", kMatrices},
           {"path.*.rank1_distance", "distance from rank 1 of the *", "σ₂(M) / σ₁(M), M = *", kPositive, "paths", "",
            kMatrices},
           {"path.*.rank1_remainder.composite", "remainder beside rank 1 of the *",
            "‖M − σ₁ u v^T‖ / ‖M‖, composite norm, M = *", kPositive, "paths", "", kMatrices},
           {"path.attention_reversed.rank1_remainder_f32.composite",
            "remainder beside rank 1 by a float32 decomposition, in the published order",
            "‖M − σ₁ u v^T‖ / ‖M‖, composite norm, M = P₁ ··· Pₖ", kPositive, "paths"},
           {"rerun.relative_residual.composite", "relative residual of a path run as a network of its own",
            "‖res Z‖ / ‖Z‖, composite norm, Z the output of the path's own network", kPositive, "paths"},
           {"rerun.cosine", "cosine between a path run by itself and its frozen term",
            "<Z, LN(Y_path)> / (‖Z‖ ‖LN(Y_path)‖)", kSigned, "paths"},
           {"rerun.cosine_residual", "cosine between the residuals of a path run by itself and of its frozen term",
            "<res Z, res LN(Y_path)> / (‖res Z‖ ‖res LN(Y_path)‖)", kSigned, "paths"},
           {"rerun.attention_distance", "distance between a path's own and frozen attention",
            "mean over rows of ½ ‖P_path − P_own‖₁", kPositive, "paths"},
       }},
      {"tokens",
       {
           {"token.share.residual", "share of an input token in an output token's deviation from the mean",
            "<Y_t, res X_t> / ‖res X_t‖², Y_t from the input token by paths of length k", kSigned, "paths"},
           {"token.share.projection", "share of an input token in an output token",
            "<Y_t, X_t> / ‖X_t‖², Y_t from the input token by paths of length k", kSigned, "paths"},
           {"token.reach", "attention of an output token to an input token along paths",
            "mean over paths of length k of their attention P_path", kPositive, "paths"},
       }},
      {"bounds",
       {
           {"log10_tightness.*", "log10 of measured / bound for *",
            "log10 (measured / bound); for lower bounds log10 (bound / measured)", kLog10, "bounds@head", "", kBounds,
            Averaging::kLargest},
           {"log10_bound.*", "log10 of the bound by *", "log10 (*)", kLog10, "bounds@head", "", kBounds},
           {"log10_measured.*", "log10 of what is bounded by *", "log10 (#)", kLog10, "bounds@head", "", kBounds},
           {"theorem", "what became of a theorem", "", kLog10, "bounds"},
           {"theorem.cases", "number of cases in which a theorem has this status", "", kCount, "bounds"},
           {"beta", "beta of the theorem", "‖W_QK‖₁ times the composite norm of W_V", kPositive, "bounds@head"},
           {"beta_star", "what replaces beta H in the sound form", "√(Σ γ² w ‖W‖₁ · Σ w ‖W‖∞), w = ‖W_QK‖₁", kPositive,
            "bounds@layer"},
           {"gamma", "gamma of the theorem", "√(n max q)", kPositive, "bounds@head"},
           {"range", "range of the logits", "max over i of maxⱼ Eᵢⱼ − minⱼ Eᵢⱼ", kPositive, "bounds@head"},
       }},
      {"low rank",
       {
           {"scaling.sigma2", "second singular value against the number of tokens n", "σ₂(P)", kPositive,
            "lowrank@layer"},
           {"scaling.logit_std", "standard deviation of the logits", "", kPositive, "lowrank@layer"},
           {"scaling.exponent", "exponent of n in the second singular value", "fit of log σ₂ over log n", kSigned,
            "lowrank@layer"},
           {"jl.failure", "share of draws that fail", "‖P R^T R w − P w‖ above what is claimed", kShare,
            "lowrank@layer"},
           {"jl.failure.low", "lower end of the share of draws that fail", "95 %, Clopper and Pearson", kShare,
            "lowrank@layer"},
           {"jl.failure.high", "upper end of the share of draws that fail", "95 %, Clopper and Pearson", kShare,
            "lowrank@layer"},
           {"jl.k_claimed", "k claimed to suffice", "5 ln n / (eps² (1 − eps))", kCount, "lowrank@layer"},
           {"jl.k_needed", "smallest k that suffices", "no more than the share allowed fails", kCount, "lowrank@layer"},
           {"jl.growth", "exponent of n in the k that suffices", "fit of log k over log n", kSigned, "lowrank@layer"},
           {"jl.statement", "what is true of the theorem", "", kText, "lowrank@layer"},
           {"state.distance", "distance from the network's own hidden states", "‖X' − X‖_F / ‖X‖_F", kPositive,
            "lowrank@layer"},
           {"state.distance.residual", "distance from the network's own states less their token mean",
            "‖res X' − res X‖_F / ‖res X‖_F", kPositive, "lowrank@layer"},
           {"state.products", "products of queries and keys per query", "", kPositive, "lowrank"},
       }},
      {"cost of layers",
       {
           {"layer.seconds", "seconds for one layer", "", kPositive, "layer_costs", "s"},
           {"layer.memory_mb", "memory of one layer in MB", "", kPositive, "layer_costs", "MB"},
           {"layer.gflop", "operations of one layer in GFLOP", "", kPositive, "layer_costs", "GFLOP"},
           {"layer.sequential", "steps of one layer that wait for each other", "", kCount, "layer_costs"},
           {"layer.exponent", "exponent of n in a layer's cost", "fit of log cost over log n", kSigned, "layer_costs"},
           {"mixing.seconds", "seconds for one layer without its projections", "", kPositive, "layer_costs", "s"},
           {"mixing.gflop", "operations of one layer without its projections in GFLOP", "", kPositive, "layer_costs",
            "GFLOP"},
           {"mixing.exponent", "exponent of n in a layer's cost without its projections", "fit of log cost over log n",
            kSigned, "layer_costs"},
       }},
      {"speed",
       {
           {"gflops", "speed in GFLOP/s", "2mnk of all products / time", kPositive, "bench", "GFLOP/s"},
           {"peak_gflops", "this machine's product peak in GFLOP/s", "the same products alone / time", kPositive,
            "bench", "GFLOP/s"},
           {"share_of_peak", "share of this machine's product peak", "GFLOP/s / peak", kShare, "bench"},
           {"memory.peak_mb", "largest memory of the process", "", kPositive, "bench", "MB"},
           {"memory.weights_mb", "memory of the weights in float32", "", kPositive, "bench", "MB"},
       }},
      {"training",
       {
           {"accuracy", "accuracy", "share of right answers", kShare, "train effectiveness"},
           {"loss", "loss", "", kPositive, "train effectiveness circle"},
           {"learning_rate", "learning rate", "", kPositive, "train"},
           {"gradient.*", "norm of the gradient for *", "‖gradient of *‖_F", kPositive, "train@layer", "", kWeights},
       }},
      {"circle",
       {
           {"track.x", "first coordinate of a track", "", kSigned, "circle"},
           {"track.y", "second coordinate of a track", "", kSigned, "circle"},
           {"track.turns", "turns of the tracks about the centre", "sum of angles between xₜ and xₜ₊₁ / 2π", kSigned,
            "circle", "turns"},
           {"distance", "distance between the two tracks", "‖xₜ − yₜ‖", kPositive, "circle"},
           {"distance.left", "share of the distance that remains at the end", "‖x_T − y_T‖ / ‖x₀ − y₀‖", kPositive,
            "circle"},
           {"distance.rate", "factor per step while the distance falls", "geometric mean", kPositive, "circle"},
           {"fall.begins", "step at which the distance begins to fall", "below 0.9 of its start from there on", kCount,
            "circle", "steps"},
           {"fall.steps", "steps from there until the tracks meet", "below 0.01 of the start", kCount, "circle",
            "steps"},
           {"loss.relative", "loss beside that of standing still", "loss / loss of answering with the input", kPositive,
            "circle"},
       }},
      {"published figures",
       {
           {"published.value", "relative residual as published", "", kPositive, "measure@layer"},
           {"published.deviation", "distance from the published value",
            "(published − mean) / deviation over seeds; of one draw, and of counts, the difference", kSigned,
            "measure@layer counts"},
           {"published.agreement", "share of published points that agree", "", kPositive, "measure"},
           {"published.proportion", "share of all paths as published", "", kPositive, "counts"},
           {"published.rank1_remainder.composite", "remainder beside rank 1 as published", "", kPositive, "paths"},
           {"agreement.criterion", "criterion of agreement with a figure", "", kText, "agreement"},
           {"agreement.verdict", "whether a figure agrees, and the value that decides", "", kPositive, "agreement"},
           {"agreement.evidence", "evidence for the verdict", "", kText, "agreement"},
           {"agreement.worst", "largest distance from a figure", "", kPositive, "agreement"},
       }},
      {"audit",
       {
           {"audit.statement", "statement of a claim", "", kText, "audit"},
           {"audit.verdict", "verdict on a claim, and the value that decides", "", kSigned, "audit"},
           {"audit.evidence", "evidence for the verdict", "", kText, "audit"},
           {"audit.stopped", "search that the time limit ended", "", kText, "audit"},
           {"audit.command", "command that repeats the search", "", kText, "audit"},
           {"audit.witness", "file with a counterexample", "", kText, "audit"},
       }},
      {"checks",
       {
           {"parity.*.max", "largest difference in * from the reference", "max |a − b|", kPositive, "parity", "",
            kCompared},
           {"parity.*.median", "median difference in * from the reference", "median |a − b|", kPositive, "parity", "",
            kCompared},
           {"token", "id of a token", "", kCount, "tokens"},
           {"doctor.*", "*", "", kText, "doctor", "", kChecks},
       }},
  };
  return all;
}

std::span<const MetricMembers> metric_member_lists() { return kPlaceholders; }

}  // namespace rankfall
