#include "studies/layer_costs/layer_costs.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>

#include <fmt/format.h>

#include "base/errors.h"
#include "base/machine.h"
#include "base/mapped.h"
#include "base/random.h"
#include "engine/memory.h"
#include "linalg/gemm.h"
#include "network/attention/kind.h"
#include "result/manifest.h"
#include "studies/collapse/growth.h"
#include "studies/layer_costs/reference_layers.h"
#include "studies/layer_costs/timing.h"
#include "studies/provenance.h"
#include <rankfall/forward.h>
#include <rankfall/model.h>

namespace rankfall {
namespace {

constexpr std::uint64_t kSeed = 0;
constexpr const char* kProjections = "projections";

struct Layer {
  std::string name;
  bool is_attention = false;
  std::string time, memory;                 // what theory says
  std::function<Index(const Sample&)> run;  // returns its sequential steps
};

// Of one layer and length.
struct Cost {
  std::vector<double> seconds;
  double spent = 0;  // seconds, with those of looking at memory
  std::optional<double> memory_mb;
  double gflop = 0;
  Index n_steps = 0;
};

std::vector<AttentionChoice> choices_of(const LayerCostOptions& options) {
  if (!options.attention.empty()) return options.attention;
  return mapped<AttentionChoice>(attention_names(), attention_named);
}

void check(const LayerCostOptions& options, const std::vector<AttentionChoice>& choices) {
  const bool ascending = std::ranges::adjacent_find(options.tokens, std::greater_equal()) == options.tokens.end();
  if (options.tokens.size() < 3 || !ascending || options.tokens[0] < 1) {
    throw usage_error("layer costs: lengths {}, expected at least three numbers of tokens, ascending",
                      fmt::join(options.tokens, ","));
  }
  if (options.kernel < 1 || options.kernel > 1024) {
    throw usage_error("layer costs: a kernel of {} tokens, expected 1 to 1024", options.kernel);
  }
  if (options.n_rounds < 1) throw usage_error("layer costs: {} rounds, expected at least 1", options.n_rounds);
  std::set<std::string> names = {kProjections, "lstm", "convolution"};
  for (const AttentionChoice& choice : choices) {
    if (!names.insert(choice.name).second) throw usage_error("layer costs: attention {} is given twice", choice.name);
  }
}

// Throws if the longest sample does not fit. Beside a forward pass: all inputs, the LSTM's 4 n d, the weights of all
// other layers.
void check_room(const LayerCostOptions& options, const Network& network) {
  MemoryPlan plan{.n_tokens = options.tokens.back(), .precision = options.precision};
  const auto d = static_cast<double>(options.d_model);
  const auto n = static_cast<double>(plan.n_tokens);
  const double scalar = options.precision == Precision::kF32 ? sizeof(float) : sizeof(double);
  for (const Index tokens : options.tokens) plan.kept_bytes += static_cast<double>(tokens) * d * sizeof(double);
  plan.kept_bytes += (4 * n * d + (8 + 4 + static_cast<double>(options.kernel)) * d * d) * scalar;
  check_memory(network, plan);
}

// Attention alone: nothing is added, normalised or embedded. Its input is given as states.
std::string spec_of(const LayerCostOptions& options) {
  return fmt::format("san:layers=1,heads={},dim={},mlp=0,norm=none,attn_skip=0,features=1,input_norm=0",
                     options.n_heads, options.d_model);
}

template <class T>
Layer reference_layer(std::string name, std::string time, const auto& reference) {
  return {std::move(name), false, std::move(time), "O(n d)", [reference](const Sample& sample) {
            const BlasThreads one_blas_thread(1);
            const Matrix<T> x = std::get<HiddenState>(sample.content).values.cast<T>();
            return reference.run(x).n_steps;
          }};
}

template <class T>
std::vector<Layer> make_layers(const LayerCostOptions& options, const std::vector<AttentionChoice>& choices) {
  const Model model = open_model(spec_of(options), kSeed);
  std::vector<Layer> layers;
  for (const AttentionChoice& choice : choices) {
    const Network network = with_attention(model.network, choice);
    check_room(options, network);
    Layer& layer = layers.emplace_back();
    layer.name = choice.name;
    layer.is_attention = true;
    const Attention& attention = *network.layers[0].attention();
    const AttentionKind::Theory& theory = kind_of(attention.weights, attention.mask).theory;
    layer.time = attention.mask.global > 0 && theory.time_with_global ? theory.time_with_global : theory.time;
    layer.memory = theory.memory;
    layer.run = [network, weights = model.weights](const Sample& sample) -> Index {
      forward<T>(network, *weights, std::span(&sample, 1), {});
      return 1;
    };
  }
  const Index d = options.d_model;
  layers.push_back(reference_layer<T>(kProjections, "O(n d^2)", ProjectionLayer<T>(d, kSeed)));
  layers.push_back(reference_layer<T>("lstm", "O(n d^2), n steps", LstmLayer<T>(d, kSeed)));
  layers.push_back(reference_layer<T>("convolution", "O(k n d^2)", ConvolutionLayer<T>(d, options.kernel, kSeed)));
  return layers;
}

// Standard normal states.
Sample input_of(Index n_tokens, Index d) {
  Matrix<float> values(n_tokens, d);
  fill_normal(random_key(kSeed, "layer costs"), 0, std::span(values.data(), static_cast<std::size_t>(values.size())),
              1);
  return {HiddenState{values.cast<double>()}};
}

void call(const Layer& layer, const Sample& sample, Cost& cost) {
  const auto whole = Clock::now();
  const bool reset = reset_peak_memory();
  const auto before = resident_memory();
  const std::uint64_t flops_before = flops_done();
  const auto start = Clock::now();
  cost.n_steps = layer.run(sample);
  cost.seconds.push_back(seconds_since(start));
  cost.gflop = static_cast<double>(flops_done() - flops_before) / 1e9;
  const auto after = resident_memory();
  cost.spent += seconds_since(whole);
  if (!reset || !before || !after) return;
  const double growth = (static_cast<double>(after->peak) - static_cast<double>(before->now)) / (1 << 20);
  cost.memory_mb = std::max(cost.memory_mb.value_or(0), growth);
}

bool is_enough(const Cost& cost, Index n_rounds) {
  constexpr double kLeast = 0.05;  // seconds
  constexpr double kMost = 1;
  const bool all = std::ssize(cost.seconds) >= n_rounds && cost.spent >= kLeast;
  return all || cost.spent >= kMost;
}

// [layer][length].
using Costs = std::vector<std::vector<Cost>>;

// In tokens.
void report(const LayerCostOptions& options, const Costs& costs, const std::string& what) {
  double done = 0;
  double total = 0;
  for (const auto& of_layer : costs) {
    for (std::size_t i = 0; i < of_layer.size(); ++i) {
      const auto share = static_cast<double>(of_layer[i].seconds.size()) / static_cast<double>(options.n_rounds);
      const auto n = static_cast<double>(options.tokens[i]);
      done += is_enough(of_layer[i], options.n_rounds) ? n : n * std::min(share, 0.99);
      total += n;
    }
  }
  options.progress(done, total, what);
}

Costs measure_costs(const LayerCostOptions& options, const std::vector<Layer>& layers) {
  std::vector<Sample> samples;
  for (const Index n : options.tokens) samples.push_back(input_of(n, options.d_model));
  // Weights are drawn and BLAS's buffers touched before anything counts; these grow with the length.
  for (const Layer& layer : layers) {
    layer.run(layer.name == kProjections ? samples.back() : samples.front());
  }
  Costs costs(layers.size(), std::vector<Cost>(samples.size()));
  for (bool any = true; any;) {
    any = false;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      for (std::size_t l = 0; l < layers.size(); ++l) {
        if (is_enough(costs[l][i], options.n_rounds)) continue;
        any = true;
        call(layers[l], samples[i], costs[l][i]);
        if (options.progress) report(options, costs, fmt::format("{}, {} tokens", layers[l].name, options.tokens[i]));
      }
    }
  }
  return costs;
}

class CostRows {
 public:
  CostRows(const LayerCostOptions& options, std::vector<Row>& rows) : options_(options), rows_(rows) {}

