#include "cli/commands.h"

// The one list of commands. A command is a row here and a file that defines its function, which binds the command's
// options to a struct that lives as long as the callback.

namespace rankfall::cli {

void bind_measure(CLI::App& command);
void bind_collapse(CLI::App& command);
void bind_paths(CLI::App& command);
void bind_counts(CLI::App& command);
void bind_bounds(CLI::App& command);
void bind_audit(CLI::App& command);
void bind_lowrank(CLI::App& command);
void bind_training(CLI::App& command);
void bind_effectiveness(CLI::App& command);
void bind_reproduce(CLI::App& command);
void bind_report(CLI::App& command);
void bind_capture(CLI::App& command);
void bind_parity(CLI::App& command);
void bind_tokens(CLI::App& command);
void bind_bench(CLI::App& command);
void bind_doctor(CLI::App& command);
void bind_metrics(CLI::App& command);
void bind_models(CLI::App& command);
void bind_help(CLI::App& command);
void bind_version(CLI::App& command);
void bind_manual(CLI::App& command);
void bind_completion(CLI::App& command);

namespace {

constexpr const char* kStudies = "Studies";
constexpr const char* kTraining = "Training";
constexpr const char* kReports = "Reports";
constexpr const char* kStates = "Inputs and states";
constexpr const char* kHelp = "Help and setup";

struct Command {
  const char *name, *summary, *group;
  void (*bind)(CLI::App& command);
};

constexpr Command kCommands[] = {
    {"measure", "Measure how alike tokens become, layer by layer (Figure 2)", kStudies, bind_measure},
    {"collapse", "Follow the residual exactly at any depth, far below rounding", kStudies, bind_collapse},
    {"paths", "Decompose a network into paths: by length, head, token or one by one", kStudies, bind_paths},
    {"counts", "Count the paths of each length exactly (Figure 5)", kStudies, bind_counts},
    {"bounds", "Compare every theorem with the measurement, and say whether it applies", kStudies, bind_bounds},
    {"audit", "Check every claim of the theory: statement, verdict, evidence", kStudies, bind_audit},
    {"lowrank", "Spectra of attention, Johnson-Lindenstrauss, cheaper attention", kStudies, bind_lowrank},
    {"effectiveness", "Measure how well paths of each length alone do a task (Figure 4)", kStudies, bind_effectiveness},
    {"train", "Train a network on a task: sort, hull, memorize or circle", kTraining, bind_training},
    {"circle", "Train the recurrence of Figure 3 and follow its two tracks", kTraining, bind_training},
    {"reproduce", "Reproduce all figures of the paper in one report, beside the published numbers", kReports,
     bind_reproduce},
    {"report", "Make an HTML page of saved results", kReports, bind_report},
    {"capture", "Write hidden states and attentions as safetensors", kStates, bind_capture},
    {"parity", "Compare states and attentions with those of another implementation", kStates, bind_parity},
    {"tokens", "Show how a text is tokenised", kStates, bind_tokens},
    {"metrics", "List the metrics of results, with formula and meaning", kHelp, bind_metrics},
    {"models", "List the models that commands accept", kHelp, bind_models},
    {"bench", "Measure speed as a share of this machine's matrix-product peak", kHelp, bind_bench},
    {"doctor", "Check this machine and build, and whether results are reproducible", kHelp, bind_doctor},
    {"help", "Show the help of a command", kHelp, bind_help},
    {"version", "Print the version", kHelp, bind_version},
    {"manual", "Print the manual as a man page", kHelp, bind_manual},
    {"completion", "Print a shell completion script", kHelp, bind_completion},
};

}  // namespace

void add_commands(CLI::App& app) {
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    sub->group(command.group);
    command.bind(*sub);
  }
}

}  // namespace rankfall::cli
