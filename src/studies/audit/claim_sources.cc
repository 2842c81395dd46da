#include "studies/audit/claim_sources.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace rankfall {
namespace {

constexpr std::string_view kDongProof = "Dong et al. 2021 (2103.03404), proof of Theorem 2.2";
constexpr std::string_view kNote = "a lecture note on the paper of 2021";
constexpr std::string_view kFolklore = "an explanation in circulation; no single source is recorded";

// Of claims that something slows the collapse.
constexpr std::string_view kSlower =
    "a kind of network in which the collapse is faster with it by 3 standard errors (12 seeds, of heads 48); it holds "
    "if the "
    "collapse "
    "is slower by as much in every kind";

constexpr std::array kClaimSources = {
    ClaimSource{"softmax_shift", kDongProof, "an entry that changes by more than 10^-90 in a hundred digits"},
    ClaimSource{"stochastic_product", kDongProof, "a row sum that differs from 1 by more than 10^-90"},
    ClaimSource{"path_sum", "Dong et al. 2021 (2103.03404), Theorem 2.1",
                "a forward pass that differs from the sum over its paths by more than 10^-12 of its norm"},
    ClaimSource{"composite_submultiplicative", kDongProof, "two matrices with |AB| > |A| |B|, in a hundred digits"},
    ClaimSource{"composite_triangle", kDongProof, "two matrices with |A+B| > |A| + |B|, in a hundred digits"},
    ClaimSource{"softmax_perturbation", "Dong et al. 2021 (2103.03404), lemma of the proof, with the condition stated",
                "a row of logits and a change of range at most 1.2564 that leaves the interval"},
    ClaimSource{"softmax_perturbation_any", "Dong et al. 2021 (2103.03404), lemma of the proof, as printed",
                "a row of logits and a change, of any range, that leaves the interval"},
    ClaimSource{"entrywise_step", kDongProof, "an entry of P R above that of (I + 2D) 1 q^T R"},
    ClaimSource{"theorem_2_2", "Dong et al. 2021 (2103.03404), Theorem 2.2",
                "one head whose residual exceeds the bound although its ranges are at most 1.2564"},
    ClaimSource{"heads_add", "Dong et al. 2021 (2103.03404), proof of Theorem 2.3",
                "two heads whose residuals have a sum of larger norm than their norms have"},
    ClaimSource{"theorem_2_3", "Dong et al. 2021 (2103.03404), Theorem 2.3",
                "two heads whose residual exceeds the bound although their ranges are at most 1.2564"},
    ClaimSource{"depth_exponent", "Dong et al. 2021 (2103.03404), Theorems 2.2 and 2.3 over depth",
                "a local exponent at layer 8 that differs from 3 by 0.01 or more"},
    ClaimSource{"claim_3_1", "Dong et al. 2021 (2103.03404), Claim 3.1",
                "a residual that changes although attention adds nothing (W_V = 0)"},
    ClaimSource{"corollary_3_2", "Dong et al. 2021 (2103.03404), Corollary 3.2",
                "a network with MLPs whose residual exceeds the bound where the conditions are met"},
    ClaimSource{"layer_norm_rate", "Dong et al. 2021 (2103.03404), section on LayerNorm",
                "an exponent that LayerNorm changes by 0.01, or a fall per layer that differs from sqrt(1 - 2/d) by 5 "
                "standard errors"},
    ClaimSource{"residual_below_one", "Dong et al. 2021 (2103.03404), condition of Theorem 2.2 over depth",
                "a network that loses 10 powers of ten of its residual in six layers without the condition"},
    ClaimSource{"low_rank_softmax", kFolklore,
                "attention of full rank that collapses, and attention of low rank that keeps the tokens apart"},
    ClaimSource{"number_of_paths", kFolklore,
                "most paths having less than 0.01 of the output's residual, and the single one of length 0 more than "
                "0.1"},
    ClaimSource{"lecture_note_order_and_softmax", kNote,
                "products in the two orders that differ by 10^-3, and row sums off by 10^-3"},
    ClaimSource{"johnson_lindenstrauss", "Wang et al. 2020 (Linformer, 2006.04768), Theorem 1",
                "more than half of the random trials beyond eps |P w|"},
    ClaimSource{"affine_rank_not_raised",
                "Cirrincione 2026 (2604.23681), abstract: LayerNorm preserves the affine rank",
                "tokens whose affine rank is larger after LayerNorm than before"},
    ClaimSource{"affine_rank_not_lowered",
                "Cirrincione 2026 (2604.23681), abstract: LayerNorm preserves the affine rank",
                "tokens whose affine rank is smaller after LayerNorm than before"},
    ClaimSource{"residual_difference", "Alman, Song 2025 (2505.16284), Lemma 4.1",
                "two matrices whose residuals differ by more in an entry than they do"},
    ClaimSource{"residual_difference_sharp", "ours, in place of Lemma 4.1 of Alman, Song 2025 (2505.16284)",
                "two matrices beyond 2 (1 - 1/n), in a hundred digits"},
    ClaimSource{"lambda_skip", "Arangath Joseph et al. 2024 (2410.10609), Theorem 4.1, quoted at second hand",
                "a row-stochastic M, a W_V and a lambda that meet the condition and keep less of the residual"},
    ClaimSource{
        "attention_scaling", "Chen, Lin, Polyanskiy et al. 2025 (2510.05554)",
        "a layer of the engine that differs from the formula by 10^-14 n, the rounding of its sums over n channels"},
    ClaimSource{
        "skips_alone",
        "Dong et al. 2021 (2103.03404), abstract, taken at its word for skips: skips and MLPs stop the degeneration",
        "a network with skips and no MLPs that loses nine tenths of its relative residual in 64 blocks, and "
        "still falls in the later 32 by 5 standard errors"},
    ClaimSource{"mlps_slow", "Dong et al. 2021 (2103.03404), introduction: MLPs can slow down the convergence",
                kSlower},
    ClaimSource{"layer_norm_no_role",
                "the hypothesis that Wu et al. 2024 (2405.18781) refute for pure attention, read for whole networks",
                "a kind of network in which the norm changes the fall per layer by 5 standard errors (12 seeds)"},
    ClaimSource{"heads_slow", "read off Theorem 2.3 of Dong et al. 2021 (2103.03404), whose bound grows with H",
                kSlower},
    ClaimSource{"width_slows", "folklore; beta in the bounds of Dong et al. 2021 (2103.03404) grows with the width",
                kSlower},
    ClaimSource{"masks_slow", "Wu et al. 2024 (2405.18781), abstract: sparse or local masks slow the collapse",
                kSlower},
    ClaimSource{"masks_slow_with_skips", "the same, read as a statement about whole networks", kSlower},
    ClaimSource{"short_paths", "Dong et al. 2021 (2103.03404), on paths: an ensemble of shallow networks",
                "random networks whose paths through at most half of the blocks have a share of the output's residual "
                "that is further than a half from one"},
};

}  // namespace

const ClaimSource& source_of(std::string_view claim) {
  const auto* found = std::ranges::find(kClaimSources, claim, &ClaimSource::claim);
  if (found == kClaimSources.end()) throw std::logic_error("no source of the claim " + std::string(claim));
  return *found;
}

}  // namespace rankfall
