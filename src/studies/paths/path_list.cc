#include "studies/paths/path_list.h"

#include <cmath>

#include "base/errors.h"
#include "base/mapped.h"
#include "engine/frozen/frozen_layer.h"
#include "result/manifest.h"
#include "result/statistics.h"
#include "studies/counts/path_counts.h"

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
  return mapped<double>(numbers, [](const Statistics& number) { return number.mean().value_or(NAN); });
}

Row path_row(const Path& path, const char* metric, double value) {
  Row row{.metric = metric, .length = std::ssize(path.heads), .origin = path.origin, .path = path.heads};
  if (std::isfinite(value)) {
    row.mean = value;
  } else {
    set_rounding_floor(row);
  }
  return row;
}

void list_paths(const std::string& spec, const PathListOptions& options,
                const std::function<void(const Result& begin)>& begin, const std::function<void(const Row& row)>& row) {
  BigInt total;
  Study study;
  study.name = "paths";
  study.precision = "f64";
  study.variants = {options.variant};
  study.progress = options.progress;
  study.check = [&](const Model& model, const Network& network, MemoryPlan plan) {
    total = count_of(path_counts(network, *model.weights).back(), std::nullopt);
    if (total > kMostPaths) {
      throw usage_error(
          "{}, variant {}: {} paths, expected at most {} to list them; PathsOptions::n_top lists the heaviest",
          model.name, options.variant.name, total.str(), kMostPaths);
    }
    // P of all layers, and partial paths.
    const auto n_samples = static_cast<double>(plan.n_samples);
    plan.kept_attention = n_samples * static_cast<double>(network.sizes.n_blocks * network.sizes.n_heads);
    plan.kept_states = 100 * n_samples;
    check_memory(network, plan);
  };
  study.notes = [&](const Model& model, std::span<const Sample> /*samples*/) {
    return path_notes(model, {options.variant});
  };
  study.begin = [&](Result& result) {
    add(result.manifest, "paths", total.str());
    begin(result);
  };
  study.rows = [&](const StudyRun& run) -> std::vector<Row> {
    const auto outputs = forward<double>(run.network, *run.model.weights, run.samples, {});
    const PathSummary summary(run.samples, outputs);
    const auto n_paths = total.convert_to<double>();
    double done = 0;
    enumerate(
        run.network, *run.model.weights, run.samples,
        [&](const Path&, std::span<const CentredMatrix> terms) { return summary(terms); },
        [&](const Path& path, std::span<const double> numbers) {
          if (run.progress) run.progress(++done, n_paths, "");
          for (std::size_t m = 0; m < kPathNumbers.size(); ++m) {
            Row next = path_row(path, kPathNumbers.at(m), numbers[m]);
            next.n = std::ssize(run.samples);
            run.name(next);
            row(next);
          }
        });
    return {};
  };
  run_study(study, std::span(&spec, 1), {options.input, options.seed});
}

}  // namespace rankfall
