#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/errors.h"
#include "base/suggestion.h"
#include <rankfall/variants.h>

namespace rankfall {
namespace {

bool is_mlp(const Branch& branch) { return std::holds_alternative<Mlp>(branch.f); }

// Whether the skip is that of an MLP. Where attention stands beside it, the one skip of both counts as attention's.
bool is_mlp_skip(const SubLayer& layer) { return layer.with<Mlp>() && !layer.attention(); }

// Norms without statistics normalise nothing, and stay.
bool is_norm(const std::optional<Norm>& norm) { return norm && norm->kind != Norm::Kind::kAffine; }

void remove_norm(std::optional<Norm>& norm) {
  if (is_norm(norm)) norm.reset();
}

struct NamedPart {
  std::string_view name;
  bool Parts::*flag;
};
constexpr NamedPart kParts[] = {
    {"attn_skip", &Parts::attn_skip}, {"mlp", &Parts::mlp}, {"mlp_skip", &Parts::mlp_skip}, {"norm", &Parts::norm}};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Parts parts_of(PaperVariant variant) {
  const bool no_skip = variant == PaperVariant::kSan || variant == PaperVariant::kSanMlp;
  const bool no_mlp = variant == PaperVariant::kSan || variant == PaperVariant::kSanSkip;
  return {.attn_skip = no_skip, .mlp = no_mlp};
}

}  // namespace

Network without(Network network, const Parts& parts) {
  if (parts.mlp) {
    for (SubLayer& layer : network.layers) std::erase_if(layer.branches, is_mlp);
    std::erase_if(network.layers, [](const SubLayer& layer) { return layer.branches.empty(); });
  }
  for (SubLayer& layer : network.layers) {
    if (parts.attn_skip && layer.attention()) layer.skip = 0;
    if (parts.mlp_skip && is_mlp_skip(layer)) layer.skip = 0;
    if (!parts.norm) continue;
    remove_norm(layer.post);
    for (Branch& branch : layer.branches) {
      remove_norm(branch.in);
      remove_norm(branch.out);
    }
  }
  return network;
}

Network as_published(Network network, PaperVariant variant) {
  const Parts parts = parts_of(variant);
  if (network.family == "bert" || network.family == "xlnet") return without(std::move(network), parts);
  if (network.family != "albert") {
    throw usage_error(
        "variants as published: the model's family is '{}'; the published figures know "
        "bert, albert and xlnet only",
        network.family);
  }
  // ALBERT's ffn and ffn_output became identities; the activation, the MLP's skip and its norm stayed.
  if (parts.mlp) {
    for (SubLayer& layer : network.layers) {
      for (Branch& branch : layer.branches) {
        if (const auto* mlp = std::get_if<Mlp>(&branch.f)) branch.f = Elementwise{mlp->act};
      }
    }
  }
  return without(std::move(network), {.attn_skip = parts.attn_skip});
}

Network repeat(const Network& network, Index times) {
  Network repeated = network;
  for (Index r = 1; r < times; ++r) {
    for (SubLayer layer : network.layers) {
      layer.block += r * network.sizes.n_blocks;
      repeated.layers.push_back(layer);
    }
  }
  repeated.sizes.n_blocks = network.sizes.n_blocks * std::max<Index>(times, 1);
  return repeated;
}

Network with_depth(const Network& network, Index n_blocks) {
  const Index before = std::max<Index>(network.sizes.n_blocks, 1);
  Network deep = repeat(network, (n_blocks + before - 1) / before);
  std::erase_if(deep.layers, [&](const SubLayer& layer) { return layer.block >= n_blocks; });
  deep.sizes.n_blocks = std::min(deep.sizes.n_blocks, n_blocks);
  return deep;
}

Network apply(const Variant& variant, Network network) {
  network = variant.as_published ? as_published(std::move(network), variant.paper)
                                 : without(std::move(network), variant.removed);
  return variant.attention ? with_attention(std::move(network), *variant.attention) : network;
}

std::vector<Variant> with_attentions(const std::vector<Variant>& variants,
                                     const std::vector<AttentionChoice>& choices) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (choices[i].weights != choices[j].weights || choices[i].mask != choices[j].mask) continue;
      throw usage_error(choices[i].name == choices[j].name
                            ? fmt::format("attention {} is given twice", choices[i].name)
                            : fmt::format("attention {} is the same as {}", choices[i].name, choices[j].name));
    }
  }
  std::vector<Variant> out;
  out.reserve(variants.size() * choices.size());
  for (const AttentionChoice& choice : choices) {
    for (Variant variant : variants) {
      if (choice.weights || choice.mask) variant.name += " " + choice.name;
      variant.attention = choice;
      out.push_back(std::move(variant));
    }
  }
  return out;
}