  void add(const Layer& layer, const std::vector<Cost>& costs, const std::vector<Cost>& projections) {
    using Values = std::vector<std::optional<double>>;
    Values seconds, memory, gflop, mixing_seconds, mixing_gflop;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      const Cost& cost = costs[i];
      seconds.emplace_back(median(cost.seconds));
      memory.push_back(cost.memory_mb);
      gflop.emplace_back(cost.gflop);
      const double rest = *seconds.back() - median(projections[i].seconds);
      mixing_seconds.push_back(rest > 0 ? std::optional(rest) : std::nullopt);
      mixing_gflop.emplace_back(cost.gflop - projections[i].gflop);
      say(layer, "layer.seconds", i, seconds[i]);
      rows_.back().n = std::ssize(cost.seconds);
      say(layer, "layer.memory_mb", i, memory[i]);
      say(layer, "layer.gflop", i, gflop[i]);
      say(layer, "layer.sequential", i, static_cast<double>(cost.n_steps));
      if (!layer.is_attention) continue;
      say(layer, "mixing.seconds", i, mixing_seconds[i]);
      say(layer, "mixing.gflop", i, mixing_gflop[i]);
    }
    exponent(layer, "layer.exponent", "seconds", seconds);
    exponent(layer, "layer.exponent", "memory", memory);
    exponent(layer, "layer.exponent", "flops", gflop);
    if (!layer.is_attention) return;
    exponent(layer, "mixing.exponent", "seconds", mixing_seconds);
    exponent(layer, "mixing.exponent", "flops", mixing_gflop);
  }

