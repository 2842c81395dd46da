#include <algorithm>
#include <iterator>

#include "base/errors.h"
#include "result/manifest.h"
#include "studies/driver.h"
#include "studies/lowrank/lowrank_parts.h"
#include "studies/part_of.h"
#include <rankfall/lowrank.h>

namespace rankfall {
namespace {

void check_options(const LowrankOptions& options) {
  for (const double eps : options.eps) {
    if (!(eps > 0 && eps < 1)) throw usage_error("eps = {} of numerical ranks, expected between 0 and 1", eps);
  }
  if (!(options.sketch_eps > 0 && options.sketch_eps < 1)) {
    throw usage_error("eps = {} of Johnson-Lindenstrauss, expected between 0 and 1", options.sketch_eps);
  }
  if (!(options.failure > 0 && options.failure < 1)) {
    throw usage_error("a failure rate of {}, expected between 0 and 1", options.failure);
  }
  if (options.n_trials < 1) throw usage_error("{} draws, expected at least 1", options.n_trials);
  if ((options.scaling || options.sketches) && options.lengths.empty()) throw usage_error("no lengths given");
  constexpr std::size_t kMostLengths = 64;
  if (options.lengths.size() > kMostLengths) {
    throw usage_error("{} lengths, expected {} at most", options.lengths.size(), kMostLengths);
  }
  for (std::size_t i = 0; i < options.lengths.size(); ++i) {
    if (options.lengths[i] < 2) throw usage_error("a length of {} tokens, expected at least 2", options.lengths[i]);
    if (i > 0 && options.lengths[i] <= options.lengths[i - 1]) throw usage_error("lengths must ascend");
  }
}

bool needs_lengths(const LowrankOptions& options) { return options.scaling || options.sketches; }

void check_network(const LowrankOptions& options, const Model& model, const Network& network, MemoryPlan plan) {
  plan.whole_attention = options.spectra;
  check_memory(network, plan);
  if (!needs_lengths(options)) return;
  check_memory(network, {.n_tokens = options.lengths.back(), .whole_attention = true, .drawn = model.drawn});
  if (options.block < 0 || options.block >= network.sizes.n_blocks) {
    throw usage_error("block {}; {} has blocks 0 to {}", options.block, model.name, network.sizes.n_blocks - 1);
  }
}

// Enough random samples for the longest length, of lengths that the model takes.
std::vector<Sample> random_tokens(const Network& network, const LowrankOptions& options) {
  const Index longest = options.lengths.back();
  const Index most = network.sizes.max_positions > 0 ? network.sizes.max_positions : longest;
  const Index each = std::min({longest, most, Index{512}});
  const Index usual = random_samples(network, options.seed, 1, each, options.input.token_law)[0].n_tokens();
  return random_samples(network, options.seed, (longest + usual - 1) / usual, each, options.input.token_law);
}

std::vector<Row> rows_of_parts(const LowrankOptions& options, const StudyRun& run) {
  const LowrankJob job{run, options};
  std::vector<Row> rows;
  const auto append = [&](std::vector<Row> more) { std::ranges::move(more, std::back_inserter(rows)); };
  const auto part = [&](double index) { return part_of(run.progress, index, 3, "low rank"); };
  if (options.spectra) append(spectrum_rows(job, part(0)));
  if (needs_lengths(options)) {
    LowrankJob of_lengths = job;
    std::vector<Sample> drawn;
    if (run.drawn_samples) {
      drawn = random_tokens(run.model.network, options);
      of_lengths.samples = drawn;
    }
    const Matrix<double> states = states_of(of_lengths, options.lengths.back());
    const std::vector<AtLength> lengths = look_at_lengths(of_lengths, states, part(1));
    if (options.scaling) append(scaling_rows(of_lengths, lengths));
    if (options.sketches) append(sketch_rows(of_lengths, lengths));
  }
  if (options.kinds) append(kind_rows(job, part(2)));
  return rows;
}

Study lowrank_study(const LowrankOptions& options) {
  check_options(options);
  Study study;
  study.name = "lowrank";
  study.precision = "f64";
  study.variants = variants_or_full(options.variants);
  add(study.manifest, "block", std::int64_t{options.block});
  add(study.manifest, "sketch_eps", options.sketch_eps);
  add(study.manifest, "sketch_failure", options.failure);
  add(study.manifest, "draws", std::int64_t{options.n_trials});
  add(study.manifest, "seed", options.seed);
  study.progress = options.progress;
  study.check = [&options](const Model& model, const Network& network, const MemoryPlan& plan) {
    check_network(options, model, network, plan);
  };
  study.rows = [&options](const StudyRun& run) { return rows_of_parts(options, run); };
  return study;
}

}  // namespace

Result lowrank(const Model& model, std::span<const Sample> samples, const LowrankOptions& options) {
  return run_study(lowrank_study(options), model, samples);
}

Result lowrank(std::span<const std::string> models, const LowrankOptions& options) {
  return run_study(lowrank_study(options), models, {options.input, options.seed});
}

}  // namespace rankfall
