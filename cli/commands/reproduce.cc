#include "reproduce/reproduce.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/page_date.h"
#include "cli/process.h"
#include "cli/progress.h"
#include "cli/streams.h"
#include "cli/terminal.h"
#include "cli/usage_errors.h"
#include <rankfall/error.h>
#include <rankfall/report.h>

namespace rankfall::cli {
namespace {

struct ReproduceCommand {
  ReproduceOptions options;
  std::string directory = "rankfall-report";
  std::string charts;
  bool quick = false;
  bool quiet = false;
};

// rankfall-train; ends this command with its exit code if that is not 0, for it has said why.
void train(const TrainingRun& run, const std::function<void(double seconds)>& waiting) {
  std::vector<std::string> arguments = {"circle"};
  if (run.task != "circle") arguments = {"train", run.task};
  for (const std::string& word : {std::string("-o"), run.directory.string(), std::string("--quiet"),
                                  std::string("--resume"), std::string("--seed"), std::to_string(run.seed)}) {
    arguments.push_back(word);
  }
  if (run.quick) arguments.emplace_back("--quick");
  if (run.n_seeds > 1) arguments.insert(arguments.end(), {"--seeds", std::to_string(run.n_seeds)});
  if (const int code = run_self(arguments, waiting); code != 0) throw CLI::RuntimeError(code);
}

Reproduction reproduce_with_progress(ReproduceCommand& command) {
  ReproduceOptions& options = command.options;
  ProgressLine line(command.quiet);
  options.progress = line.callback();
  options.report = [&](std::string_view text) {
    line.clear();
    if (!command.quiet) say(text);
  };
  if (training_program()) {
    options.train = train;
  } else {
    options.no_training = no_training_program();
  }
  try {
    return reproduce(options);
  } catch (const CLI::RuntimeError& stopped) {
    line.clear();
    if (stopped.get_exit_code() > 128) say("stopped; the same reproduce goes on where it was");
    throw;
  }
}

void run(ReproduceCommand& command) {
  ReproduceOptions& options = command.options;
  options.directory = command.directory;
  options.charts = command.charts;
  options.date = page_date();
  options.command =
      fmt::format("rankfall reproduce{}{}{} -o {}", options.full ? " --full" : "",
                  options.only.empty() ? "" : fmt::format(" --only {}", fmt::join(options.only, ",")),
                  options.seed == 0 ? "" : fmt::format(" --seed {}", options.seed), options.directory.string());
  if (!options.text.empty() && options.bert.empty() && options.albert.empty() && options.xlnet.empty()) {
    throw Error(ErrorKind::kUsage, "--text is for trained checkpoints: give --bert, --albert or --xlnet");
  }
  const Reproduction done = reproduce_with_progress(command);
  TableOptions table;
  table.colour = wants_colour(STDOUT_FILENO);
  table.width = terminal_width(STDOUT_FILENO, table.width);
  table.unicode = wants_unicode();
  if (!command.quiet) write_stdout(to_table(done.agreement, table) + "\n");
  print_stdout(fmt::format("report: {}\n", done.page.string()));
  if (!done.broken.empty()) throw Error(ErrorKind::kClaim, done.broken);
}

}  // namespace

void bind_reproduce(CLI::App& sub) {
  auto command = std::make_shared<ReproduceCommand>();
  sub.footer(
      "Writes DIR/report.html, DIR/results/*.json and *.csv, and DIR/training/. Parts that are finished are kept: run "
      "it\n"
      "again after an interruption, or with --only, and it goes on.\n"
      "Examples:\n"
      "  rankfall reproduce\n"
      "  rankfall reproduce --only fig2,fig5 -o figures\n"
      "  rankfall reproduce --bert path/to/bert-base-cased --text texts.txt -o with-bert\n"
      "  rankfall reproduce --full -o paper-scale");
  sub.add_option("-o,--output", command->directory, "directory of the report")->type_name("DIR")->capture_default_str();
  sub.add_option("--only", command->options.only,
                 fmt::format("reproduce only these, joined by commas: {}", fmt::join(reproduced_figures(), ", ")))
      ->delimiter(',')
      ->check(one_of(reproduced_figures()))
      ->type_name("FIGURES")
      ->allow_extra_args(false);
  auto* quick = sub.add_flag("--quick", command->quick, "one seed, short trainings, a short audit (the default)");
  sub.add_flag("--full", command->options.full, "the paper's scale, ten seeds (about two hours)")->excludes(quick);
  sub.add_option("--charts", command->charts, "also write each chart as Vega-Lite (.vl.json) to this folder")
      ->type_name("DIR");
  sub.add_option("--bert", command->options.bert, "trained BERT-base checkpoint for Figure 2")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
  sub.add_option("--albert", command->options.albert, "trained ALBERT-base checkpoint")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
  sub.add_option("--xlnet", command->options.xlnet, "trained XLNet-base checkpoint")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
  sub.add_option("--text", command->options.text,
                 "text for the checkpoints of --bert, --albert and --xlnet, one sample per line")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  add_seed_option(sub, command->options.seed);
  add_threads_option(sub);
  sub.add_flag("--again", command->options.again,
               "compute finished parts again; networks that are already trained are kept");
  sub.add_flag("-q,--quiet", command->quiet, "print no progress and no table");
  sub.callback([command] { run(*command); });
}

}  // namespace rankfall::cli
