#include "train/settings.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.h"

namespace rankfall {
namespace {

bool takes_tokens(const TrainSettings& s) { return s.task == "sort" || s.task == "memorize"; }

constexpr const char* kSpecialTokens = "special_tokens";

// One list of fields for reading and writing.
template <class Settings, class Visit>
void each_field(Settings& s, const Visit& visit) {
  visit("task", s.task);
  visit("seed", s.seed);
  visit("as_published", s.as_published);
  visit("n_train", s.n_train);
  visit("n_eval", s.n_eval);
  visit("n_tokens", s.n_tokens);
  visit("n_symbols", s.n_symbols);
  visit("outer_skip", s.outer_skip);
  visit("text", s.text);
  visit("tokenizer", s.tokenizer);
  visit(kSpecialTokens, s.special_tokens);
  visit("text_digest", s.text_digest);
  visit("n_blocks", s.n_blocks);
  visit("n_heads", s.n_heads);
  visit("width", s.width);
  visit("mlp", s.mlp);
  visit("norm", s.norm);
  visit("attn_skip", s.attn_skip);
  visit("mlp_skip", s.mlp_skip);
  visit("positions", s.positions);
  visit("feature_layers", s.feature_layers);
  visit("init", s.init);
  visit("init_std", s.init_std);
  visit("optimiser", s.optimiser);
  visit("schedule", s.schedule);
  visit("learning_rate", s.learning_rate);
  visit("weight_decay", s.weight_decay);
  visit("dropout", s.dropout);
  visit("clip", s.clip);
  visit("batch", s.batch);
  visit("n_epochs", s.n_epochs);
  visit("shuffle", s.shuffle);
}

nlohmann::json all_fields(const TrainSettings& settings) {
  nlohmann::json json = nlohmann::json::object();
  each_field(settings, [&](const char* key, const auto& value) { json[key] = value; });
  return json;
}

}  // namespace

std::vector<std::string> task_names() { return {"sort", "hull", "memorize", "circle"}; }

TrainSettings default_settings(std::string_view task, bool quick) {
  TrainSettings s;
  s.task = task;
  s.n_train = quick ? 2000 : 10'000;
  s.n_eval = quick ? 200 : 1000;
  s.n_blocks = 6;
  s.n_heads = 2;
  if (task == "sort") {
    s.n_tokens = 8;
    s.n_symbols = 10;
    s.width = 48;
    s.n_epochs = 10;
  } else if (task == "hull") {
    s.n_tokens = 10;
    s.n_heads = 3;
    s.width = 84;
    s.feature_layers = 2;
    s.n_epochs = quick ? 6 : 12;
    s.dropout = 0;
  } else if (task == "memorize") {
    s.n_train = quick ? 40 : 500;
    s.n_eval = s.n_train;
    s.n_tokens = quick ? 32 : 64;
    s.n_symbols = quick ? 500 : 5000;
    s.width = quick ? 64 : 250;
    s.n_epochs = quick ? 40 : 30;
    s.batch = 8;
    s.dropout = 0;
    s.weight_decay = 0;
  } else if (task == "circle") {
    s.n_train = s.n_eval = 499;
    s.n_tokens = 2;
    s.n_blocks = 1;
    s.width = 32;
    s.n_epochs = quick ? 20 : 70;
    s.dropout = 0;
    s.weight_decay = 0;
  } else {
    throw usage_error("task '{}', expected sort, hull, memorize or circle", task);
  }
  return s;
}

TrainSettings published_settings(std::string_view task) {
  TrainSettings s = default_settings(task, false);
  s.as_published = true;
  s.init = "published";
  s.optimiser = "adam";
  s.schedule = "constant";
  s.learning_rate = 1e-5;
  s.weight_decay = 0;
  s.clip = 0;
  s.dropout = 0.1;
  s.batch = 30;
  s.shuffle = false;
  if (task == "sort") {
    s.n_train = 1000;
    s.n_eval = 200;
    s.n_epochs = 65;
  } else if (task == "hull") {
    s.n_train = 10'000;
    s.n_eval = 300;
    s.n_epochs = 70;
    s.weight_decay = 1e-3;
    s.schedule = "steps";
  } else if (task == "memorize") {
    s.n_train = s.n_eval = 500;
    s.n_tokens = 128;
    s.n_symbols = 30'522;
    s.n_epochs = 50;
    s.mlp = s.width;
    s.positions = false;
    s.optimiser = "adamw";
    s.schedule = "linear";
    s.learning_rate = 3e-4;
    s.clip = 1;
    s.batch = 8;
    s.shuffle = true;
  } else {
    s.n_epochs = 70;
  }
  return s;
}

std::vector<std::string> published_oddities(const TrainSettings& s) {
  std::vector<std::string> out;
  if (!s.as_published) return out;
  const auto steps = static_cast<double>(s.n_epochs * ((s.n_train + s.batch - 1) / s.batch));
  if (s.learning_rate <= 1e-5) {
    out.push_back(fmt::format("learning rate {}, at which Adam moves a weight by about {:.2g} at most in all {} steps",
                              s.learning_rate, s.learning_rate * steps, steps));
  }
  if (!s.shuffle) out.emplace_back("the same order of batches in every epoch");
  if (s.task == "sort") out.emplace_back("digit 0 is taken for padding: its embedding gets no gradient");
  if (s.task == "memorize" && s.mlp > 0) {
    out.emplace_back("an MLP in every block, which the text excludes (a name was bound to the wrong argument)");
  }
  if (s.task == "memorize" && !s.positions) {
    out.emplace_back("no positions: equal tokens of a sequence get equal answers, which caps the accuracy");
  }
  if (s.task == "circle" && s.attn_skip) {
    out.emplace_back("skip connection and norm stay inside the block also where 'no skip' is meant");
  }
  if (s.outer_skip) {
    out.emplace_back(
        "the outer skip adds the previous batch in training, and the sum of all outputs in the recurrence");
  }
  return out;
}

void check_settings(const TrainSettings& s) {
  const auto positive = [](Index value, const char* what) {
    if (value < 1) throw usage_error("{} is {}, expected at least 1", what, value);
  };
  default_settings(s.task, false);  // refuses other tasks
  positive(s.n_train, "the number of training sequences");
  positive(s.n_eval, "the number of evaluation sequences");
  positive(s.n_tokens, "the number of tokens");
  positive(s.n_blocks, "the number of blocks");
  positive(s.n_heads, "the number of heads");
  positive(s.width, "the width");
  positive(s.batch, "the batch");
  positive(s.n_epochs, "the number of epochs");
  // A sequence takes some 200 bytes beside its tokens.
  constexpr Index kMostSequences = 10'000'000;
  constexpr Index kMostTokens = 200'000'000;
  for (const Index n : {s.n_train, s.n_eval}) {
    if (n > kMostSequences || n > kMostTokens / s.n_tokens) {
      throw usage_error("{} sequences of {} tokens; expected at most {} sequences and {} tokens in all", n, s.n_tokens,
                        kMostSequences, kMostTokens);
    }
  }
  if (s.width % s.n_heads != 0) throw usage_error("{} heads do not divide the width {}", s.n_heads, s.width);
  if (takes_tokens(s)) positive(s.n_symbols, "the number of symbols");
  if (s.task == "hull" && s.n_tokens < 3) throw usage_error("a convex hull needs 3 points");
  if (s.task == "circle" && s.n_blocks != 1) throw usage_error("circle is one block, applied again and again");
  if (s.outer_skip && !(s.task == "circle" && s.as_published))
    throw usage_error("an outer skip is the published circle's");
  const auto one_of = [](const std::string& value, const char* what, std::initializer_list<const char*> names) {
    if (std::ranges::find(names, value) == names.end()) throw usage_error("{} '{}' is unknown", what, value);
  };
  one_of(s.norm, "norm", {"post", "pre", "none"});
  one_of(s.init, "init", {"normal", "published"});
  one_of(s.optimiser, "optimiser", {"adamw", "adam"});
  one_of(s.special_tokens, "special tokens", {"as-stored", "none", "bos"});
  one_of(s.schedule, "schedule", {"constant", "one-cycle", "linear", "steps"});
  if (s.text == "-") throw usage_error("--text -: the text is read again when training resumes; give a file");
  if (s.text.empty() != s.tokenizer.empty()) throw usage_error("--text and --vocab go together");
  if (!s.text.empty() && s.task != "memorize") throw usage_error("--text is for memorize");
  for (const auto& [value, what] : {std::pair(s.learning_rate, "learning rate"),
                                    {s.weight_decay, "weight decay"},
                                    {s.clip, "clip"},
                                    {s.init_std, "initial deviation"}}) {
    if (!(value >= 0) || !std::isfinite(value)) throw usage_error("{} is {}, expected 0 or more", what, value);
  }
  if (!(s.dropout >= 0 && s.dropout < 1)) throw usage_error("dropout is {}, expected 0 up to 1", s.dropout);
}

nlohmann::json to_json(const TrainSettings& settings) {
  nlohmann::json json = all_fields(settings);
  if (settings.special_tokens == TrainSettings().special_tokens) json.erase(kSpecialTokens);
  return json;
}

std::string differences(const TrainSettings& there, const TrainSettings& here) {
  std::string out;
  const nlohmann::json theirs = all_fields(there);
  const nlohmann::json ours = all_fields(here);
  for (const auto& [key, value] : ours.items()) {
    if (theirs.at(key) == value) continue;
    out += fmt::format("{}{} {} there, {} here", out.empty() ? "" : ", ", key, theirs.at(key).dump(), value.dump());
  }
  return out;
}

TrainSettings settings_from_json(const nlohmann::json& json, std::string_view where) {
  TrainSettings settings;
  each_field(settings, [&](const char* key, auto& value) {
    const auto found = json.find(key);
    if (found == json.end() && key == std::string_view(kSpecialTokens)) return;  // an older training
    if (found == json.end()) throw input_error("{}: no '{}'", where, key);
    using T = std::remove_cvref_t<decltype(value)>;
    const bool is_whole = std::is_same_v<T, Index> || std::is_same_v<T, std::uint64_t>;
    try {
      if (is_whole && !found->is_number_integer()) {
        throw input_error("{}: '{}' is {}, expected a whole number", where, key, found->dump());
      }
      found->get_to(value);
    } catch (const nlohmann::json::exception&) {
      throw input_error("{}: '{}' is {}", where, key, found->dump());
    }
  });
  try {
    check_settings(settings);
  } catch (const Error& error) {
    throw input_error("{}: {}", where, error.what());
  }
  return settings;
}

nlohmann::json network_config(const TrainSettings& s) {
  nlohmann::json config = {{"model_type", "san"},
                           {"num_hidden_layers", s.n_blocks},
                           {"num_attention_heads", s.n_heads},
                           {"hidden_size", s.width},
                           {"intermediate_size", s.mlp},
                           {"norm", s.norm},
                           {"attn_skip", s.attn_skip ? 1.0 : 0.0},
                           {"mlp_skip", s.mlp_skip ? 1.0 : 0.0},
                           {"initializer_range", s.init_std},
                           {"init", s.init},
                           {"layer_norm_eps", 1e-12}};
  if (takes_tokens(s)) {
    config["vocab_size"] = s.n_symbols;
    config["max_position_embeddings"] = s.positions ? s.n_tokens : 0;
  } else {
    config["features"] = 2;
    config["feature_layers"] = s.feature_layers;
  }
  config["num_labels"] = s.task == "sort" ? s.n_symbols : 2;
  return config;
}

double learning_rate(const TrainSettings& s, Index step, Index steps_per_epoch) {
  const double at = static_cast<double>(step) / static_cast<double>(std::max<Index>(1, s.n_epochs * steps_per_epoch));
  if (s.schedule == "linear") return s.learning_rate * (1 - at);
  if (s.schedule == "steps") {
    double rate = s.learning_rate;
    for (const Index epoch : {15, 30, 40, 50, 60}) {
      if (step >= epoch * steps_per_epoch) rate *= 0.91;
    }
    return rate;
  }
  if (s.schedule == "one-cycle") {  // up from 1/25 for 30 % of the steps, down to nearly nothing: halves of a cosine
    constexpr double kUp = 0.3;
    const auto between = [](double from, double to, double t) {
      return to + (from - to) * (1 + std::cos(std::numbers::pi * t)) / 2;
    };
    const double low = s.learning_rate / 25;
    return at < kUp ? between(low, s.learning_rate, at / kUp)
                    : between(s.learning_rate, low / 1e4, (at - kUp) / (1 - kUp));
  }
  return s.learning_rate;
}

}  // namespace rankfall
