#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/mapped.h"
#include "base/parallel.h"
#include "result/statistics.h"
#include "studies/counts/path_counts.h"
#include "studies/part_of.h"
#include "studies/paths/path_list.h"
#include "studies/paths/path_sums.h"
#include "studies/paths/path_views.h"
#include <rankfall/decompose.h>

namespace rankfall {
namespace {

// Up to so many paths, times samples, are enumerated rather than searched.
constexpr double kEnumerated = 2e5;

// Numbers of a path over samples: path_summary's.
struct Candidate {
  Path path;
  std::vector<double> numbers;
};

class Ranking {
 public:
  Ranking(const PathsJob& job, const Progress& progress) : job_(job), progress_(progress) {}

  std::vector<Row> make() {
    const BigInt total = count_of(path_counts(job_.network, *job_.model.weights).back(), std::nullopt);
    const bool few = total <= static_cast<std::uint64_t>(kEnumerated / static_cast<double>(job_.samples.size()));
    const Index beam = beam_of(job_.options);
    std::vector<Candidate> found = few ? enumerated() : searched(beam);
    std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.numbers[0] > b.numbers[0]; });
    found.resize(std::min(found.size(), static_cast<std::size_t>(job_.options.n_top)));
    const std::string how =
        few ? fmt::format("the heaviest of all {} paths", total.str()) : fmt::format("found with a beam of {}", beam);
    std::vector<Row> rows;
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (std::size_t m = 0; m < kPathNumbers.size(); ++m) {
        Row& row = rows.emplace_back(path_row(found[i].path, kPathNumbers.at(m), found[i].numbers[m]));
        row.k = static_cast<Index>(i) + 1;
        row.n = std::ssize(job_.samples);
        if (row.verdict.empty()) row.verdict = how;
      }
    }
    return rows;
  }

 private:
  std::vector<Candidate> enumerated() const {
    std::vector<Candidate> all;
    const auto outputs = forward<double>(job_.network, *job_.model.weights, job_.samples, {});
    const PathSummary summary(job_.samples, outputs);
    enumerate(
        job_.network, *job_.model.weights, job_.samples,
        [&](const Path&, std::span<const CentredMatrix> terms) { return summary(terms); },
        [&](const Path& path, std::span<const double> numbers) {
          all.push_back({path, {numbers.begin(), numbers.end()}});
        });
    return all;
  }

  // What is heavy in any sample, then its mean over all.
  std::vector<Candidate> searched(Index beam) const {
    const auto n_tokens = static_cast<double>(size_of(job_.samples).n_tokens);
    const double term = n_tokens * static_cast<double>(job_.network.sizes.d_model) * sizeof(double);
    const auto n_samples = static_cast<double>(job_.samples.size());
    // In samples; following takes a quarter of the time of searching.
    const auto part = [&](double first, double count) -> ForwardOptions {
      return {part_of(progress_, first, 1.25 * n_samples, "heaviest paths", count)};
    };
    std::vector<Candidate> candidates;
    std::map<std::string, std::size_t> places;  // by name
    for_groups(job_.samples.size(), 3 * term * static_cast<double>(beam), [&](std::size_t first, std::size_t count) {
      const auto found = heaviest(job_.network, *job_.model.weights, job_.samples.subspan(first, count), beam,
                                  part(static_cast<double>(first), static_cast<double>(count)));
      for (const auto& list : found) {
        const auto most = std::min(list.size(), static_cast<std::size_t>(2 * job_.options.n_top));
        for (std::size_t i = 0; i < most; ++i) add(list[i], candidates, places);
      }
    });
    // Those that are heavy in most samples.
    std::ranges::stable_sort(candidates, [](const auto& a, const auto& b) { return a.numbers[0] > b.numbers[0]; });
    candidates.resize(std::min(candidates.size(), static_cast<std::size_t>(8 * job_.options.n_top)));
    std::vector<std::array<Statistics, kPathNumbers.size()>> numbers(candidates.size());

    const auto paths = mapped<Path>(candidates, &Candidate::path);
    for_groups(job_.samples.size(), 2 * term * static_cast<double>(paths.size()),
               [&](std::size_t first, std::size_t count) {
                 const auto samples = job_.samples.subspan(first, count);
                 const auto outputs = forward<double>(job_.network, *job_.model.weights, samples, {});
                 const std::vector<std::vector<Path>> lists(count, paths);
                 const auto terms =
                     follow(job_.network, *job_.model.weights, samples, lists, {},
                            part(n_samples + 0.25 * static_cast<double>(first), 0.25 * static_cast<double>(count)));
                 for (std::size_t s = 0; s < count; ++s) {
                   const PathSummary summary(samples.subspan(s, 1), std::span(outputs).subspan(s, 1));
                   for (std::size_t p = 0; p < paths.size(); ++p) {
                     const std::vector<double> found = summary(std::span(&terms[s][p].term, 1));
                     for (std::size_t m = 0; m < found.size(); ++m) {
                       if (std::isfinite(found[m])) numbers[p].at(m).add(found[m]);
                     }
                   }
                 }
               });
    for (std::size_t p = 0; p < paths.size(); ++p) {
      candidates[p].numbers =
          mapped<double>(numbers[p], [](const Statistics& number) { return number.mean().value_or(NAN); });
    }
    return candidates;
  }

  static void add(const WeightedPath& found, std::vector<Candidate>& candidates,
                  std::map<std::string, std::size_t>& places) {
    const std::string name = to_string(found.path.origin) + ": " + to_string(found.path);
    const auto [place, is_new] = places.try_emplace(name, candidates.size());
    if (is_new) {
      candidates.push_back({found.path, {found.norm}});
    } else {
      candidates[place->second].numbers[0] += found.norm;
    }
  }

  const PathsJob& job_;
  const Progress& progress_;
};

}  // namespace

Index beam_of(const PathsOptions& options) {
  constexpr Index kLeastBeam = 64;
  return options.beam > 0 ? options.beam : std::max(kLeastBeam, 4 * options.n_top);
}

std::vector<Row> top_path_rows(const PathsJob& job, const Progress& progress) { return Ranking(job, progress).make(); }

}  // namespace rankfall