Variant variant_without(std::string_view parts) {
  Variant variant;
  for (const std::string_view part : split(parts, ',')) {
    const auto* found = std::ranges::find(kParts, part, &NamedPart::name);
    if (found == std::end(kParts)) {
      throw usage_error("unknown part '{}', expected attn_skip, mlp, mlp_skip or norm{}", part,
                        did_you_mean(part, {"attn_skip", "mlp", "mlp_skip", "norm"}));
    }
    if (std::exchange(variant.removed.*found->flag, true)) throw usage_error("part '{}' is named twice", part);
  }
  for (const NamedPart& part : kParts) {
    if (variant.removed.*part.flag) variant.name += fmt::format("{}-{}", variant.name.empty() ? "" : ",", part.name);
  }
  return variant;
}

Variant variant_named(std::string_view name) {
  const auto labelled = [&](Parts parts) { return Variant{.name = std::string(name), .removed = parts}; };
  if (name == "full") return labelled({});
  if (name == "san") return labelled({.attn_skip = true, .mlp = true});
  if (name == "san+mlp") return labelled({.attn_skip = true, .mlp_skip = true});
  if (name == "san+skip") return labelled({.mlp = true});
  if (name == "no-norm") return labelled({.norm = true});
  throw usage_error("unknown variant '{}', expected full, san, san+mlp, san+skip or no-norm{}", name,
                    did_you_mean(name, {"full", "san", "san+mlp", "san+skip", "no-norm"}));
}

std::vector<Variant> paper_variants(bool as_published) {
  std::vector<Variant> variants;
  for (const auto& [name, paper] :
       {std::pair("full", PaperVariant::kFull), std::pair("san", PaperVariant::kSan),
        std::pair("san+mlp", PaperVariant::kSanMlp), std::pair("san+skip", PaperVariant::kSanSkip)}) {
    Variant& variant = variants.emplace_back(variant_named(name));
    variant.as_published = as_published;
    variant.paper = paper;
  }
  return variants;
}

Parts parts_of(const Network& network) {
  Parts parts;
  for (const SubLayer& layer : network.layers) {
    parts.attn_skip = parts.attn_skip || (layer.attention() && layer.skip != 0);
    parts.mlp = parts.mlp || layer.with<Mlp>();
    parts.mlp_skip = parts.mlp_skip || (is_mlp_skip(layer) && layer.skip != 0);
    parts.norm = parts.norm || is_norm(layer.post);
    for (const Branch& branch : layer.branches) parts.norm = parts.norm || is_norm(branch.in) || is_norm(branch.out);
  }
  return parts;
}

std::vector<Variant> ablations(const Parts& parts) {
  std::vector<Variant> variants = {variant_named("full")};
  std::string all;
  int n_removed = 0;
  const auto remove = [&](bool has, std::string_view part, bool with_all) {
    if (!has) return;
    variants.push_back(variant_without(part));
    if (!with_all) return;
    all += (all.empty() ? "" : ",") + std::string(part);
    ++n_removed;
  };
  remove(parts.attn_skip, "attn_skip", true);
  remove(parts.mlp, "mlp", true);
  remove(parts.mlp_skip, "mlp_skip", false);  // goes with the MLP
  remove(parts.norm, "norm", true);
  if (n_removed > 1) variants.push_back(variant_without(all));
  return variants;
}

}  // namespace rankfall
