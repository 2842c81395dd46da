#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <rankfall/matrix.h>
#include <rankfall/network.h>
#include <rankfall/variants.h>

namespace rankfall {

// One kind of attention: its text, its cost, and what it needs beside queries and keys. Defaults are those of a softmax
// over all keys. To add a kind, define one of these in a file of its own and add it to the table below; its arithmetic
// is new only if neither HeadScores (model/attention.h) nor LowRankHead can do it.
struct AttentionKind {
  struct Key {
    const char* name = nullptr;
    std::int64_t by_default = 0, least = 0, most = 1 << 20;
    bool is_power_of_two = false;
  };
  using Values = std::array<std::int64_t, 5>;  // in the order of the keys
  // Growth with n tokens of width d, without projections: w, g (global) and r (random) of masks, k and m of thin
  // matrices.
  struct Theory {
    const char* time;
    const char* memory;
    const char* time_with_global = nullptr;  // where it differs
  };
  // About `products` products for each query of n_tokens.
  struct Budget {
    Index products, n_tokens;
    bool causal;
  };

  const char* name;
  std::array<Key, 5> keys = {};

  AttentionChoice (*make)(const Values& values);  // its name is not set
  // Of this kind are weights of the same type, with masks that `masked` accepts.
  AttentionWeights weights = SoftmaxWeights{};
  bool (*masked)(const Mask& mask) = [](const Mask&) { return true; };
  // Texts of this kind that keep to a budget.
  std::vector<std::string> (*within)(const Budget& budget);
  Theory theory = {"O(n^2 d)", "O(n d)"};  // P in tiles

  // P is a product of n x k and k x n. Its factors come from products of queries and keys alone.
  bool is_low_rank = false;
  bool keeps_causality = true;
  bool has_middle = false;  // a k x k matrix between the two
  Index (*thin_width)(const AttentionWeights& weights, Index n_tokens) = [](const auto&, Index) { return Index{0}; };
  // Products of a query with what stands for the keys; null: k.
  Index (*products)(const AttentionWeights& weights, Index n_tokens) = nullptr;
  // Whether rows of P are distributions, or zero where a token sees nothing.
  bool (*has_distributions)(const AttentionWeights& weights) = [](const auto&) { return true; };
  // The random numbers of a head, and their number. They depend on seed, block and head; fewer tokens have the
  // beginning of the same matrix.
  Matrix<double> (*draw)(const Attention& attention, const DrawnFor& at,
                         Index n_tokens) = [](const auto&, const auto&, Index) { return Matrix<double>(); };
  Index (*n_drawn)(const Attention& attention, Index n_tokens) = [](const auto&, Index) { return Index{0}; };
};

// The table: each kind in its own file, in the order of help texts.
extern const AttentionKind kFullKind, kGaussianKind, kLinformerKind, kNystromKind, kPerformerKind, kWindowKind,
    kBigbirdKind;
inline constexpr std::array<const AttentionKind*, 7> kAttentionKinds = {
    &kFullKind, &kGaussianKind, &kLinformerKind, &kNystromKind, &kPerformerKind, &kWindowKind, &kBigbirdKind};

// Of weights as they are in a network; the mask decides between kinds of softmax.
const AttentionKind& kind_of(const AttentionWeights& weights, const Mask& mask = {});

inline bool is_low_rank(const AttentionWeights& weights) { return kind_of(weights).is_low_rank; }
inline bool has_distributions(const AttentionWeights& weights) { return kind_of(weights).has_distributions(weights); }
inline Index thin_width(const AttentionWeights& weights, Index n_tokens) {
  return kind_of(weights).thin_width(weights, n_tokens);
}
inline Matrix<double> drawn_matrix(const Attention& attention, Index block, Index head, Index n_tokens) {
  return kind_of(attention.weights).draw(attention, {block, head}, n_tokens);
}

// "full, window and bigbird": the kinds whose P is a softmax of logits.
std::string softmax_kinds();

// N(0, 1), different for each block, head and purpose.
Matrix<double> head_normals(std::uint64_t seed, const DrawnFor& at, const char* purpose, Index rows, Index cols);

// The window with which a mask comes closest to a budget of keys.
Index fitted_window(Mask mask, const AttentionKind::Budget& budget);

}  // namespace rankfall
