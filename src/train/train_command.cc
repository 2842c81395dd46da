#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/streams.h"
#include "cli/usage_errors.h"
#include "result/manifest.h"
#include "train/commands.h"
#include "train/jobs.h"
#include "train/task_data.h"
#include "train/training_files.h"
#include "train/training_memory.h"
#include <rankfall/error.h>
#include <rankfall/report.h>

namespace rankfall::train {
namespace {

// What is given replaces the task's default.
struct Overrides {
  std::optional<Index> n_train, n_eval, n_tokens, n_symbols, n_blocks, n_heads, width, mlp, batch, n_epochs;
  std::optional<std::string> norm, optimiser, schedule, text, tokenizer, special_tokens, init;
  std::optional<double> learning_rate, weight_decay, dropout, clip, init_std;
  bool no_positions = false, no_attn_skip = false, no_mlp_skip = false, no_shuffle = false;

  void apply(TrainSettings& s) const {
    const auto put = [](const auto& given, auto& value) {
      if (given) value = *given;
    };
    put(n_train, s.n_train);
    // Memorising is asked for what was learned.
    if (n_train && s.task == "memorize") s.n_eval = *n_train;
    put(n_eval, s.n_eval);
    put(n_tokens, s.n_tokens);
    put(n_symbols, s.n_symbols);
    put(n_blocks, s.n_blocks);
    put(n_heads, s.n_heads);
    put(width, s.width);
    put(mlp, s.mlp);
    put(batch, s.batch);
    put(n_epochs, s.n_epochs);
    put(norm, s.norm);
    put(optimiser, s.optimiser);
    put(schedule, s.schedule);
    put(init, s.init);
    put(init_std, s.init_std);
    put(learning_rate, s.learning_rate);
    put(weight_decay, s.weight_decay);
    put(dropout, s.dropout);
    put(clip, s.clip);
    put(text, s.text);
    put(tokenizer, s.tokenizer);
    put(special_tokens, s.special_tokens);
    if (no_positions) s.positions = false;
    if (no_attn_skip) s.attn_skip = false;
    if (no_mlp_skip) s.mlp_skip = false;
    if (no_shuffle) s.shuffle = false;
  }
};

struct TrainCommand {
  std::string task, directory;
  Overrides given;
  bool quick = false, as_published = false;
  std::uint64_t seed = 0;
  Index n_seeds = 1;
  RunOptions run;
};

std::vector<TrainJob> jobs_of(const TrainCommand& command) {
  TrainSettings settings =
      command.as_published ? published_settings(command.task) : default_settings(command.task, command.quick);
  command.given.apply(settings);
  check_settings(settings);
  if (!settings.text.empty()) {
    settings.seed = command.seed;
    const TaskData data = make_task(settings);
    settings.n_symbols = data.n_symbols;
    settings.text_digest = digest_of(data.train);
    settings.n_train = settings.n_eval = static_cast<Index>(data.train.samples.size());
  }
  std::vector<TrainJob> jobs;
  for (Index i = 0; i < command.n_seeds; ++i) {
    settings.seed = command.seed + static_cast<std::uint64_t>(i);
    const std::filesystem::path directory = command.directory;
    jobs.push_back({settings, command.n_seeds == 1 ? directory : directory / fmt::format("seed-{}", settings.seed),
                    fmt::format("{} seed {}", settings.task, settings.seed)});
  }
  return jobs;
}

// The last value of a metric.
std::optional<double> last(const Result& history, std::string_view metric, std::string_view kind) {
  std::optional<double> value;
  for (const Row& row : history.rows) {
    if (row.metric == metric && row.kind == kind) value = row.mean;
  }
  return value;
}

void print_summary(const TrainCommand& command, const std::vector<TrainJob>& jobs,
                   const std::vector<Trained>& trained) {
  std::string text;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const TrainSettings& s = jobs[j].settings;
    text += fmt::format("{}, seed {}: ", s.task, s.seed);
    if (const auto accuracy = last(trained[j].history, "accuracy", "eval")) {
      text += fmt::format("accuracy {:.4f}, ", *accuracy);
    }
    text += fmt::format("loss {:.4g} on {} sequences{} after {} epoch{}\n",
                        last(trained[j].history, "loss", "eval").value_or(NAN), s.n_eval,
                        s.task == "memorize" ? "" : " it had not seen", s.n_epochs, s.n_epochs == 1 ? "" : "s");
  }
  if (command.as_published) {
    text += "as published, that is with:\n";
    for (const std::string& oddity : published_oddities(jobs[0].settings)) text += "  " + oddity + "\n";
  }
  text += fmt::format(
      "in {}: config.json, model.safetensors, task.safetensors, history.json\n",
      jobs.size() == 1 ? jobs[0].directory.string() : (jobs[0].directory.parent_path() / "seed-*").string());
  cli::print_stdout(text);
}

void run(const TrainCommand& command) {
  const std::vector<TrainJob> jobs = jobs_of(command);
  const std::vector<Trained> trained = run_all(jobs, command.run);
  print_summary(command, jobs, trained);
}

template <class T>
CLI::Option* add_given(CLI::App* sub, const char* name, std::optional<T>& value, const char* help, const char* group) {
  return sub->add_option(name, value, help)->group(group);
}

}  // namespace

