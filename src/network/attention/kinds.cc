#include <algorithm>
#include <bit>
#include <span>

#include <fmt/format.h>

#include "base/errors.h"
#include "base/mapped.h"
#include "base/parse_number.h"
#include "base/random.h"
#include "base/suggestion.h"
#include "io/utf8.h"
#include "network/attention/kind.h"

namespace rankfall {
namespace {

std::span<const AttentionKind::Key> keys_of(const AttentionKind& kind) {
  const auto n = std::ranges::count_if(kind.keys, [](const auto& key) { return key.name != nullptr; });
  return std::span(kind.keys).first(static_cast<std::size_t>(n));
}

// The kind's text with all keys and their defaults.
std::string described(const AttentionKind& kind) {
  std::string out = kind.name;
  for (const auto& key : keys_of(kind)) {
    out += fmt::format("{}{}={}", &key == kind.keys.data() ? ':' : ',', key.name, key.by_default);
  }
  return out;
}

void read_value(std::string_view text, const AttentionKind& kind, std::string_view item, AttentionKind::Values& values,
                std::array<bool, 5>& given) {
  const auto equals = item.find('=');
  const auto keys = keys_of(kind);
  const auto key = std::ranges::find(keys, item.substr(0, equals), &AttentionKind::Key::name);
  if (key == keys.end() || equals == std::string_view::npos) {
    throw usage_error("attention {}: {}, expected {}", in_quotes(text), in_quotes(item), described(kind));
  }
  const auto at = static_cast<std::size_t>(key - keys.begin());
  if (given.at(at)) throw usage_error("attention {}: '{}' is given twice", in_quotes(text), key->name);
  given.at(at) = true;
  const std::string_view number = item.substr(equals + 1);
  const auto parsed = parse_number<std::int64_t>(number);
  if (!parsed || *parsed < key->least || *parsed > key->most) {
    throw usage_error("attention {}: {}={}, expected a number from {} to {}", in_quotes(text), key->name,
                      in_quotes(number), key->least, key->most);
  }
  const std::int64_t value = *parsed;
  if (key->is_power_of_two && !std::has_single_bit(static_cast<std::uint64_t>(value))) {
    throw usage_error("attention {}: {}={}, expected a power of two", in_quotes(text), key->name, value);
  }
  values.at(at) = value;
}

// "a, b and c", of the names of the kinds that `fits` accepts.
std::string names_where(const auto& fits) {
  std::vector<std::string> names;
  for (const AttentionKind* kind : kAttentionKinds) {
    if (fits(*kind)) names.emplace_back(kind->name);
  }
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

void check_fits(const Attention& attention, const AttentionChoice& choice) {
  if (!choice.weights) return;
  const AttentionKind& chosen = kind_of(*choice.weights);
  if (attention.soft_cap > 0 && !std::holds_alternative<SoftmaxWeights>(*choice.weights)) {
    throw usage_error("attention {}: the model caps its logits, which this kind has no place for", choice.name);
  }
  if (!chosen.is_low_rank) return;
  if (attention.mask.window > 0) {
    throw usage_error("attention {}: the model has a window, which a product of thin matrices cannot keep",
                      choice.name);
  }
  if (attention.mask.causal && !chosen.keeps_causality) {
    throw usage_error("attention {}: the model is causal, and this kind mixes all tokens, later ones too; {} fit",
                      choice.name, names_where([](const AttentionKind& kind) { return kind.keeps_causality; }));
  }
  if (!std::holds_alternative<NoPositions>(attention.positions) &&
      !std::holds_alternative<RotaryPositions>(attention.positions)) {
    throw usage_error(
        "attention {}: the model's logits depend on distances, not only on products of queries and keys; {} fit",
        choice.name, softmax_kinds());
  }
}

}  // namespace

std::string softmax_kinds() {
  return names_where([](const AttentionKind& kind) { return !kind.is_low_rank; });
}

const AttentionKind& kind_of(const AttentionWeights& weights, const Mask& mask) {
  return **std::ranges::find_if(kAttentionKinds, [&](const AttentionKind* kind) {
    return kind->weights.index() == weights.index() && kind->masked(mask);
  });
}

AttentionChoice attention_named(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const auto* const found = std::ranges::find(kAttentionKinds, name, &AttentionKind::name);
  if (found == kAttentionKinds.end()) {
    const auto names = mapped<std::string>(kAttentionKinds, &AttentionKind::name);
    throw usage_error("attention {}: expected one of {}{}", in_quotes(text), fmt::join(attention_names(), ", "),
                      did_you_mean(name, names));
  }
  const AttentionKind& kind = **found;
  AttentionKind::Values values{};
  std::array<bool, 5> given{};
  std::ranges::transform(kind.keys, values.begin(), &AttentionKind::Key::by_default);
  std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (colon != std::string_view::npos && (rest.empty() || rest.back() == ',')) {
    throw usage_error("attention {}: ends too soon, expected {}", in_quotes(text), described(kind));
  }
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    read_value(text, kind, item, values, given);
  }
  AttentionChoice choice = kind.make(values);
  choice.name = text;
  return choice;
}

std::vector<std::string> attention_names() {
  return mapped<std::string>(kAttentionKinds, [](const AttentionKind* kind) { return described(*kind); });
}

Network with_attention(Network network, const AttentionChoice& choice) {
  for (SubLayer& layer : network.layers) {
    for (Branch& branch : layer.branches) {
      auto* attention = std::get_if<Attention>(&branch.f);
      if (!attention) continue;
      check_fits(*attention, choice);
      if (choice.weights) attention->weights = *choice.weights;
      if (choice.mask) {
        const bool causal = attention->mask.causal;
        attention->mask = *choice.mask;
        attention->mask.causal = causal;
      }
    }
  }
  return network;
}

Matrix<double> head_normals(std::uint64_t seed, const DrawnFor& at, const char* purpose, Index rows, Index cols) {
  Matrix<float> out(rows, cols);
  const RandomKey key = random_key(seed, fmt::format("attention.{}.{}.{}", purpose, at.block, at.head));
  fill_normal(key, 0, std::span(out.data(), static_cast<std::size_t>(out.size())), 1);
  return out.cast<double>();
}

}  // namespace rankfall
