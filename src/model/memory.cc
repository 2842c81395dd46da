#include "model/memory.h"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "model/dense.h"
#include "model/layer_weights.h"
#include <rankfall/error.h>
#include <rankfall/parallel.h>

namespace rankfall {
namespace {

double elements(const TensorSlice& slice) { return static_cast<double>(slice.rows) * static_cast<double>(slice.cols); }

double layer_weights(const SubLayer& layer) {
  double n = 0;
  for (const TensorSlice& slice : slices_of(layer)) n += elements(slice);
  return n;
}

// Scalars alive at once while one sample goes through the sub-layer.
double working_set(const SubLayer& layer, double n_tokens, double d_model) {
  double n = 3 * n_tokens * d_model;
  if (const auto* attention = std::get_if<Attention>(&layer.f)) {
    n += n_tokens * static_cast<double>(4 * attention->n_heads * attention->d_head);
    n += static_cast<double>(kQueryRows) * n_tokens * 3;
  } else if (const auto* mlp = std::get_if<Mlp>(&layer.f)) {
    n += n_tokens * static_cast<double>(mlp->up.n_out() * (mlp->gate ? 2 : 1));
  }
  return n;
}

}  // namespace

double memory_needed(const Network& network, Index n_samples, Index n_tokens, std::size_t scalar_bytes) {
  const double n = static_cast<double>(n_tokens);
  const double d = static_cast<double>(network.sizes.d_model);
  double widest = 0;
  double weights = 0;
  double all_weights = 0;
  for (const SubLayer& layer : network.layers) {
    widest = std::max(widest, working_set(layer, n, d));
    weights = std::max(weights, layer_weights(layer));
    all_weights += layer_weights(layer);
  }
  const double kept = std::max(std::min(all_weights * 4, 4.0 * (1 << 30)), weights * 4);
  const double states = static_cast<double>(n_samples) * n * (d + 1);
  return (states + widest * threads() + 2 * weights) * static_cast<double>(scalar_bytes) + kept;
}

void check_memory(const Network& network, Index n_samples, Index n_tokens, std::size_t scalar_bytes) {
  const double needed = memory_needed(network, n_samples, n_tokens, scalar_bytes);
  const double present = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed <= present) return;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("{} samples of {} tokens need about {:.1f} GB of memory; this machine has {:.1f} GB. Fewer samples "
                  "or tokens (--samples, --tokens) or a smaller model fit",
                  n_samples, n_tokens, needed / 1e9, present / 1e9));
}

}  // namespace rankfall
