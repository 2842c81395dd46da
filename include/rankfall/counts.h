#pragma once

#include <span>
#include <string>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/result.h>

namespace rankfall {

// n_layers blocks of n_heads heads, each with a skip connection.
struct Architecture {
  std::string name;
  Index n_layers = 1, n_heads = 1;
};

// The nine architectures of the published Figure 5, and MobileBERT as it was released: 24 layers where the paper counts
// 12.
RANKFALL_API std::vector<Architecture> published_architectures();

// From an input there are C(L,k) H^k paths of length k, of (H+1)^L. Rows by `length`: paths.count (exact),
// paths.proportion, paths.cumulative; without: paths.total (exact), paths.mean_length, paths.mode (two rows if two
// lengths are equally frequent). For architectures of the paper also published.proportion, as drawn, and
// published.deviation, the largest distance. Throws Error(kUsage) for sizes below 1 or numbers too long to print.
RANKFALL_API Result counts(std::span<const Architecture> architectures);

// The same for the network of a model; weights are not read.
RANKFALL_API Architecture architecture_of(const std::string& model);

}  // namespace rankfall
