#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "io/mapped_file.h"
#include "result/statistics.h"
#include "studies/audit/audit_claims.h"
#include "studies/audit/audit_runs.h"
#include "studies/effectiveness/task_file.h"
#include "view/number_text.h"
#include <rankfall/paths.h>
#include <rankfall/sample.h>

namespace rankfall {
namespace {

constexpr Index kPathLayers = 8;
constexpr Index kPathHeads = 4;
constexpr std::uint64_t kPathSeeds = 8;
// A share this close to one is most of the residual. Shares have signs: where others take back what short paths make,
// that of the short ones is above one.
constexpr double kNear = 0.5;
bool is_most(double share) { return std::abs(share - 1) < kNear; }

// The share of the output's residual of all paths through at most half of the blocks, whatever their origin.
double short_share(const Model& model, const char* variant, std::uint64_t seed, std::span<const Sample> samples) {
  const Index n_blocks = model.network.sizes.n_blocks;
  PathsOptions options;
  options.seed = seed;
  options.n_through = 0;
  options.variants = {variant_named(variant)};
  const Result result = paths(model, samples, options);
  double share = 0;
  for (const Row& row : result.rows) {
    const bool all = row.origin && row.origin->kind == Origin::Kind::kAll;
    if (row.metric != "paths.share.residual" || row.layer != n_blocks || !row.kind.empty() || !all || !row.mean)
      continue;
    if (row.length && *row.length <= n_blocks / 2) share += *row.mean;
  }
  return share;
}

// How many of all paths they are.
double short_proportion() {
  const Result numbers = counts(std::array{Architecture{"", kPathLayers, kPathHeads}});
  double proportion = 0;
  for (const Row& row : numbers.rows) {
    if (row.metric == "paths.proportion" && row.length && *row.length <= kPathLayers / 2)
      proportion += row.mean.value_or(0);
  }
  return proportion;
}

// The first sequences that a network of a task is evaluated on; of another network, random ones.
std::vector<Sample> samples_of(const Model& model, std::uint64_t seed) {
  constexpr Index kSequences = 8;
  if (model.directory.empty() || !is_there(std::filesystem::path(model.directory) / "task.safetensors")) {
    return random_samples(model.network, seed, 2, 12);
  }
  std::vector<Sample> samples = read_task(model).samples;
  samples.resize(std::min<std::size_t>(samples.size(), kSequences));
  return samples;
}

AuditFinding short_paths(const SearchEffort& effort, std::uint64_t seed) {
  AuditFinding finding;
  double least = INFINITY;
  bool all_most = true;
  std::string least_text;
  const auto measure = [&](const std::string& name, const char* variant, auto model_of) {
    Statistics shares;
    for (std::uint64_t t = 0; t < kPathSeeds; ++t) {
      const std::uint64_t s = 1000 * seed + t;
      const Model model = model_of(s);
      shares.add(short_share(model, variant, s, random_samples(model.network, s, 2, 12)));
      ++finding.n_trials;
    }
    Row& row = finding.rows.emplace_back(Row{.variant = name, .metric = "audit.short_share"});
    set(row, shares);
    const double share = shares.mean().value_or(0);
    all_most = all_most && is_most(share);
    if (share > least) return;
    least = share;
    least_text = fmt::format("{} +- {} ({})", trimmed(share, 3), trimmed(shares.std().value_or(0), 1), name);
  };
  // With MLPs, paths may also begin at an MLP; without them all begin at the embedding.
  for (const char* variant : {"full", "san+skip"}) {
    const std::string without = variant == std::string_view("full") ? "" : " without MLPs";
    for (const char* family : {"bert", "gpt2", "llama", "t5", "xlnet"}) {
      measure(family + without, variant, [&](std::uint64_t s) { return small_model(family, kPathLayers, s); });
    }
    // Weights that keep the length of what they map, so that branches weigh as much as skips.
    for (const char* norm : {"post", "pre", "no"}) {
      measure(fmt::format("{}-norm std 0.177{}", norm, without), variant, [&](std::uint64_t s) {
        return open_model(fmt::format("san:layers={},heads={},dim=32,vocab=200,mlp=128,norm={},std=0.177", kPathLayers,
                                      kPathHeads, norm == std::string_view("no") ? "none" : norm),
                          s);
      });
    }
  }
  const std::size_t n_kinds = finding.rows.size();
  std::string others;
  for (const std::string& spec : effort.models) {
    const Model model = open_model(spec, seed);
    const double share = short_share(model, "full", seed, samples_of(model, seed));
    Row& row = finding.rows.emplace_back(Row{.model = spec, .variant = "full", .metric = "audit.short_share"});
    row.mean = share;
    row.n = 1;
    ++finding.n_trials;
    others += fmt::format("{}{} {}{}", others.empty() ? "; others, which do not decide the verdict: " : ", ", spec,
                          trimmed(share, 3), is_most(share) ? "" : " (not so there)");
  }
  finding.evidence = fmt::format(
      "{} kinds of random networks of {} blocks with {} heads: paths through at most {} blocks are {:.0f} % of all, "
      "and "
      "have at least this share of the output's residual (mean and deviation over {} seeds): {}{}",
      n_kinds, kPathLayers, kPathHeads, kPathLayers / 2, 100 * short_proportion(), kPathSeeds, least_text, others);
  finding.verdict = all_most ? Status::kMeasured : Status::kViolated;
  finding.figure = least;
  return finding;
}

}  // namespace

AuditClaim short_paths_claim() {
  return {28, "short_paths", "short paths carry the expressive power of networks with skips", Status::kMeasured,
          short_paths};
}

}  // namespace rankfall
