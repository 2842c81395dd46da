#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <rankfall/index.h>

namespace rankfall {

// Everything a training depends on: equal settings give equal models, bit for bit, on one machine.
struct TrainSettings {
  std::string task;  // sort, hull, memorize or circle
  std::uint64_t seed = 0;
  bool as_published = false;  // with the published code's bugs (docs/training.md)

  // Data.
  Index n_train = 0, n_eval = 0;             // sequences
  Index n_tokens = 0;                        // of a sequence
  Index n_symbols = 0;                       // digits, or words of the vocabulary; 0: real inputs
  bool outer_skip = false;                   // circle as published: see published_oddities
  std::string text, tokenizer;               // memorize: a file and a directory instead of generated sequences
  std::string special_tokens = "as-stored";  // around each line of the text: as-stored, none or bos
  std::string text_digest;                   // SHA-256 of the ids that the text became

  // Network.
  Index n_blocks = 0, n_heads = 0, width = 0;
  Index mlp = 0;              // inner width; 0: none
  std::string norm = "post";  // post, pre or none
  bool attn_skip = true, mlp_skip = true;
  bool positions = true;        // of tokens
  Index feature_layers = 1;     // of real inputs: linear maps
  std::string init = "normal";  // normal or published
  double init_std = 0.02;

  // Training.
  std::string optimiser = "adamw";  // adamw, or adam, whose weight decay is part of the gradient
  std::string schedule =
      "one-cycle";  // constant, one-cycle, linear (to zero) or steps (at 15, 30, 40, 50, 60 epochs times 0.91)
  double learning_rate = 1e-3;
  double weight_decay = 0.01;
  double dropout = 0.1;
  double clip = 1;  // norm of the gradient; 0: none
  Index batch = 32, n_epochs = 0;
  bool shuffle = true;

  bool operator==(const TrainSettings&) const = default;
};

std::vector<std::string> task_names();

// What trains well. `quick`: smaller and shorter, for tests and first looks.
TrainSettings default_settings(std::string_view task, bool quick);
// What the published code did.
TrainSettings published_settings(std::string_view task);
// What of the published code's mistakes these settings repeat, a sentence each.
std::vector<std::string> published_oddities(const TrainSettings& settings);

// Throws Error(kUsage) on what cannot be.
void check_settings(const TrainSettings& settings);

// special_tokens is written only where it is not the default, so that trainings begun before it existed can be resumed.
nlohmann::json to_json(const TrainSettings& settings);
// Throws Error(kInput); `where` begins the message.
TrainSettings settings_from_json(const nlohmann::json& json, std::string_view where);
// The fields that differ, with both values: "seed 1 there, 2 here". Empty if there are none.
std::string differences(const TrainSettings& there, const TrainSettings& here);

// config.json of the network, of family "san".
nlohmann::json network_config(const TrainSettings& settings);

// Learning rate of step 0 .. n_steps - 1.
double learning_rate(const TrainSettings& settings, Index step, Index steps_per_epoch);

}  // namespace rankfall
