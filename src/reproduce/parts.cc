#include "reproduce/parts.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/mapped.h"
#include "reproduce/file_identity.h"
#include "studies/effectiveness/effectiveness.h"
#include "studies/published/published.h"
#include "studies/theory/predictions.h"
#include <rankfall/audit.h>
#include <rankfall/bounds.h>
#include <rankfall/collapse.h>
#include <rankfall/error.h>
#include <rankfall/measure.h>
#include <rankfall/paths.h>
#include <rankfall/report.h>
#include <rankfall/version.h>

namespace rankfall {
namespace {

const std::vector<std::string> kPresets = {"bert-base@init", "albert-base@init", "xlnet-base@init"};
constexpr std::array<const char*, 3> kTasks = {"sort", "hull", "memorize"};

// How much of everything.
struct Scale {
  Index n_seeds, labelled_samples, exact_samples, box_samples, box_paths, path_samples, bound_samples, shown_paths;
  Index audit_trials;
};
constexpr Scale kQuick = {1, 8, 1, 4, 100, 1, 2, 24, 500'000};
constexpr Scale kFull = {10, 32, 8, 32, 100, 8, 8, 24, 5'000'000};

InputOptions zipf(Index n_samples) {
  InputOptions input;
  input.n_samples = n_samples;
  input.token_law = TokenLaw::kZipf;
  return input;
}

// The story of the report, step by step.
struct StoryPart {
  std::string_view name, chapter;
};
constexpr std::array<StoryPart, 12> kStoryParts = {{{"fig2-published", "What collapses"},
                                                    {"fig2-exact", "How fast"},
                                                    {"fig2-labelled", "What prevents it"},
                                                    {"fig2-trained", "What prevents it"},
                                                    {"fig1", "Why: paths"},
                                                    {"paths", "Why: paths"},
                                                    {"fig5", "Why: paths"},
                                                    {"boxplot", "Why: paths"},
                                                    {"bounds", "Theory"},
                                                    {"audit", "Theory"},
                                                    {"fig4", "Tasks"},
                                                    {"fig3", "Tasks"}}};

class Maker {
 public:
  explicit Maker(const ReproduceOptions& options) : options_(options), scale_(options.full ? kFull : kQuick) {}

  std::vector<Part> parts() {
    heaviest_paths();
    published_curves_part();
    labelled_curves();
    exact_curves();
    trained_curves();
    recurrence();
    tasks();
    lengths();
    chained_attention();
    path_shares();
    theory();
    claims();
    return std::move(parts_);
  }

 private:
  Part& add(std::string name, std::string figure, std::string title, std::string intro, double quick, double full) {
    Part& part = parts_.emplace_back(Part{std::move(name), std::move(figure), std::move(title), std::move(intro)});
    const auto* told = std::ranges::find(kStoryParts, part.name, &StoryPart::name);
    part.place = static_cast<int>(told - kStoryParts.begin()) + 1;
    if (told != kStoryParts.end()) part.chapter = told->chapter;
    part.seconds = options_.full ? full : quick;
    // The part and every number of the scale, so that what was made with others is not taken for this.
    part.settings = fmt::format(
        "{}: rankfall {}, {}, seed {}; {} seeds; samples {} {} {} {} {}; {} paths, {} shown; audit {} trials",
        part.name, RANKFALL_VERSION, options_.full ? "full" : "quick", options_.seed, scale_.n_seeds,
        scale_.labelled_samples, scale_.exact_samples, scale_.box_samples, scale_.path_samples, scale_.bound_samples,
        scale_.box_paths, scale_.shown_paths, scale_.audit_trials);
    return part;
  }

  std::string seeds_words() const {
    return scale_.n_seeds == 1 ? fmt::format("One seed ({}).", options_.seed)
                               : fmt::format("{} seeds from {} on.", scale_.n_seeds, options_.seed);
  }

  MeasureOptions measure_options(bool as_published, Index n_samples, const Progress& progress) const {
    MeasureOptions measure;
    measure.variants = paper_variants(as_published);
    measure.seed = options_.seed;
    measure.n_seeds = scale_.n_seeds;
    measure.input = zipf(n_samples);
    measure.progress = progress;
    return measure;
  }

  // Directory of a task's network, trained if it is not there yet; of several seeds the one above them.
  std::filesystem::path trained(const std::string& task, const Progress& progress, double seconds,
                                Index n_seeds) const {
    const TrainingRun run{task, options_.directory / "training" / task, options_.seed, n_seeds, !options_.full};
    options_.train(run, [&](double gone) {
      if (progress) progress(std::min(gone, 0.95 * seconds), seconds, "training " + task);
    });
    return run.directory;
  }
  std::filesystem::path trained(const std::string& task, const Progress& progress, double seconds) const {
    return trained(task, progress, seconds, scale_.n_seeds);
  }

  // A task's network of the first seed.
  std::filesystem::path first_network(const std::filesystem::path& directory) const {
    return scale_.n_seeds > 1 ? directory / fmt::format("seed-{}", options_.seed) : directory;
  }

  void heaviest_paths() {
    Part& part =
        add("fig1", "fig1", "Figure 1: a network is a sum over paths",
            "The heaviest paths of the network that learned to sort: six blocks of two heads, trained here.", 9, 400);
    part.trains = true;
    part.compute = [this, seconds = part.seconds](const Progress& progress) {
      const auto network = first_network(trained("sort", progress, seconds));
      PathsOptions paths_options;
      paths_options.n_top = scale_.shown_paths;
      paths_options.heads = true;
      paths_options.lengths = true;
      paths_options.input.ids = (network / "task.safetensors").string();
      paths_options.input.n_samples = 32;
      paths_options.progress = progress;
      Result result = paths(std::array{network.string()}, paths_options);
      rename(result, network.string(), "sort, trained here");
      return result;
    };
  }

  void published_curves_part() {
    Part& part =
        add("fig2-published", "fig2", "Figure 2 at initialisation, as published",
            fmt::format("The four variants as the published code ran them, on random tokens with the frequencies of "
                        "text: 32 samples of 128. {}",
                        seeds_words()),
            70, 700);
    part.compute = [this](const Progress& progress) {
      const MeasureOptions measured = measure_options(true, 32, progress);
      Result result = measure(kPresets, measured);
      add_predictions({kPresets, measured.variants, {}, measured.seed, measured.input}, {}, result);
      const Agreement compared = compare_with_published(result);
      result.rows.insert(result.rows.end(), compared.rows.begin(), compared.rows.end());
      return result;
    };
  }

  void labelled_curves() {
    Part& part = add(
        "fig2-labelled", "fig2", "Figure 2 at initialisation, as labelled",
        fmt::format("The same with the parts removed that the figure's labels name: the published \"SAN + MLP\" keeps "
                    "the MLP's skip, and ALBERT's MLP removal keeps activation, skip and norm. {} samples of 128. {}",
                    scale_.labelled_samples, seeds_words()),
        20, 700);
    part.compute = [this](const Progress& progress) {
      const MeasureOptions measured = measure_options(false, scale_.labelled_samples, progress);
      Result result = measure(kPresets, measured);
      add_predictions({kPresets, measured.variants, {}, measured.seed, measured.input}, {}, result);
      return result;
    };
  }

  void exact_curves() {
    Part& part = add(
        "fig2-exact", "fig2", "Figure 2 below its floor",
        fmt::format("The published curves end at the rounding of float32, about 2e-7; the networks do not. {} of 128 "
                    "tokens, seed {}.",
                    scale_.exact_samples == 1 ? "One sample" : fmt::format("{} samples", scale_.exact_samples),
                    options_.seed),
        20, 160);
    part.compute = [this](const Progress& progress) {
      CollapseOptions collapse_options;
      collapse_options.seed = options_.seed;
      collapse_options.each_sample = false;
      collapse_options.input = zipf(scale_.exact_samples);
      collapse_options.progress = progress;
      Result result = collapse(kPresets, collapse_options);
      add_predictions({kPresets, collapse_options.variants, {}, options_.seed, collapse_options.input}, {}, result);
      return result;
    };
  }

  // Checkpoints that were given, beside the published curves; without any, networks trained here.
  void trained_curves() {
    struct Given {
      const std::string& directory;
      const char *published, *name;
    };
    const std::array<Given, 3> given = {{{options_.bert, "BERT", "BERT, as given"},
                                         {options_.albert, "Albert", "ALBERT, as given"},
                                         {options_.xlnet, "XLNet", "XLNet, as given"}}};
    std::vector<std::array<std::string, 3>> models;  // directory, published, name
    std::string identities;
    for (const Given& one : given) {
      if (one.directory.empty()) continue;
      models.push_back({one.directory, one.published, one.name});
      identities += fmt::format("; {} {}", one.directory, directory_identity(one.directory));
    }
    if (models.empty()) {
      Part& part =
          add("fig2-trained", "fig2", "Figure 2, trained",
              "These are not BERT, ALBERT and XLNet, whose weights were not given, but small networks that rankfall "
              "trained for Figure 4, on their own task data, as labelled. They have no MLPs, so that full and san+skip "
              "are one network, and san and san+mlp another.",
              4, 30);
      part.trains = true;
      part.compute = [this](const Progress& progress) { return trained_here(progress); };
      return;
    }
    Part& part =
        add("fig2-trained", "fig2", "Figure 2, trained",
            fmt::format("The given checkpoints, variants as published, on {}; the published curves are of other texts.",
                        options_.text.empty() ? "random tokens" : "the given text"),
            25 * static_cast<double>(models.size()), 25 * static_cast<double>(models.size()));
    part.settings += identities + (options_.text.empty() ? "" : "; text " + identity(options_.text));
    part.compute = [this, models](const Progress& progress) {
      MeasureOptions measure_of = measure_options(true, 32, progress);
      measure_of.n_seeds = 1;
      if (!options_.text.empty()) measure_of.input.text = options_.text;
      const auto directories = mapped<std::string>(models, [](const auto& model) { return model[0]; });
      Result result = measure(directories, measure_of);
      for (const auto& [directory, published, name] : models) {
        rename(result, directory, name);
        for (Row& row : published_curves(published, "pretrained", name)) result.rows.push_back(std::move(row));
      }
      return result;
    };
  }

  Result trained_here(const Progress& progress) const {
    Result all;
    for (std::size_t i = 0; i < kTasks.size(); ++i) {
      const auto network = first_network(trained(kTasks[i], progress, task_seconds(i)));
      MeasureOptions measure_of;
      measure_of.input.n_samples = 32;
      auto& file = std::string_view(kTasks[i]) == "hull" ? measure_of.input.features : measure_of.input.ids;
      file = (network / "task.safetensors").string();
      Result result = measure(std::array{network.string()}, measure_of);
      rename(result, network.string(), fmt::format("{}, trained here", kTasks[i]));
      if (i == 0) {
        all = std::move(result);
      } else {
        all.rows.insert(all.rows.end(), result.rows.begin(), result.rows.end());
      }
      if (progress) progress(static_cast<double>(i + 1), kTasks.size(), "trained networks");
    }
    return all;
  }

  double task_seconds(std::size_t task) const {
    constexpr std::array<double, 3> kQuickSeconds = {8, 10, 7}, kFullSeconds = {170, 360, 1300};
    return options_.full ? kFullSeconds.at(task) : kQuickSeconds.at(task);
  }

  void recurrence() {
    Part& part =
        add("fig3", "fig3", "Figure 3: one block applied recurrently",
            options_.full
                ? "Two points on a circle, 300 steps; default training."
                : "Two points on a circle, 300 steps; short training (quick): not every network learned the step.",
            7, 30);
    part.trains = true;
    part.compute = [this, seconds = part.seconds](const Progress& progress) {
      return read_result(trained("circle", progress, seconds, 1) / "circle.json").result;
    };
  }

  void tasks() {
    Part& part = add("fig4", "fig4", "Figure 4: what paths of each length can do",
                     fmt::format("Sorting, convex hull and memorising, {}.",
                                 options_.full ? "ten trainings each" : "one short training each (quick)"),
                     38, 2400);
    part.trains = true;
    part.compute = [this](const Progress& progress) {
      std::vector<std::string> directories;
      for (std::size_t i = 0; i < kTasks.size(); ++i) {
        directories.push_back(trained(kTasks[i], progress, task_seconds(i)).string());
      }
      EffectivenessOptions effectiveness_options;
      effectiveness_options.seed = options_.seed;
      effectiveness_options.progress = progress;
      Result result = effectiveness(directories, effectiveness_options);
      for (std::size_t i = 0; i < kTasks.size(); ++i) rename(result, directories[i], kTasks[i]);
      return result;
    };
  }

  void lengths() {
    Part& part = add("fig5", "fig5", "Figure 5: how long paths are", "Counted exactly; no network is run.", 1, 1);
    part.compute = [](const Progress&) { return counts(published_architectures()); };
  }

  void chained_attention() {
    Part& part =
        add("boxplot", "boxplot", "The box-plot of chained attention",
            fmt::format("BERT-base at initialisation: {} random paths of each length over {} samples, seed {}.",
                        scale_.box_paths, scale_.box_samples, options_.seed),
            40, 300);
    part.compute = [this](const Progress& progress) {
      PathsOptions paths_options;
      paths_options.lengths = false;
      paths_options.n_draws = scale_.box_paths;
      paths_options.as_published = true;
      paths_options.seed = options_.seed;
      paths_options.input = zipf(scale_.box_samples);
      paths_options.progress = progress;
      return paths(std::array{std::string("bert-base@init")}, paths_options);
    };
  }

  void path_shares() {
    Part& part =
        add("paths", "paths", "The exact sum over all paths",
            fmt::format("BERT-base at initialisation, 13^12 paths from each origin: {}, seed {}.",
                        scale_.path_samples == 1 ? "one sample" : fmt::format("{} samples", scale_.path_samples),
                        options_.seed),
            10, 80);
    part.compute = [this](const Progress& progress) {
      PathsOptions paths_options;
      paths_options.heads = true;
      paths_options.n_through = 0;
      paths_options.seed = options_.seed;
      paths_options.input = zipf(scale_.path_samples);
      paths_options.progress = progress;
      return paths(std::array{std::string("bert-base@init")}, paths_options);
    };
  }

  void theory() {
    Part& part = add(
        "bounds", "bounds", "Bounds against the measurement",
        fmt::format("BERT-base at initialisation, {} samples, seed {}.", scale_.bound_samples, options_.seed), 13, 50);
    part.compute = [this](const Progress& progress) {
      BoundsOptions bounds_options;
      bounds_options.seed = options_.seed;
      bounds_options.input = zipf(scale_.bound_samples);
      bounds_options.progress = progress;
      return bounds(std::array{std::string("bert-base@init")}, bounds_options);
    };
  }

  void claims() {
    Part& part = add("audit", "audit", "The audit of the theory",
                     fmt::format("Each search for a counterexample had {} trials.", scale_.audit_trials), 10, 60);
    part.settings += fmt::format("; {} claims", audited_claims().size());
    part.compute = [this](const Progress& progress) {
      AuditOptions audit_options;
      audit_options.n_trials = scale_.audit_trials;
      audit_options.seed = options_.seed;
      audit_options.progress = progress;
      return audit(audit_options);
    };
  }

  // Results of networks in the directory are known by what they are, not by where they lie.
  static void rename(Result& result, const std::string& from, const std::string& to) {
    for (Row& row : result.rows) {
      if (row.model == from) row.model = to;
    }
  }

  ReproduceOptions options_;
  Scale scale_;
  std::vector<Part> parts_;
};

}  // namespace

std::vector<Part> reproduce_parts(const ReproduceOptions& options) {
  // The parts keep what they need of it.
  const auto maker = std::make_shared<Maker>(options);
  std::vector<Part> parts = maker->parts();
  for (Part& part : parts) {
    part.compute = [maker, compute = std::move(part.compute)](const Progress& progress) { return compute(progress); };
  }
  return parts;
}

}  // namespace rankfall
