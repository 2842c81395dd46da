#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/usage_errors.h"
#include "result/manifest.h"
#include "train/commands.h"
#include "train/task_data.h"
#include "train/tracks.h"
#include <rankfall/error.h>
#include <rankfall/forward.h>
#include <rankfall/model.h>
#include <rankfall/report.h>

namespace rankfall::train {
namespace {

struct CircleCommand {
  std::string directory;
  std::vector<Index> widths = {32, 64, 128};
  std::optional<Index> n_epochs;
  std::optional<double> learning_rate;
  Index n_steps = 300;
  bool quick = false, as_published = false;
  std::uint64_t seed = 0;
  std::string norm = "post";
  RunOptions run;
  cli::OutputOptions output;
};

struct CircleVariant {
  std::string name;
  void (*make)(TrainSettings&);
};

// Each means what it says.
const std::vector<CircleVariant> kVariants = {
    {"attention", [](TrainSettings& s) { s.attn_skip = false; }},
    {"attention+skip", [](TrainSettings& /*s*/) {}},
    {"attention+mlp",
     [](TrainSettings& s) {
       s.attn_skip = s.mlp_skip = false;
       s.mlp = s.width;
     }},
    {"attention+skip+mlp", [](TrainSettings& s) { s.mlp = s.width; }},
};
// The published names: all of them have skip and norm inside the block.
const std::vector<CircleVariant> kPublished = {
    {"published SAN", [](TrainSettings& /*s*/) {}},
    {"published SAN+skip", [](TrainSettings& s) { s.outer_skip = true; }},
    {"published SAN+MLP", [](TrainSettings& s) { s.mlp = s.width; }},
    {"published SAN+skip+MLP",
     [](TrainSettings& s) {
       s.outer_skip = true;
       s.mlp = s.width;
     }},
};

struct CircleJob {
  TrainJob job;
  std::string model, variant;
};

std::vector<CircleJob> jobs_of(const CircleCommand& command) {
  std::vector<CircleJob> jobs;
  std::vector<Index> widths;
  for (const Index width : command.widths) {
    if (std::ranges::find(widths, width) == widths.end()) widths.push_back(width);
  }
  for (const Index width : widths) {
    for (const CircleVariant& variant : command.as_published ? kPublished : kVariants) {
      TrainSettings s = command.as_published ? published_settings("circle") : default_settings("circle", command.quick);
      s.width = width;
      s.seed = command.seed;
      s.norm = command.norm;
      if (command.n_epochs) s.n_epochs = *command.n_epochs;
      if (command.learning_rate) s.learning_rate = *command.learning_rate;
      variant.make(s);
      check_settings(s);
      std::string folder = fmt::format("{}-{}", variant.name, width);
      std::ranges::replace(folder, ' ', '-');
      jobs.push_back({{s, std::filesystem::path(command.directory) / "models" / folder,
                       fmt::format("circle {} {}", width, variant.name)},
                      fmt::format("width {}", width),
                      variant.name});
    }
  }
  return jobs;
}

// The two tracks of the recurrence: X_{t+1} = network(X_t). As published with an outer skip the input is the start and
// the sum of all outputs.
std::vector<Matrix<double>> tracks(const CircleJob& job, Index n_steps) {
  const Model model = open_model(job.job.directory.string(), 0);
  TrainSettings settings = job.job.settings;
  settings.outer_skip = false;  // the first item is the same
  const Matrix<double> start = std::get<Features>(make_task(settings).train.samples.at(0).content).values;
  std::vector<Matrix<double>> out = {start};
  Matrix<double> input = start;
  for (Index t = 1; t < n_steps; ++t) {
    Sample sample;
    sample.content = Features{input};
    const auto last = forward<double>(model.network, *model.weights, std::span(&sample, 1), {});
    const Matrix<double> next = apply_head<double>(model.network, *model.weights, last)[0];
    input = job.job.settings.outer_skip ? Matrix<double>(input + next) : next;
    out.push_back(next);
  }
  return out;
}

// The loss of saying that nothing moves.
double standing_still(const TrainSettings& settings) {
  TrainSettings plain = settings;
  plain.outer_skip = false;
  const TaskData data = make_task(plain);
  double sum = 0;
  for (std::size_t i = 0; i < data.eval.samples.size(); ++i) {
    sum += (data.eval.targets[i] - std::get<Features>(data.eval.samples[i].content).values).squaredNorm();
  }
  return sum / static_cast<double>(data.eval.samples.size());
}

void add_tracks(const CircleJob& job, const std::vector<Matrix<double>>& states, double loss, Result& result) {
  const auto row = [&](const char* metric, std::optional<Index> step) -> Row& {
    Row& out = result.rows.emplace_back();
    out.model = job.model;
    out.variant = job.variant;
    out.metric = metric;
    out.step = step;
    out.seed = job.job.settings.seed;
    return out;
  };
  std::vector<double> distances;
  for (std::size_t t = 0; t < states.size(); ++t) {
    for (Index token = 0; token < states[t].rows(); ++token) {
      for (const auto& [metric, axis] : {std::pair("track.x", 0), {"track.y", 1}}) {
        Row& out = row(metric, static_cast<Index>(t));
        out.k = token;
        out.mean = states[t](token, axis);
      }
    }
    distances.push_back((states[t].row(0) - states[t].row(1)).norm());
    row("distance", static_cast<Index>(t)).mean = distances.back();
  }
  const Fall fall = fall_of(distances);
  const double left = distances.back() / distances[0];
  const double still = standing_still(job.job.settings);
  Row& verdict = row("distance.left", {});
  if (std::isfinite(left)) verdict.mean = left;
  const char* tracks = !(left < 1e6) ? "the tracks leave the circle"
                       : left < 0.01 ? "the tracks meet"
                       : left < 0.5  ? "the tracks approach"
                                     : "the tracks stay apart";
  verdict.verdict = fmt::format("{}{}", tracks, loss < 0.1 * still ? "" : "; it did not learn the step");
  row("distance.rate", {}).mean = fall.rate;
  if (fall.begins) row("fall.begins", {}).mean = static_cast<double>(*fall.begins);
  if (fall.ends) row("fall.steps", {}).mean = static_cast<double>(*fall.ends - *fall.begins + 1);
  row("loss", {}).mean = loss;
  row("loss.relative", {}).mean = loss / still;
  row("track.turns", {}).mean = turns_of(states);
}

void run(const CircleCommand& command) {
  const std::vector<CircleJob> jobs = jobs_of(command);
  std::vector<TrainJob> trainings;
  trainings.reserve(jobs.size());
  for (const CircleJob& job : jobs) trainings.push_back(job.job);
  // What is trained already with these settings is used again.
  RunOptions options = command.run;
  options.resume = true;
  const std::vector<Trained> trained = run_all(trainings, options);
  Result result;
  result.command = "circle";
  result.manifest = base_manifest();
  add(result.manifest, "seed", command.seed);
  add(result.manifest, "as_published", command.as_published);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    double loss = std::numeric_limits<double>::quiet_NaN();
    for (const Row& row : trained[j].history.rows) {
      if (row.metric == "loss" && row.kind == "eval" && row.mean) loss = *row.mean;
    }
    add_tracks(jobs[j], tracks(jobs[j], command.n_steps), loss, result);
  }
  if (command.as_published) {
    std::vector<std::string> notes = {"as published, that is with:"};
    for (const std::string& oddity : published_oddities(jobs[1].job.settings)) notes.push_back("  " + oddity);
    add(result.manifest, "notes", notes);
  }
  const std::filesystem::path directory = command.directory;
  save(result, directory / "circle.json", Format::kJson, {});
  save(result, directory / "circle.csv", Format::kCsv, {});
  cli::write_result(result, command.output, {});
}

}  // namespace