void add_run_options(CLI::App& app, RunOptions& options) {
  app.add_flag("--resume", options.resume, "continue the trainings in the directory");
  app.add_flag("--monitor", options.monitor,
               "record per epoch and layer: residual and cosine of the states, gradient norms of W_Q, W_K, W_V");
  app.add_option("--threads", options.n_threads, "trainings at a time, one thread each (default: all cores)")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_flag("-q,--quiet", options.quiet, "print no progress");
}

std::vector<Trained> run_all(const std::vector<TrainJob>& jobs, const RunOptions& options) {
  JobOptions job_options;
  job_options.resume = options.resume;
  job_options.monitor = options.monitor;
  job_options.n_threads =
      options.n_threads > 0 ? options.n_threads : std::max<Index>(1, std::thread::hardware_concurrency());
  for (const TrainJob& job : jobs) {
    check_training_memory(job.settings, std::min(job_options.n_threads, static_cast<Index>(jobs.size())));
  }
  cli::ProgressLine progress(options.quiet);
  job_options.progress = progress.callback();
  std::vector<Trained> trained = run_jobs(jobs, job_options);
  progress.clear();
  if (!std::ranges::all_of(trained, &Trained::complete)) {
    cli::say("rankfall: stopped; the same command with --resume continues");
    throw CLI::RuntimeError(kStopped);
  }
  return trained;
}

