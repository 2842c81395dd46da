#include "engine/memory.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/machine.h"
#include "engine/dense/attention.h"
#include "engine/layer_weights.h"
#include "network/attention/kind.h"
#include <rankfall/error.h>
#include <rankfall/process.h>

namespace rankfall {
namespace {

double elements(const TensorSlice& slice) { return static_cast<double>(slice.rows) * static_cast<double>(slice.cols); }

double layer_weights(const SubLayer& layer) {
  double n = 0;
  for (const TensorSlice& slice : slices_of(layer)) n += elements(slice);
  return n;
}

// Random numbers that stay while all samples go through the sub-layer.
double layer_draws(const SubLayer& layer, Index n_tokens) {
  const Attention* a = layer.attention();
  return a ? static_cast<double>(a->n_heads) * static_cast<double>(kind_of(a->weights).n_drawn(*a, n_tokens)) : 0;
}

// Scalars alive at once while one sample goes through the sub-layer.
double working_set(const Branch& branch, double n_tokens, double d_model) {
  double n = 0;
  if (const auto* attention = std::get_if<Attention>(&branch.f)) {
    const double width = static_cast<double>(attention->n_heads * attention->d_head);
    n += 4 * n_tokens * width;
    const bool thin = is_low_rank(attention->weights);
    const bool tiled = n_tokens > static_cast<double>(kTiledAbove);
    n += 3 * static_cast<double>(kQueryRows) * (tiled && !thin ? static_cast<double>(kTileKeys) : n_tokens);
    // Two thin matrices, and up to three of doubles that they are made from.
    const double width_of_thin = static_cast<double>(thin_width(attention->weights, static_cast<Index>(n_tokens)));
    n += 8 * width_of_thin * (n_tokens + static_cast<double>(attention->d_head));
    if (std::holds_alternative<XlnetPositions>(attention->positions)) n += 2 * n_tokens * (width + d_model);
  } else if (const auto* mlp = std::get_if<Mlp>(&branch.f)) {
    n += n_tokens * static_cast<double>(mlp->up.n_out() * (mlp->gate ? 2 : 1));
  }
  return n;
}

// States, of which the branches before the last keep their sum, and the widest branch.
double working_set(const SubLayer& layer, double n_tokens, double d_model) {
  double widest = 0;
  for (const Branch& branch : layer.branches) widest = std::max(widest, working_set(branch, n_tokens, d_model));
  return widest + (layer.branches.size() > 1 ? 4 : 3) * n_tokens * d_model;
}

}  // namespace

double memory_needed(const Network& network, const MemoryPlan& plan) {
  const double n = static_cast<double>(plan.n_tokens);
  const double d = static_cast<double>(network.sizes.d_model);
  const double scalar = plan.precision == Precision::kF32 ? sizeof(float) : sizeof(double);
  double widest = 0;
  double weights = 0;
  double all_weights = 0;
  std::set<std::tuple<int, Index, Index>> counted;  // tensors that blocks share lie in memory once
  for (const SubLayer& layer : network.layers) {
    widest = std::max(widest, working_set(layer, n, d));
    weights = std::max(weights, layer_weights(layer) + layer_draws(layer, plan.n_tokens));
    for (const TensorSlice& slice : slices_of(layer)) {
      if (counted.insert({slice.tensor, slice.row, slice.col}).second) all_weights += elements(slice);
    }
  }
  const double kept = plan.drawn ? std::max(std::min(all_weights * 4, 4.0 * (1 << 30)), weights * 4) : 0;
  const double states = static_cast<double>(plan.n_samples) * n * (d + 1);
  const double whole = plan.whole_attention ? n * n * (scalar + 2 * sizeof(double)) * threads() : 0;
  const double of_study = n * (plan.kept_attention * n + plan.kept_states * d) * sizeof(double) + plan.kept_bytes;
  return (states + widest * threads() + 2 * weights) * scalar + kept + whole + of_study;
}

void check_memory(double needed, const std::string& what, const std::string& advice) {
  const MemoryLimits limits = memory_limits();
  const double present = static_cast<double>(limits.allowed());
  if (needed <= present) return;
  // A command that no such machine can run is at fault itself; what a limit forbids may be done without the limit.
  const bool limited = needed <= static_cast<double>(limits.physical);
  throw Error(
      limited ? ErrorKind::kNumerical : ErrorKind::kUsage,
      fmt::format("{}{} need about {:.1f} GB of memory; {} {:.1f} GB. {}", limited ? "out of memory: " : "", what,
                  needed / 1e9, limited ? "this process may have (ulimit -v, or its container)" : "this machine has",
                  (limited ? present : static_cast<double>(limits.physical)) / 1e9, advice));
}

void check_memory(const Network& network, const MemoryPlan& plan) {
  check_memory(memory_needed(network, plan),
               fmt::format("{} samples of {} tokens{}", plan.n_samples, plan.n_tokens,
                           plan.whole_attention ? ", with whole attention matrices," : ""),
               "Fewer samples or tokens (InputOptions::n_samples, InputOptions::n_tokens) or a smaller model fit");
}

void check_memory(const Model& model, std::span<const Variant> variants, MemoryPlan plan) {
  plan.drawn = model.drawn;
  for (const Variant& variant : variants) check_memory(apply(variant, model.network), plan);
}

}  // namespace rankfall
