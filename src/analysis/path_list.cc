#include "analysis/path_list.h"

#include <cmath>

#include <fmt/format.h>

#include "analysis/path_counts.h"
#include "analysis/provenance.h"
#include "input/inputs.h"
#include "model/frozen_layer.h"
#include "model/memory.h"
#include "result/manifest.h"
#include "result/statistics.h"
#include <rankfall/error.h>

namespace rankfall {
namespace {

constexpr std::uint64_t kMostPaths = 10'000'000;

}  // namespace

PathSummary::PathSummary(std::span<const Sample> samples, std::span<const Matrix<double>> outputs) : samples_(samples) {
  wholes_.reserve(samples.size());
  for (std::size_t s = 0; s < samples.size(); ++s) wholes_.emplace_back(outputs[s], samples[s].valid);
}

std::vector<double> PathSummary::operator()(std::span<const CentredMatrix> terms) const {
  std::array<Statistics, kPathNumbers.size()> numbers;
  for (std::size_t s = 0; s < terms.size(); ++s) {
    const Whole& whole = wholes_[s];
    const double norm = frobenius(terms[s], samples_[s].valid);
    numbers[0].add(norm);
    if (whole.has_shares) {
      numbers[1].add(norm / std::sqrt(whole.square));
      // <1 m + R, Y>
      numbers[2].add(
          (whole.state.colwise().sum().dot(terms[s].mean) + whole.state.cwiseProduct(terms[s].residual).sum()) /
          whole.square);
    }
    // The rows of the residual sum to zero.
    if (whole.has_residual_shares) {
      numbers[3].add(whole.residual.cwiseProduct(terms[s].residual).sum() / whole.residual_square);
    }
  }
  std::vector<double> means;
  means.reserve(numbers.size());
  for (const Statistics& number : numbers) means.push_back(number.mean().value_or(NAN));
  return means;
}

Row path_row(const PathsJob& job, const Path& path, const char* metric, double value) {
  Row row = job.row(metric);
  row.path = path.heads;
  row.origin = path.origin;
  row.length = static_cast<Index>(path.heads.size());
  if (std::isfinite(value)) {
    row.mean = value;
  } else {
    set_rounding_floor(row);
  }
  return row;
}

void list_paths(const std::string& spec, const PathListOptions& options,
                const std::function<void(const Result& begin)>& begin, const std::function<void(const Row& row)>& row) {
  const Model model = open_model(spec, options.seed, {{}, options.input.ignore_unused});
  PathsJob job;
  job.model = &model;
  job.variant = &options.variant;
  job.network = apply(options.variant, model.network);
  const BigInt total = count_of(path_counts(job.network, *model.weights).back(), std::nullopt);
  if (total > kMostPaths) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{}, variant {}: {} paths, expected at most {} to list them; --top lists the heaviest",
                            model.name, options.variant.name, total.str(), kMostPaths));
  }
  const Inputs inputs = open_inputs(model.network, input_for(model, options.input), options.seed);
  job.samples = inputs.samples;
  const InputSize size = size_of(inputs.samples);
  MemoryPlan plan;
  plan.n_samples = size.n_samples;
  plan.n_tokens = size.n_tokens;
  plan.scalar_bytes = sizeof(double);
  plan.drawn = model.drawn;
  // P of all layers, and partial paths.
  plan.extra_bytes = static_cast<double>(size.n_samples * size.n_tokens) * sizeof(double) *
                     static_cast<double>(job.network.sizes.n_blocks * job.network.sizes.n_heads * size.n_tokens +
                                         100 * job.network.sizes.d_model);
  check_memory(job.network, plan);

  Result result{"paths", run_manifest("f64", {options.variant}), {}};
  add(result.manifest, "seed", options.seed);
  add(result.manifest, "paths", total.str());
  Provenance provenance;
  provenance.add(model, options.input, inputs.source, size);
  provenance.add_notes(inputs.notes);
  provenance.add_notes(path_notes(model, {options.variant}));
  provenance.write(result.manifest);
  begin(result);

  const auto outputs = forward<double>(job.network, *model.weights, job.samples, {});
  const PathSummary summary(job.samples, outputs);
  const auto n_paths = total.convert_to<double>();
  double done = 0;
  enumerate(
      job.network, *model.weights, job.samples,
      [&](const Path&, std::span<const CentredMatrix> terms) { return summary(terms); },
      [&](const Path& path, std::span<const double> numbers) {
        if (options.progress) options.progress(++done, n_paths, model.name + " " + options.variant.name);
        for (std::size_t m = 0; m < kPathNumbers.size(); ++m) {
          Row next = path_row(job, path, kPathNumbers.at(m), numbers[m]);
          next.n = size.n_samples;
          row(next);
        }
      });
}

}  // namespace rankfall
