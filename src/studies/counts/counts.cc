#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "base/errors.h"
#include "studies/counts/path_counts.h"
#include "studies/published/published_table.h"
#include <rankfall/model.h>
#include <rankfall/paths.h>

namespace rankfall {
namespace {

// All counts of an architecture together may have so many digits.
constexpr double kMostDigits = 2e7;

// A point of the published Figure 5.
struct PublishedPoint {
  Architecture architecture;
  Index length = 0;
  double drawn = 0;  // as the published graphic shows it
};

// architecture,heads,layers,path_length,proportion_from_pdf,proportion_formula
std::vector<PublishedPoint> published_points() {
  std::vector<PublishedPoint> points;
  for (const auto& fields : published_table(kPublishedFig5)) {
    points.push_back({{fields[0], published_number<Index>(fields[2]), published_number<Index>(fields[1])},
                      published_number<Index>(fields[3]),
                      published_number<double>(fields[4])});
  }
  return points;
}

void check(const Architecture& a) {
  constexpr Index kMost = 1'000'000;
  if (a.n_layers < 1 || a.n_heads < 1 || a.n_layers > kMost || a.n_heads > kMost) {
    throw usage_error("{} layers of {} heads: expected 1 to {} of each", a.n_layers, a.n_heads, kMost);
  }
  const double layers = static_cast<double>(a.n_layers);
  if (layers * layers * std::log10(static_cast<double>(a.n_heads + 1)) / 2 > kMostDigits) {
    throw usage_error(
        "{} layers of {} heads: the counts have too many digits to be printed; {} layers of as "
        "many heads would do",
        a.n_layers, a.n_heads,
        static_cast<Index>(std::sqrt(2 * kMostDigits / std::log10(static_cast<double>(a.n_heads + 1)))));
  }
}

class CountRows {
 public:
  explicit CountRows(const Architecture& a) : architecture_(a), counts_(counts_by_length(a.n_layers, a.n_heads)) {
    for (const BigInt& count : counts_) total_ += count;
  }

  void add_to(std::vector<Row>& rows) const {
    BigInt sum = 0;
    for (Index k = 0; k <= architecture_.n_layers; ++k) {
      const BigInt& count = counts_[static_cast<std::size_t>(k)];
      sum += count;
      exact(rows.emplace_back(row("paths.count", k)), count);
      rows.emplace_back(row("paths.proportion", k)).mean = proportion(k);
      rows.emplace_back(row("paths.cumulative", k)).mean = ratio(sum, total_);
    }
    exact(rows.emplace_back(row("paths.total", {})), total_);
    const double heads = static_cast<double>(architecture_.n_heads);
    rows.emplace_back(row("paths.mean_length", {})).mean =
        static_cast<double>(architecture_.n_layers) * heads / (heads + 1);
    const BigInt& most = *std::ranges::max_element(counts_);
    for (std::size_t k = 0; k < counts_.size(); ++k) {
      if (counts_[k] == most) rows.emplace_back(row("paths.mode", {})).mean = static_cast<double>(k);
    }
    add_published(rows);
  }

 private:
  double proportion(Index k) const { return ratio(counts_[static_cast<std::size_t>(k)], total_); }

  Row row(const char* metric, std::optional<Index> length) const {
    std::string variant = fmt::format("L={} H={}", architecture_.n_layers, architecture_.n_heads);
    return {.model = architecture_.name, .variant = std::move(variant), .metric = metric, .length = length};
  }

  static void exact(Row& row, const BigInt& value) {
    row.exact = value.str();
    if (const double approximate = value.convert_to<double>(); std::isfinite(approximate)) row.mean = approximate;
  }

  void add_published(std::vector<Row>& rows) const {
    double largest = -1;
    for (const PublishedPoint& point : published_points()) {
      const Architecture& a = point.architecture;
      if (a.name != architecture_.name || a.n_layers != architecture_.n_layers || a.n_heads != architecture_.n_heads) {
        continue;
      }
      rows.emplace_back(row("published.proportion", point.length)).mean = point.drawn;
      largest = std::max(largest, std::abs(point.drawn - proportion(point.length)));
    }
    if (largest < 0) return;
    Row& deviation = rows.emplace_back(row("published.deviation", {}));
    deviation.mean = largest;
    deviation.status = largest <= 2e-5 ? Status::kAgrees : Status::kDiffers;
    deviation.verdict = largest <= 2e-5 ? "agrees with Figure 5" : "differs from Figure 5";
  }

  const Architecture& architecture_;
  std::vector<BigInt> counts_;
  BigInt total_ = 0;
};

}  // namespace

std::vector<Architecture> published_architectures() {
  std::vector<Architecture> all;
  for (PublishedPoint& point : published_points()) {
    if (all.empty() || all.back().name != point.architecture.name) all.push_back(std::move(point.architecture));
  }
  const auto mobile = std::ranges::find(all, "MobileBert", &Architecture::name);
  if (mobile != all.end()) all.insert(mobile + 1, {"MobileBert as released", 24, mobile->n_heads});
  return all;
}

Result counts(std::span<const Architecture> architectures) {
  if (architectures.empty()) throw usage_error("no architecture given");
  for (const Architecture& a : architectures) check(a);
  Result result{"counts", {}, {}};
  for (const Architecture& a : architectures) CountRows(a).add_to(result.rows);
  return result;
}

Architecture architecture_of(const std::string& model) {
  // Of a directory config.json says it all.
  std::error_code error;
  const bool is_directory = std::filesystem::is_directory(model, error);
  const Network network = open_model(is_directory ? model + "@init" : model, 0).network;
  const bool skips = std::ranges::all_of(network.layers, [](const SubLayer& layer) { return layer.skip != 0; });
  if (!skips) {
    throw usage_error(
        "{}: has no skip connection around some sub-layers, expected one around "
        "each; `rankfall paths` counts the paths of any network",
        model);
  }
  return {model, network.sizes.n_blocks, network.sizes.n_heads};
}

}  // namespace rankfall
