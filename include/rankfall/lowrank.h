#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/input.h>
#include <rankfall/model.h>
#include <rankfall/process.h>
#include <rankfall/result.h>
#include <rankfall/variants.h>

namespace rankfall {

struct Sample;

struct LowrankOptions {
  bool spectra = true;   // singular values of every P
  bool scaling = true;   // the second singular value against the number of tokens
  bool sketches = true;  // Johnson-Lindenstrauss: P R^T R w for P w
  bool kinds = true;     // how far other kinds of attention lead away

  std::vector<Variant> variants;           // empty: full
  std::vector<double> eps = {0.1, 0.01};   // numerical rank counts singular values above eps sigma_1
  std::vector<AttentionChoice> attention;  // kinds to compare with; empty: each, with about n/4 products per query
  Index block = 0;                         // whose P lengths are about
  std::vector<Index> lengths = {64, 128, 256, 512, 1024, 2048, 4096};  // ascending
  double sketch_eps = 0.5;                                             // the eps of Johnson-Lindenstrauss
  double failure = 0.05;                                               // a k suffices where no more than this fails
  Index n_trials = 1000;  // draws of R for each length, in equal parts over heads
  std::uint64_t seed = 0;
  InputOptions input;

  Progress progress;
};

// Low rank of attention, and what cheaper attention does (math.md 5, docs/attention.md). All in double.
//
// Of every P, by block (`layer`) and `head`, means over samples; tokens that are padding are left out:
//   attention.entropy, .sigma1, .sigma2, .gap = 1 - sigma2 / sigma1, .rank.stable, .rank.effective
//   attention.singular of rank `k`, attention.energy = share of |P|_F^2 in the first k
//   attention.rank.numerical with the kind "eps=0.1": number of singular values above eps sigma_1
//   attention.singular.error: no value given is off by more; only of samples above 1,024 tokens, whose leading values
//   come from a Krylov space. Counts are then lower bounds: status kAtLeast.
// Against the number of `tokens`, of one block's heads, by `kind`: "model", the states that enter the first block of
// random inputs or of those given, put side by side; "independent", softmax of independent normal logits as large as
// the model's, the matrices of the theorem sigma_2 = O(n^-1/2):
//   scaling.sigma2 means over heads, scaling.logit_std, scaling.exponent of n in sigma2, its standard error as std
// Johnson-Lindenstrauss, R: k x n with entries N(0, 1/k), by `tokens` and `kind` of w: "values", X W_V a of a head
// for a Gaussian a, "gaussian", "mean_free"; every draw has its own w and R. `claim` "relative":
// |P R^T R w - P w| <= eps |P w|; "norms": <= eps |P|_F |w|:
//   jl.failure rate at `k`; jl.failure.low and .high, its interval of 95 % (Clopper and Pearson), given the network and
//   its inputs
//   jl.k_claimed = 5 ln n / (eps^2 - eps^3), of every claim and kind; jl.k_needed: the smallest that suffices; status
//   kNoSaving where k >= n, kNotFound above what was tried. jl.growth: the exponent of n in k_needed, and in words
//   which of 1, log n, log^2 n, n fits best jl.statement: what is true of the theorem, in words
// Of other kinds of attention, `variant` being the kind, by hidden state:
//   state.products, without layer: products of a query with keys or what stands for them, mean over tokens and samples
//   (of linformer k, of nystrom and performer m): kinds can be compared where these are about equal
//   state.distance = |X' - X|_F / |X|_F, state.distance.residual: the same of X less its token mean, where there is
//   more of it than rounding a kind that does not fit the model has one row without layer, status kRefused
RANKFALL_API Result lowrank(std::span<const std::string> models, const LowrankOptions& options);

// The same for one open model and given samples; seed counts for what is drawn here, input is not used.
RANKFALL_API Result lowrank(const Model& model, std::span<const Sample> samples, const LowrankOptions& options);

}  // namespace rankfall
