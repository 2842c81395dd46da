#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <rankfall/network.h>

namespace rankfall {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

const char* norm_name(const Norm& norm) {
  switch (norm.kind) {
    case Norm::Kind::kLayer:
      return "LayerNorm";
    case Norm::Kind::kRms:
      return "RMSNorm";
    case Norm::Kind::kAffine:
      return "affine";
  }
  return "norm";
}

const char* activation_name(Activation activation) {
  switch (activation) {
    case Activation::kIdentity:
      return "identity";
    case Activation::kRelu:
      return "relu";
    case Activation::kGelu:
      return "gelu";
    case Activation::kGeluTanh:
      return "gelu (tanh)";
    case Activation::kGeluFast:
      return "gelu (fast)";
    case Activation::kGeluBloom:
      return "gelu (bloom)";
    case Activation::kSilu:
      return "silu";
    case Activation::kTanh:
      return "tanh";
  }
  return "activation";
}

std::string normed(const std::optional<Norm>& norm, const std::string& text) {
  return norm ? fmt::format("{}({})", norm_name(*norm), text) : text;
}

const char* function_name(const Function& f) {
  return std::visit(Overloaded{[](const Attention&) { return "attention"; }, [](const Mlp&) { return "mlp"; },
                               [](const Elementwise& e) { return activation_name(e.act); }},
                    f);
}

// "" for 1, "0.5 " otherwise.
std::string factor(double value) { return value == 1 ? "" : fmt::format("{:.4g} ", value); }

std::string mask_words(const Mask& mask) {
  std::string words = mask.causal ? "causal" : "all keys";
  if (mask.window > 0) words += fmt::format(", window {}", mask.window);
  if (mask.global > 0) words += fmt::format(", {} global", mask.global);
  if (mask.random > 0) words += fmt::format(", {} random blocks", mask.random);
  return words;
}

std::string position_words(const Positions& positions) {
  return std::visit(
      Overloaded{[](const NoPositions&) { return std::string(); },
                 [](const XlnetPositions&) { return std::string(", relative positions (XLNet)"); },
                 [](const T5Positions&) { return std::string(", relative bias (T5)"); },
                 [](const RotaryPositions& rotary) { return fmt::format(", rotary base {:.6g}", rotary.base); },
                 [](const AlibiPositions&) { return std::string(", ALiBi"); }},
      positions);
}

std::string weights_words(const AttentionWeights& weights) {
  return std::visit(Overloaded{[](const SoftmaxWeights&) { return std::string(); },
                               [](const GaussianWeights&) { return std::string(", gaussian"); },
                               [](const LinformerWeights& w) { return fmt::format(", linformer k={}", w.k); },
                               [](const NystromWeights& w) { return fmt::format(", nystrom m={}", w.landmarks); },
                               [](const FeatureWeights& w) { return fmt::format(", performer m={}", w.features); }},
                    weights);
}

std::string words_of(const Attention& a) {
  std::string text = fmt::format("{} heads of {}", a.n_heads, a.d_head);
  if (a.n_kv_heads != a.n_heads) text += fmt::format(", {} for keys and values", a.n_kv_heads);
  text += ", " + mask_words(a.mask) + position_words(a.positions) + weights_words(a.weights);
  if (a.q_norm || a.k_norm) text += ", queries and keys normed";
  if (a.soft_cap > 0) text += fmt::format(", logits capped at {:g}", a.soft_cap);
  return text;
}

std::string words_of(const Mlp& mlp) {
  return fmt::format("{}{}, {} wide", mlp.gate ? "gated " : "", activation_name(mlp.act), mlp.up.n_out());
}

std::string branch_words(const SubLayer& layer) {
  std::vector<std::string> words;
  for (const Branch& branch : layer.branches) {
    std::visit(Overloaded{[&](const Attention& a) { words.push_back(words_of(a)); },
                          [&](const Mlp& m) { words.push_back(words_of(m)); }, [](const Elementwise&) {}},
               branch.f);
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

std::string input_words(const InputMap& input) {
  std::string text =
      std::visit(Overloaded{[](const TokenInput& t) {
                              return std::string("tokens") + (t.positions ? " + positions" : "") +
                                     (t.segments ? " + segments" : "") + (t.projection ? ", projected" : "");
                            },
                            [](const FeatureInput& f) { return fmt::format("{} features per token", f.n_features); },
                            [](const PatchInput& p) {
                              return fmt::format("{0} x {0} pixels in patches of {1} x {1}", p.image, p.patch);
                            }},
                 input.source);
  for (const auto& stage : input.stages) {
    text += std::visit(Overloaded{[](const Linear& l) { return fmt::format(", linear to {}", l.n_out()); },
                                  [](const Norm& n) { return fmt::format(", {}", norm_name(n)); },
                                  [](const Activation& a) { return fmt::format(", {}", activation_name(a)); },
                                  [](const Factor& f) { return fmt::format(", times {:.6g}", f.value); }},
                       stage);
  }
  return text;
}

std::vector<std::string> block_lines(const Network& network, std::size_t& layer) {
  std::vector<std::string> lines;
  const Index block = network.layers[layer].block;
  for (; layer < network.layers.size() && network.layers[layer].block == block; ++layer) {
    const SubLayer& l = network.layers[layer];
    lines.push_back(fmt::format("  {:<44} {}", formula(l), branch_words(l)));
    while (lines.back().ends_with(' ')) lines.back().pop_back();
  }
  return lines;
}

}  // namespace

std::string formula(const SubLayer& layer) {
  std::string sum = layer.skip == 0 ? "" : factor(layer.skip) + "x";
  for (const Branch& branch : layer.branches) {
    const std::string inner = fmt::format("{}({})", function_name(branch.f), normed(branch.in, "x"));
    if (!sum.empty()) sum += branch.scale < 0 ? " - " : " + ";
    sum += factor(std::abs(branch.scale)) + normed(branch.out, inner);
  }
  return "y = " + normed(layer.post, sum.empty() ? "0" : sum);
}

std::string describe(const Network& network) {
  const Sizes& sizes = network.sizes;
  std::string text =
      fmt::format("{}: {} blocks, {} heads, width {}", network.family, sizes.n_blocks, sizes.n_heads, sizes.d_model);
  if (sizes.vocab > 0) text += fmt::format(", vocabulary {}", sizes.vocab);
  if (sizes.max_positions > 0) text += fmt::format(", at most {} tokens", sizes.max_positions);
  text += "\ninput: " + input_words(network.input);
  std::size_t layer = 0;
  while (layer < network.layers.size()) {
    const Index first = network.layers[layer].block;
    Index last = first;
    const std::vector<std::string> lines = block_lines(network, layer);
    while (layer < network.layers.size()) {  // blocks that are alike are described once
      std::size_t next = layer;
      const Index block = network.layers[layer].block;
      if (block_lines(network, next) != lines) break;
      last = block;
      layer = next;
    }
    text += first == last ? fmt::format("\nblock {}", first) : fmt::format("\nblocks {} to {}", first, last);
    for (const std::string& line : lines) text += "\n" + line;
  }
  if (network.final_norm) text += fmt::format("\nfinal: {}", norm_name(*network.final_norm));
  if (network.head) text += fmt::format("\nhead: linear to {}", network.head->n_out());
  return text;
}

}  // namespace rankfall