void add_train_command(CLI::App& app) {
  auto command = std::make_shared<TrainCommand>();
  CLI::App* sub = app.add_subcommand("train", "Train a network on a task: sort, hull, memorize or circle");
  sub->footer(
      "Tasks: sort, 8 digits to be put in order; hull, which of 10 points are corners of their convex hull; memorize,\n"
      "random labels of the tokens of 500 sequences; circle, the next of points on a circle. Defaults train well; "
      "each\n"
      "option replaces one. The directory is a checkpoint that every command reads.\n"
      "Examples:\n"
      "  rankfall train sort -o sorted\n"
      "  rankfall train hull -o hulls --seeds 3\n"
      "  rankfall train sort -o published --as-published\n"
      "  rankfall train sort -o deep --layers 24 --no-attn-skip --monitor\n"
      "  rankfall train memorize -o memory --text text.txt --vocab path/to/bert-base-uncased\n"
      "  rankfall effectiveness sorted");
  sub->add_option("TASK", command->task, "what to learn: sort, hull, memorize or circle")
      ->required()
      ->check(cli::one_of(task_names()));
  sub->add_option("-o,--output", command->directory, "directory for the checkpoint; with several seeds DIR/seed-N")
      ->required()
      ->type_name("DIR");
  add_run_options(*sub, command->run);
  cli::add_seed_option(*sub, command->seed);
  sub->add_option("--seeds", command->n_seeds, "number of trainings, with consecutive seeds")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  auto* quick = sub->add_flag("--quick", command->quick, "a smaller network and a shorter training");
  sub->add_flag("--as-published", command->as_published, "use the published settings, mistakes included")
      ->excludes(quick);
  Overrides& given = command->given;
  constexpr const char* kData = "Data";
  constexpr const char* kNetwork = "Network";
  constexpr const char* kTraining = "Training";
  const CLI::Range many(1, 100'000'000);
  add_given(sub, "--train", given.n_train, "training sequences", kData)->check(many);
  add_given(sub, "--eval", given.n_eval, "evaluation sequences", kData)->check(many);
  add_given(sub, "--tokens", given.n_tokens, "tokens per sequence", kData)->check(CLI::Range(1, 1'000'000));
  add_given(sub, "--symbols", given.n_symbols, "number of digits, or size of the vocabulary", kData)
      ->check(CLI::Range(2, 1 << 24));
  auto* text =
      add_given(sub, "--text", given.text, "memorize: text to learn, one sequence per line", kData)->type_name("FILE");
  add_given(sub, "--vocab", given.tokenizer, "memorize: directory with the tokenizer", kData)
      ->type_name("DIR")
      ->needs(text);
  add_given(sub, "--special-tokens", given.special_tokens, cli::kSpecialTokensHelp, kData)
      ->check(cli::one_of(cli::special_tokens_names()))
      ->default_str("as-stored")
      ->needs(text);
  add_given(sub, "--layers", given.n_blocks, "number of blocks", kNetwork)->check(CLI::Range(1, 10'000));
  add_given(sub, "--heads", given.n_heads, "number of heads", kNetwork)->check(CLI::Range(1, 4096));
  add_given(sub, "--dim", given.width, "width", kNetwork)->check(CLI::Range(1, 262'144));
  add_given(sub, "--mlp", given.mlp, "inner width of the MLP; 0 for none", kNetwork)->check(CLI::Range(0, 262'144));
  add_given(sub, "--norm", given.norm, "place of the norm", kNetwork)->check(cli::one_of({"post", "pre", "none"}));
  add_given(sub, "--init", given.init, "initial weights: all normal, or published (value and output weights uniform)",
            kNetwork)
      ->check(cli::one_of({"normal", "published"}));
  add_given(sub, "--init-std", given.init_std, "standard deviation of the drawn weights", kNetwork)
      ->check(CLI::Range(0.0, 1000.0));
  sub->add_flag("--no-positions", given.no_positions, "leave out position embeddings")->group(kNetwork);
  sub->add_flag("--no-attn-skip", given.no_attn_skip, "leave out the skip connection around attention")
      ->group(kNetwork);
  sub->add_flag("--no-mlp-skip", given.no_mlp_skip, "leave out the skip connection around the MLP")->group(kNetwork);
  add_given(sub, "--epochs", given.n_epochs, "number of epochs", kTraining)->check(CLI::Range(1, 1'000'000));
  add_given(sub, "--batch", given.batch, "sequences per step", kTraining)->check(CLI::Range(1, 1'000'000));
  add_given(sub, "--lr", given.learning_rate, "learning rate at its largest", kTraining)
      ->check(CLI::Range(0.0, 1000.0));
  add_given(sub, "--schedule", given.schedule, "course of the learning rate", kTraining)
      ->check(cli::one_of({"constant", "one-cycle", "linear", "steps"}));
  add_given(sub, "--optimiser", given.optimiser, "optimiser", kTraining)->check(cli::one_of({"adamw", "adam"}));
  add_given(sub, "--weight-decay", given.weight_decay, "weight decay", kTraining)->check(CLI::Range(0.0, 1000.0));
  add_given(sub, "--dropout", given.dropout, "dropout probability", kTraining)->check(CLI::Range(0.0, 0.99));
  add_given(sub, "--clip", given.clip, "clip gradients to this norm; 0 for no limit", kTraining)
      ->check(CLI::Range(0.0, 1e9));
  sub->add_flag("--no-shuffle", given.no_shuffle, "keep the order of sequences in every epoch")->group(kTraining);
  sub->callback([command] { run(*command); });
}

}  // namespace rankfall::train
