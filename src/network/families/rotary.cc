#include "network/families/rotary.h"

#include <algorithm>
#include <cmath>

#include "io/utf8.h"

namespace rankfall {
namespace {

constexpr double kMaxFactor = 1e6;

double needed(const Config& config, std::string_view key, double low, double high) {
  if (!config.has(key)) config.fail("'{}' is missing, expected a number", key);
  return config.number(key, low, high, 0);
}

constexpr std::string_view kOriginal = "original_max_position_embeddings";

// The lengths of inputs that config.json states, with the family's own where it does not.
struct Lengths {
  double most = 0;      // 'max_position_embeddings'
  double original = 0;  // beside the scaling or in the file itself, or else `most`
};

Lengths lengths_of(const Config& config, const Config& scaling, Index fallback) {
  const Index most = config.integer("max_position_embeddings", 1, kMaxPositions, fallback);
  const Config& where = scaling.has(kOriginal) ? scaling : config;
  return {static_cast<double>(most), static_cast<double>(where.integer(kOriginal, 1, kMaxPositions, most))};
}

// By what inputs are longer than the original ones; 'factor' decides where it is given.
double stretch(const Lengths& lengths, const Config& scaling) {
  return scaling.number("factor", 1e-3, kMaxFactor, lengths.most / lengths.original);
}

void read_llama3(const Lengths& lengths, const Config& scaling, RotaryPositions& rotary) {
  Llama3Scaling s;
  s.factor = needed(scaling, "factor", 1e-3, kMaxFactor);
  s.original = lengths.original;
  s.low = needed(scaling, "low_freq_factor", 1e-3, kMaxFactor);
  s.high = needed(scaling, "high_freq_factor", 1e-3, kMaxFactor);
  if (s.low >= s.high) scaling.fail("'low_freq_factor' is not below 'high_freq_factor'");
  rotary.scaling = s;
}

void read_yarn(const Lengths& lengths, const Config& scaling, RotaryPositions& rotary) {
  YarnScaling s;
  s.factor = stretch(lengths, scaling);
  s.original = lengths.original;
  s.fast = scaling.number("beta_fast", 1e-3, kMaxFactor, 32);
  s.slow = scaling.number("beta_slow", 1e-3, kMaxFactor, 1);
  s.truncate = scaling.flag("truncate", true);
  if (rotary.base <= 1) scaling.fail("positions of type 'yarn' with base {}, expected one above 1", rotary.base);
  rotary.scaling = s;
  const auto magnitude = [&](double weight) { return s.factor <= 1 ? 1.0 : 0.1 * weight * std::log(s.factor) + 1; };
  const double weight = scaling.number("mscale", 0, kMaxFactor, 0);
  const double all = scaling.number("mscale_all_dim", 0, kMaxFactor, 0);
  const double by_rule = weight != 0 && all != 0 ? magnitude(weight) / magnitude(all) : magnitude(1);
  rotary.magnitude = scaling.number("attention_factor", 1e-6, kMaxFactor, by_rule);
}

// `by_lengths`: the two lengths decide how far inputs are stretched, whatever 'factor' says.
void read_longrope(const Lengths& lengths, bool by_lengths, const Config& scaling, Index channels,
                   RotaryPositions& rotary) {
  // Every layer has a copy of the factors.
  constexpr Index kMostFactors = 1024;
  if (channels / 2 > kMostFactors) scaling.fail("{} factors, expected {} at most", channels / 2, kMostFactors);
  LongScaling s;
  const auto n = static_cast<std::size_t>(channels / 2);
  s.short_factors = scaling.numbers("short_factor", n, 1e-3, kMaxFactor);
  s.long_factors = scaling.numbers("long_factor", n, 1e-3, kMaxFactor);
  s.original = lengths.original;
  const double factor = by_lengths ? lengths.most / lengths.original : stretch(lengths, scaling);
  const double by_rule = factor <= 1 || s.original <= 1 ? 1.0 : std::sqrt(1 + std::log(factor) / std::log(s.original));
  rotary.magnitude = scaling.number("attention_factor", 1e-6, kMaxFactor, by_rule);
  rotary.scaling = std::move(s);
}

// The entry of 'rope_parameters' that counts for layers of this type.
std::optional<Config> parameters_for(const Config& config, std::string_view layer_type, bool& flat) {
  std::optional<Config> all = config.object("rope_parameters");
  flat = all && !all->is_object("full_attention") && !all->is_object("sliding_attention");
  return !all || flat ? all : all->child(layer_type);
}

double turned_share(const Config& config, const std::optional<Config>& parameters, const RotaryRule& rule) {
  constexpr std::string_view kKey = "partial_rotary_factor";
  double share = config.number(kKey, 0, 1, rule.share);
  if (!rule.share_key.empty()) share = config.number(rule.share_key, 0, 1, share);
  if (parameters) share = parameters->number(kKey, 0, 1, share);
  if (rule.share_key.empty() && share != 1) {
    config.fail("'{}' is {}, expected 1: models of this family turn whole heads", kKey, share);
  }
  return share;
}

void read_scaling(const Config& config, const Config& scaling, const RotaryRule& rule, bool newer, Index channels,
                  RotaryPositions& rotary) {
  const bool has_type = scaling.has("rope_type") || scaling.has("type");
  // Newer files have the base under the same key, and then no type is needed.
  if (!has_type && (!newer || scaling.has("factor"))) {
    scaling.fail("'rope_type' is missing, expected default, linear, dynamic, llama3, yarn or longrope");
  }
  std::string type = scaling.text("rope_type", scaling.text("type", "default"));
  if (type == "su" || (type == "yarn" && rule.yarn_is_longrope)) type = "longrope";
  Lengths lengths = lengths_of(config, scaling, rule.n_positions);
  if (type == "linear") {
    rotary.scaling = LinearScaling{needed(scaling, "factor", 1e-3, kMaxFactor)};
  } else if (type == "dynamic") {
    rotary.scaling = DynamicScaling{needed(scaling, "factor", 1, kMaxFactor), lengths.most};
  } else if (type == "llama3") {
    read_llama3(lengths, scaling, rotary);
  } else if (type == "yarn") {
    read_yarn(lengths, scaling, rotary);
  } else if (type == "longrope") {
    // Where a family has an original length of its own, the original reads it from the file itself.
    if (rule.original > 0 && !(newer && scaling.has(kOriginal))) {
      lengths.original = static_cast<double>(config.integer(kOriginal, 1, kMaxPositions, rule.original));
    }
    read_longrope(lengths, rule.original > 0 || config.has(kOriginal), scaling, channels, rotary);
  } else if (type != "default") {
    scaling.fail("positions of type {}, expected default, linear, dynamic, llama3, yarn or longrope", in_quotes(type));
  }
}

}  // namespace

Positions rotary_positions(const Config& config, const RotaryRule& rule) {
  bool flat = false;
  const std::optional<Config> parameters = parameters_for(config, rule.layer_type, flat);
  RotaryPositions rotary;
  rotary.base = config.number(rule.base_key, 1, 1e12, rule.base);
  if (parameters && !(flat && rule.own_base)) rotary.base = parameters->number("rope_theta", 1, 1e12, rotary.base);
  const double share = turned_share(config, parameters, rule);
  const Index channels = static_cast<Index>(static_cast<double>(rule.d_head) * share);
  if (channels % 2 != 0) {
    config.fail("rotary positions turn {} of the {} channels of a head, expected an even number", channels,
                rule.d_head);
  }
  if (channels == 0) return NoPositions{};
  if (channels < rule.d_head) rotary.channels = channels;
  const auto scaling = parameters ? parameters : config.object("rope_scaling");
  RotaryPositions scaled = rotary;
  if (scaling) read_scaling(config, *scaling, rule, parameters.has_value(), channels, scaled);
  // Entries for each type of layer say themselves which layers are scaled; what does not count is checked all the same.
  return rule.scaled || (parameters && !flat) ? scaled : rotary;
}

std::vector<bool> windowed_layers(const Config& config, Index n_layers, bool (*rule)(const Config&, Index layer)) {
  std::vector<bool> windowed(static_cast<std::size_t>(n_layers));
  const std::vector<std::string> types = config.texts("layer_types", windowed.size());
  for (std::size_t l = 0; l < windowed.size(); ++l) {
    if (types.empty()) {
      windowed[l] = rule(config, static_cast<Index>(l));
      continue;
    }
    windowed[l] = types[l] == "sliding_attention";
    if (!windowed[l] && types[l] != "full_attention") {
      config.fail("'layer_types'[{}] is {}, expected 'full_attention' or 'sliding_attention'", l, in_quotes(types[l]));
    }
  }
  return windowed;
}

Index window_of(const Config& config, std::string_view key) {
  const Index n_keys = config.integer(key, 1, kMaxPositions);
  if (n_keys < 2) {
    config.fail("'{}' is 1, expected 2 or more: tokens that see only themselves are not supported", key);
  }
  return n_keys;
}

std::optional<Index> sliding_window(const Config& config, std::optional<Index> fallback) {
  constexpr std::string_view kKey = "sliding_window";
  if (!config.has(kKey)) return config.mentions(kKey) ? std::nullopt : fallback;
  return window_of(config, kKey);
}

}  // namespace rankfall
