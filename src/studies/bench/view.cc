#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "studies/views.h"
#include "view/number_text.h"
#include "view/rows.h"

namespace rankfall {
namespace {

// One job: a variant on so many samples.
struct BenchJob {
  std::string variant, samples;  // "32 samples"
  std::optional<double> speed, share;
  std::optional<Index> n_rounds, n_tokens;
};

std::vector<BenchJob> bench_jobs(const Rows& rows) {
  std::vector<BenchJob> jobs;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> places;
  for (const Row* row : rows) {
    if (row->metric != "gflops" && row->metric != "share_of_peak") continue;
    const auto [place, is_new] = places.try_emplace({row->variant, row->kind}, jobs.size());
    if (is_new) jobs.push_back({row->variant, row->kind, {}, {}, row->n, row->tokens});
    (row->metric == "gflops" ? jobs[place->second].speed : jobs[place->second].share) = finite(row->mean);
  }
  return jobs;
}

std::optional<double> memory_of(const Rows& rows, std::string_view metric) {
  const Rows found = with_metric(rows, metric);
  return found.empty() ? std::nullopt : finite(found.front()->mean);
}

}  // namespace

View bench_view(const Result& result, const ViewOptions& /*options*/) {
  using Kind = TableColumn::Kind;
  View view;
  Figure figure;
  figure.id = "bench";
  figure.title = "Speed of measure";
  figure.caption = "Speed beside that of the machine's matrix products alone.";
  for (const RowGroup& model : by_model(result)) {
    const std::vector<BenchJob> jobs = bench_jobs(model.rows);
    if (jobs.empty()) continue;
    Table table;
    table.title = model.model + ": speed of measure";
    const Index n_rounds = jobs.front().n_rounds.value_or(1);
    table.about = fmt::format(
        "{} tokens per sample; medians over {}. Share of peak: speed divided by that of the same matrix products "
        "alone, "
        "measured before and after each run",
        jobs.front().n_tokens.value_or(0), counted(static_cast<std::size_t>(std::max<Index>(n_rounds, 0)), "round"));
    table.n_labels = 2;
    table.columns = {{"variant"}, {"input"}, {"GFLOP/s", Kind::kNumber}, {"share of peak", Kind::kShare, "", 2}};
    for (const BenchJob& job : jobs)
      table.rows.push_back({job.variant, job.samples, Number(job.speed), Number(job.share)});
    figure.nodes.emplace_back(std::move(table));
    const BenchJob& first = jobs.front();
    if (!first.speed || !first.share) continue;
    std::string text = fmt::format("{} {} on {}: {} GFLOP/s, {:.0f} % of the speed of its matrix products alone.",
                                   shortened(model.model), first.variant, first.samples, significant(*first.speed),
                                   100 * *first.share);
    const auto peak = memory_of(model.rows, "memory.peak_mb"), weights = memory_of(model.rows, "memory.weights_mb");
    if (peak && weights) {
      text += fmt::format(" The process used at most {} MB; the weights take {} MB.", significant(*peak, 2),
                          significant(*weights, 2));
    }
    view.answers.push_back({Question::kCosts, std::move(text), Tone::kNeutral});
  }
  view.figures.push_back(std::move(figure));
  return view;
}

}  // namespace rankfall