void add_circle_command(CLI::App& app) {
  auto command = std::make_shared<CircleCommand>();
  CLI::App* sub = app.add_subcommand("circle", "Train the recurrent network of Figure 3 and draw its trajectories");
  sub->footer(
      "Two points on a circle; one block learns to say the next of each, and is then applied to its own output again\n"
      "and again. Writes DIR/circle.json and circle.csv (tracks, their distance by step, its rate) and DIR/models/.\n"
      "Networks that DIR has already, trained with the same settings, are not trained again.\n"
      "Examples:\n"
      "  rankfall circle -o circle\n"
      "  rankfall circle -o circle --dim 32 --steps 1000\n"
      "  rankfall circle -o published --as-published");
  sub->add_option("-o,--output", command->directory, "directory for the results")->required()->type_name("DIR");
  sub->add_option("--dim", command->widths, "widths, joined by commas")
      ->check(CLI::Range(2, 4096))
      ->allow_extra_args(false)
      ->delimiter(',')
      ->capture_default_str();
  sub->add_option("--steps", command->n_steps, "recurrent steps")
      ->check(CLI::Range(2, 1'000'000))
      ->capture_default_str();
  sub->add_option("--epochs", command->n_epochs, "number of epochs")->check(CLI::Range(1, 1'000'000));
  sub->add_option("--lr", command->learning_rate, "learning rate at its largest")->check(CLI::Range(0.0, 1000.0));
  sub->add_option("--norm", command->norm, "place of the norm")
      ->check(cli::one_of({"post", "pre", "none"}))
      ->capture_default_str();
  auto* quick = sub->add_flag("--quick", command->quick, "a shorter training");
  sub->add_flag("--as-published", command->as_published, "use the published settings, mistakes included")
      ->excludes(quick);
  cli::add_seed_option(*sub, command->seed);
  add_run_options(*sub, command->run);
  sub->add_flag("--plot", command->output.plot, "also draw the distance of the trajectories as text");
  sub->add_option("--format", command->output.format, "output format")
      ->check(cli::one_of({"table", "csv", "json"}))
      ->capture_default_str();
  sub->callback([command] { run(*command); });
}

}  // namespace rankfall::train
