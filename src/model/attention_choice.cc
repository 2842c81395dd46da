#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include <fmt/format.h>

#include "io/utf8.h"
#include "model/low_rank_head.h"
#include <rankfall/attention.h>
#include <rankfall/error.h>
#include <rankfall/suggestion.h>

namespace rankfall {
namespace {

constexpr std::int64_t kMost = 1 << 20;  // of a count in a choice

struct Key {
  const char* name = nullptr;
  std::int64_t usual = 0, least = 0, most = kMost;
};
constexpr Key kSeed = {"seed", 0, 0, INT64_MAX};

struct Kind {
  const char* name;
  std::array<Key, 5> keys;
  AttentionChoice (*make)(const std::array<std::int64_t, 5>& values);

  std::size_t n_keys() const {
    return static_cast<std::size_t>(std::ranges::count_if(keys, [](const Key& key) { return key.name != nullptr; }));
  }
};

std::uint64_t seed_of(std::int64_t value) { return static_cast<std::uint64_t>(value); }

const std::array<Kind, 7> kKinds = {{
    {"full", {}, [](const auto&) { return AttentionChoice{}; }},
    {"gaussian",
     {},
     [](const auto&) {
       return AttentionChoice{"", GaussianWeights{}, {}};
     }},
    {"linformer",
     {{{"k", 64, 1}, {"pooled", 0, 0, 1}, kSeed}},
     [](const auto& v) {
       return AttentionChoice{"", LinformerWeights{v[0], v[1] != 0, seed_of(v[2])}, {}};
     }},
    {"nystrom",
     {{{"m", 64, 1}}},
     [](const auto& v) {
       return AttentionChoice{"", NystromWeights{v[0]}, {}};
     }},
    {"performer",
     {{{"m", 256, 1}, kSeed}},
     [](const auto& v) {
       return AttentionChoice{"", FeatureWeights{v[0], seed_of(v[1])}, {}};
     }},
    {"window",
     {{{"w", 64, 1}, {"global", 0}}},
     [](const auto& v) {
       return AttentionChoice{"", SoftmaxWeights{}, Mask{.window = v[0], .global = v[1]}};
     }},
    {"bigbird",
     {{{"w", 96, 1}, {"global", 128}, {"random", 3, 0, 64}, kSeed, {"block", 64, 2, 1024}}},
     [](const auto& v) {
       const Mask mask{.window = v[0], .global = v[1], .random = v[2], .seed = seed_of(v[3]), .block = v[4]};
       return AttentionChoice{"", SoftmaxWeights{}, mask};
     }},
}};

std::string described(const Kind& kind) {
  std::string out = kind.name;
  for (std::size_t i = 0; i < kind.n_keys(); ++i) {
    out += fmt::format("{}{}={}", i == 0 ? ':' : ',', kind.keys.at(i).name, kind.keys.at(i).usual);
  }
  return out;
}

Error usage(std::string_view text, const std::string& problem) {
  return Error(ErrorKind::kUsage, fmt::format("attention {}: {}", in_quotes(text), problem));
}

void read_value(std::string_view text, const Kind& kind, std::string_view item, std::array<std::int64_t, 5>& values,
                std::array<bool, 5>& given) {
  const auto equals = item.find('=');
  const std::string_view name = item.substr(0, equals);
  const auto begin = kind.keys.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(kind.n_keys());
  const auto* key = std::find_if(begin, end, [&](const Key& k) { return name == k.name; });
  if (key == end || equals == std::string_view::npos) {
    throw usage(text, fmt::format("{}, expected {}", in_quotes(item), described(kind)));
  }
  const auto at = static_cast<std::size_t>(key - begin);
  if (given.at(at)) throw usage(text, fmt::format("'{}' is given twice", key->name));
  given.at(at) = true;
  const std::string_view number = item.substr(equals + 1);
  std::int64_t value = -1;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != number.data() + number.size() || value < key->least ||
      value > key->most) {
    throw usage(text, fmt::format("{}={}, expected a number from {} to {}", key->name, in_quotes(number), key->least,
                                  key->most));
  }
  if (key->name == std::string_view("block") && !std::has_single_bit(static_cast<std::uint64_t>(value))) {
    throw usage(text, fmt::format("block={}, expected a power of two", value));
  }
  values.at(at) = value;
}

void check_fits(const Attention& attention, const AttentionChoice& choice) {
  if (!choice.weights || !is_low_rank(*choice.weights)) return;
  const auto refuse = [&](const char* why) {
    throw Error(ErrorKind::kUsage, fmt::format("attention {}: {}", choice.name, why));
  };
  if (attention.mask.window > 0) refuse("the model has a window, which a product of thin matrices cannot keep");
  if (attention.mask.causal && !std::holds_alternative<FeatureWeights>(*choice.weights)) {
    refuse("the model is causal, and this kind mixes all tokens, later ones too; performer, window and bigbird fit");
  }
  if (!std::holds_alternative<NoPositions>(attention.positions) &&
      !std::holds_alternative<RotaryPositions>(attention.positions)) {
    refuse(
        "the model's logits depend on distances, not only on products of queries and keys; gaussian, window and "
        "bigbird fit");
  }
}

}  // namespace

AttentionChoice attention_named(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const auto* kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return name == k.name; });
  if (kind == kKinds.end()) {
    std::vector<std::string> names;
    names.reserve(kKinds.size());
    for (const Kind& known : kKinds) names.emplace_back(known.name);
    throw usage(text,
                fmt::format("expected one of {}{}", fmt::join(attention_names(), ", "), did_you_mean(name, names)));
  }
  std::array<std::int64_t, 5> values{};
  std::array<bool, 5> given{};
  for (std::size_t i = 0; i < kind->keys.size(); ++i) values.at(i) = kind->keys.at(i).usual;
  std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (colon != std::string_view::npos && (rest.empty() || rest.back() == ',')) {
    throw usage(text, fmt::format("ends too soon, expected {}", described(*kind)));
  }
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    read_value(text, *kind, item, values, given);
  }
  AttentionChoice choice = kind->make(values);
  choice.name = text;
  return choice;
}

std::vector<std::string> attention_names() {
  std::vector<std::string> names;
  names.reserve(kKinds.size());
  for (const Kind& kind : kKinds) names.push_back(described(kind));
  return names;
}

Network with_attention(Network network, const AttentionChoice& choice) {
  for (SubLayer& layer : network.layers) {
    auto* attention = std::get_if<Attention>(&layer.f);
    if (!attention) continue;
    check_fits(*attention, choice);
    if (choice.weights) attention->weights = *choice.weights;
    if (choice.mask) {
      const bool causal = attention->mask.causal;
      attention->mask = *choice.mask;
      attention->mask.causal = causal;
    }
  }
  return network;
}

}  // namespace rankfall
