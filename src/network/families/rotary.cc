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

// 'original_max_position_embeddings', beside the scaling or in the file itself, or the length that the model has.
double original_length(const Config& config, const Config& scaling) {
  constexpr std::string_view kKey = "original_max_position_embeddings";
  const Config& where = scaling.has(kKey) ? scaling : config;
  return static_cast<double>(
      where.integer(kKey, 1, kMaxPositions, config.integer("max_position_embeddings", 1, kMaxPositions, 2048)));
}

// By what inputs are longer than the original ones; 'factor' decides where it is given.
double stretch(const Config& config, const Config& scaling) {
  const auto most = static_cast<double>(config.integer("max_position_embeddings", 1, kMaxPositions, 2048));
  return scaling.number("factor", 1e-3, kMaxFactor, most / original_length(config, scaling));
}

void read_llama3(const Config& config, const Config& scaling, RotaryPositions& rotary) {
  Llama3Scaling s;
  s.factor = needed(scaling, "factor", 1e-3, kMaxFactor);
  s.original = original_length(config, scaling);
  s.low = needed(scaling, "low_freq_factor", 1e-3, kMaxFactor);
  s.high = needed(scaling, "high_freq_factor", 1e-3, kMaxFactor);
  if (s.low >= s.high) scaling.fail("'low_freq_factor' is not below 'high_freq_factor'");
  rotary.scaling = s;
}

void read_yarn(const Config& config, const Config& scaling, RotaryPositions& rotary) {
  YarnScaling s;
  s.factor = stretch(config, scaling);
  s.original = original_length(config, scaling);
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

void read_longrope(const Config& config, const Config& scaling, Index channels, RotaryPositions& rotary) {
  // Every layer has a copy of the factors.
  constexpr Index kMostFactors = 1024;
  if (channels / 2 > kMostFactors) scaling.fail("{} factors, expected {} at most", channels / 2, kMostFactors);
  LongScaling s;
  const auto n = static_cast<std::size_t>(channels / 2);
  s.short_factors = scaling.numbers("short_factor", n, 1e-3, kMaxFactor);
  s.long_factors = scaling.numbers("long_factor", n, 1e-3, kMaxFactor);
  s.original = original_length(config, scaling);
  const auto most = static_cast<double>(config.integer("max_position_embeddings", 1, kMaxPositions, 2048));
  const bool by_lengths = config.has("original_max_position_embeddings");
  const double factor = by_lengths ? most / s.original : stretch(config, scaling);
  const double by_rule = factor <= 1 || s.original <= 1 ? 1.0 : std::sqrt(1 + std::log(factor) / std::log(s.original));
  rotary.magnitude = scaling.number("attention_factor", 1e-6, kMaxFactor, by_rule);
  rotary.scaling = std::move(s);
}

}  // namespace

Positions rotary_positions(const Config& config, const RotaryRule& rule) {
  std::optional<Config> parameters = config.object("rope_parameters");
  if (parameters && !rule.layer_type.empty() && parameters->is_object(rule.layer_type)) {
    parameters = parameters->child(rule.layer_type);
  }
  const Config& own = parameters ? *parameters : config;
  RotaryPositions rotary;
  rotary.base = config.number(rule.base_key, 1, 1e12, rule.base);
  if (parameters) rotary.base = parameters->number("rope_theta", 1, 1e12, rotary.base);
  const double share = own.number("partial_rotary_factor", 0, 1, config.number("rotary_pct", 0, 1, rule.share));
  const Index channels = static_cast<Index>(static_cast<double>(rule.d_head) * share);
  if (channels % 2 != 0) {
    config.fail("{} of {} channels of a head are turned; rotary positions need an even number", channels, rule.d_head);
  }
  if (channels == 0) return NoPositions{};
  if (channels < rule.d_head) rotary.channels = channels;
  const auto scaling = parameters || !rule.scaled ? parameters : config.object("rope_scaling");
  if (!scaling) return rotary;
  const std::string type = scaling->text("rope_type", scaling->text("type", "default"));
  if (type == "linear") {
    rotary.scaling = LinearScaling{needed(*scaling, "factor", 1e-3, kMaxFactor)};
  } else if (type == "dynamic") {
    rotary.scaling =
        DynamicScaling{needed(*scaling, "factor", 1, kMaxFactor),
                       static_cast<double>(config.integer("max_position_embeddings", 1, kMaxPositions, 2048))};
  } else if (type == "llama3") {
    read_llama3(config, *scaling, rotary);
  } else if (type == "yarn") {
    read_yarn(config, *scaling, rotary);
  } else if (type == "longrope" || type == "su") {
    read_longrope(config, *scaling, channels, rotary);
  } else if (type != "default") {
    scaling->fail("positions of type {}, expected default, linear, dynamic, llama3, yarn or longrope", in_quotes(type));
  }
  return rotary;
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

std::optional<Index> sliding_window(const Config& config, std::optional<Index> fallback) {
  constexpr std::string_view kKey = "sliding_window";
  if (!config.has(kKey)) return config.mentions(kKey) ? std::nullopt : fallback;
  return config.integer(kKey, 2, kMaxPositions);
}

}  // namespace rankfall