 private:
  Row& row(const Layer& layer, const char* metric, double value) {
    std::string model = fmt::format("d={} H={}", options_.d_model, options_.n_heads);
    return rows_.emplace_back(Row{.model = std::move(model), .variant = layer.name, .metric = metric, .mean = value});
  }

  void say(const Layer& layer, const char* metric, std::size_t length, std::optional<double> value) {
    if (value) row(layer, metric, *value).tokens = options_.tokens[length];
  }

  void exponent(const Layer& layer, const char* metric, const char* kind,
                const std::vector<std::optional<double>>& values) {
    const auto fit = growth_of(options_.tokens, values);
    if (!fit) return;
    Row& out = row(layer, metric, fit->slope);
    out.std = fit->slope_error;
    out.n = fit->n;
    out.kind = kind;
    out.verdict = std::string_view(kind) == "memory" ? layer.memory : layer.time;
  }

  const LayerCostOptions& options_;
  std::vector<Row>& rows_;
};

}  // namespace

Result layer_costs(const LayerCostOptions& options) {
  const std::vector<AttentionChoice> choices = choices_of(options);
  check(options, choices);
  const BlasThreads one_blas_thread(1);
  const std::vector<Layer> layers = options.precision == Precision::kF32 ? make_layers<float>(options, choices)
                                                                         : make_layers<double>(options, choices);
  const Costs costs = measure_costs(options, layers);

  Result result{"layer_costs", base_manifest(), {}};
  add(result.manifest, "precision", options.precision == Precision::kF32 ? "f32" : "f64");
  add(result.manifest, "threads", std::int64_t{threads()});
  add_blas(result.manifest);
  add(result.manifest, "attention_layer", spec_of(options));
  add(result.manifest, "kernel", std::int64_t{options.kernel});
  const auto projections = std::ranges::find(layers, kProjections, &Layer::name) - layers.begin();
  CostRows rows(options, result.rows);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    rows.add(layers[l], costs[l], costs[static_cast<std::size_t>(projections)]);
  }
  return result;
}

}  // namespace rankfall
