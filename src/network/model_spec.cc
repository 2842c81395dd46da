#include "network/model_spec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "base/errors.h"
#include "base/grid.h"
#include "base/parse_number.h"
#include "base/suggestion.h"
#include "io/gguf.h"
#include "io/hub_cache.h"
#include "io/json_file.h"
#include "io/json_limits.h"
#include "network/checkpoint.h"
#include "network/families/families.h"
#include "network/gguf_config.h"
#include "network/gguf_model.h"
#include "network/presets.h"
#include <rankfall/error.h>
#include <rankfall/model.h>
#include <rankfall/variants.h>

namespace rankfall {
namespace {

constexpr std::string_view kInitSuffix = "@init";
constexpr std::string_view kSanPrefix = "san:";

// How a key of a `san:` specification is called in config.json, and what kind of value it takes.
struct SanKey {
  const char* key;
  const char* config_key;
  enum Kind { kNumber, kFlag, kText } kind;
};

constexpr std::array kSanKeys = {
    SanKey{"layers", "num_hidden_layers", SanKey::kNumber},
    SanKey{"heads", "num_attention_heads", SanKey::kNumber},
    SanKey{"dim", "hidden_size", SanKey::kNumber},
    SanKey{"mlp", "intermediate_size", SanKey::kNumber},
    SanKey{"norm", "norm", SanKey::kText},
    SanKey{"act", "hidden_act", SanKey::kText},
    SanKey{"mask", "mask", SanKey::kText},
    SanKey{"window", "window", SanKey::kNumber},
    SanKey{"global", "global", SanKey::kNumber},
    SanKey{"positions", "max_position_embeddings", SanKey::kNumber},
    SanKey{"relative", "relative_positions", SanKey::kText},
    SanKey{"vocab", "vocab_size", SanKey::kNumber},
    SanKey{"embed", "embedding_size", SanKey::kNumber},
    SanKey{"features", "features", SanKey::kNumber},
    SanKey{"feature_layers", "feature_layers", SanKey::kNumber},
    SanKey{"input_norm", "input_norm", SanKey::kFlag},
    SanKey{"labels", "num_labels", SanKey::kNumber},
    SanKey{"shared", "shared_layers", SanKey::kFlag},
    SanKey{"bias", "bias", SanKey::kFlag},
    SanKey{"attn_skip", "attn_skip", SanKey::kNumber},
    SanKey{"mlp_skip", "mlp_skip", SanKey::kNumber},
    SanKey{"branch", "branch_scale", SanKey::kNumber},
    SanKey{"eps", "layer_norm_eps", SanKey::kNumber},
    SanKey{"std", "initializer_range", SanKey::kNumber},
    SanKey{"qk_std", "qk_std", SanKey::kNumber},
    SanKey{"init", "init", SanKey::kText},
};

nlohmann::json san_value(std::string_view spec, const SanKey& key, std::string_view text) {
  if (key.kind == SanKey::kText) return std::string(text);
  if (key.kind == SanKey::kFlag) {
    if (text == "1" || text == "true") return true;
    if (text == "0" || text == "false") return false;
    throw usage_error("{}: {}={}, expected 0 or 1", spec, key.key, text);
  }
  if (const auto integer = parse_number<std::int64_t>(text)) return *integer;
  if (const auto number = parse_number<double>(text); number && std::isfinite(*number)) return *number;
  throw usage_error("{}: {}={}, expected a number", spec, key.key, text);
}

std::vector<std::string> preset_specs() {
  std::vector<std::string> specs = preset_names();
  for (std::string& name : specs) name += kInitSuffix;
  return specs;
}

// The snapshot of a hub name: of org/name, of a name without organisation, or of the released model that a preset is
// the architecture of.
HubSnapshot cached_snapshot(std::string_view spec) {
  const auto name = hub_name(spec);
  if (!name) return {};
  HubSnapshot found = find_snapshot(*name);
  if (const auto released = preset_hub_name(name->repository); found.directory.empty() && released) {
    found = find_snapshot({std::string(*released), name->revision});
  }
  return found;
}

[[noreturn]] void throw_no_model(std::string_view spec, const std::string& not_cached) {
  if (const auto released = preset_hub_name(spec)) {
    // Who names a released model wants its trained weights; the untrained ones come second.
    throw usage_error(
        "{}: no such directory, and {} is not in the hub cache. Trained weights: first run `hf download {}`. Random "
        "weights: {}@init",
        spec, *released, *released, spec);
  }
  if (spec.ends_with(".gguf")) throw input_error("{}: no such file", spec);
  const bool is_path = spec.starts_with('/') || spec.starts_with('.') || spec.starts_with('~') || spec.ends_with('/');
  if (is_path) {
    throw input_error("{}: no such directory; expected one with config.json and model.safetensors", spec);
  }
  if (spec.find('/') != std::string_view::npos && !not_cached.empty()) {
    throw usage_error("{}: no such directory, and {}. From the hub: first run `hf download {}`", spec, not_cached,
                      spec.substr(0, spec.find('@')));
  }
  throw usage_error(
      "{}: no such directory; expected one with config.json and model.safetensors, a specification such as "
      "san:layers=12,heads=12,dim=768, or a preset such as bert-base@init, gpt2@init or pythia-70m@init (`rankfall "
      "models` lists all {}). Nothing is downloaded: `hf download ORG/NAME` gets a model from the hub{}",
      spec, preset_names().size(), did_you_mean(spec, preset_specs()));
}

// A model that is neither a preset nor a specification: a directory, a hub name, or a mistake.
Model open_path(std::string_view spec, bool ignore_unused) {
  const std::filesystem::path path = spec;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return open_checkpoint(path, ignore_unused);
  if (is_gguf_file(path)) return open_gguf(path, ignore_unused);
  if (std::filesystem::exists(path, error)) {
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    throw input_error(
        "{}: is a file, expected a directory with config.json and model.safetensors, or a GGUF file; did you mean {}?",
        spec, folder.string());
  }
  const HubSnapshot cached = cached_snapshot(spec);
  if (cached.directory.empty()) throw_no_model(spec, cached.problem);
  Model model = open_checkpoint(cached.directory, ignore_unused);
  model.name = std::string(spec);
  model.notes.push_back(fmt::format("{}: read from the hub cache, {}", spec, cached.directory.string()));
  return model;
}

}  // namespace

nlohmann::json san_config(std::string_view spec) {
  if (spec.find_first_of("{}") != std::string_view::npos) {
    const Grid grid = parse_grid(spec);
    throw usage_error("{}: a grid of {} specifications, expected one, such as {}", spec, grid.n_points,
                      grid.point(0).text);
  }
  nlohmann::json config = {{"model_type", "san"}};
  std::string_view rest = spec.substr(kSanPrefix.size());
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const auto equals = item.find('=');
    const std::string_view name = item.substr(0, equals);
    const auto* key = std::find_if(kSanKeys.begin(), kSanKeys.end(), [&](const SanKey& k) { return name == k.key; });
    if (key == kSanKeys.end() || equals == std::string_view::npos) {
      std::vector<std::string> keys;
      keys.reserve(kSanKeys.size());
      for (const SanKey& known : kSanKeys) keys.emplace_back(known.key);
      throw usage_error("{}: '{}', expected KEY=VALUE with a key of: {}{}", spec, item, fmt::join(keys, ", "),
                        did_you_mean(name, keys));
    }
    if (config.contains(key->config_key)) throw usage_error("{}: '{}' is given twice", spec, name);
    config[key->config_key] = san_value(spec, *key, item.substr(equals + 1));
  }
  for (const char* key : {"layers", "heads", "dim"}) {
    const auto* found =
        std::find_if(kSanKeys.begin(), kSanKeys.end(), [&](const SanKey& k) { return k.key == std::string_view(key); });
    if (!config.contains(found->config_key)) {
      throw usage_error("{}: '{}' is missing; the shortest form is san:layers=12,heads=12,dim=768", spec, key);
    }
  }
  return config;
}

namespace {

// Every family's name for the number of blocks.
void set_depth(nlohmann::json& config, Index n_blocks) {
  for (const char* key : {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}) {
    if (config.contains(key)) config[key] = n_blocks;
  }
}

// What to draw: a specification's network, a preset's, or that of a checkpoint whose weights are not looked at.
// `directory` is set in the last case. Nothing if the model is not to be drawn.
std::optional<Config> drawn_config(std::string_view spec, std::optional<Index> n_blocks, std::string& directory) {
  const auto config = [&](nlohmann::json json, std::string where, ErrorKind kind) {
    if (n_blocks) set_depth(json, *n_blocks);
    return Config(std::move(json), std::move(where), kind);
  };
  if (spec.starts_with(kSanPrefix)) return config(san_config(spec), std::string(spec), ErrorKind::kUsage);
  if (!spec.ends_with(kInitSuffix)) return std::nullopt;
  const std::string_view name = spec.substr(0, spec.size() - kInitSuffix.size());
  if (const auto preset = preset_config(name)) {
    return config(parse_json(*preset, spec), std::string(spec), ErrorKind::kUsage);
  }
  if (is_gguf_file(std::string(name))) {
    const auto file = GgufFile::open(std::string(name));
    directory = std::string(name);
    return config(gguf_config(*file), file->where(), ErrorKind::kInput);
  }
  std::error_code error;
  directory = !name.empty() && std::filesystem::is_directory(name, error) ? std::string(name)
                                                                          : cached_snapshot(name).directory.string();
  if (!directory.empty()) {
    const auto file = std::filesystem::path(directory) / "config.json";
    return config(read_json_file(file), file.string(), ErrorKind::kInput);
  }
  throw usage_error(
      "{}: no such preset, expected one such as bert-base, gpt2 or pythia-70m (`rankfall models` lists all {}), or a "
      "directory with config.json{}",
      spec, preset_names().size(), did_you_mean(spec, preset_specs()));
}

}  // namespace

Model open_model(std::string_view spec, std::uint64_t seed, const OpenOptions& options) {
  if (options.n_blocks && (*options.n_blocks < 1 || *options.n_blocks > 10'000)) {
    throw usage_error("{}: depth {}, expected 1 to 10000", spec, *options.n_blocks);
  }
  Model model;
  if (const auto config = drawn_config(spec, options.n_blocks, model.directory)) {
    model.name = std::string(spec);
    model.network = make_network(*config);
    model.weights = draw_weights(model.network.tensors, seed);
    model.drawn = true;
    return model;
  }
  model = open_path(spec, options.ignore_unused);
  if (options.n_blocks) model.network = with_depth(model.network, *options.n_blocks);
  return model;
}

}  // namespace rankfall
