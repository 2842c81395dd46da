#include "cli/commands.h"

// The one list of commands. A command is a row here and a file that defines its function, which binds the command's
// options to a struct that lives as long as the callback.

namespace rankfall::cli {

void bind_measure(CLI::App& command);
void bind_collapse(CLI::App& command);
void bind_paths(CLI::App& command);
void bind_counts(CLI::App& command);
void bind_theory(CLI::App& command);
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

constexpr const char* kMeasure = "Measure";
constexpr const char* kExplain = "Explain";
constexpr const char* kTheory = "Theory";
constexpr const char* kTrain = "Train";
constexpr const char* kData = "Data";
constexpr const char* kTools = "Tools";

struct Command {
  const char *name, *summary, *group;
  void (*bind)(CLI::App& command);
};

// In the order of the help; the commands of a group stand together.
constexpr Command kCommands[] = {
    {"measure", "Measure how alike tokens become, layer by layer (Figure 2)", kMeasure, bind_measure},
    {"collapse", "Track the residual exactly at any depth, far below rounding", kMeasure, bind_collapse},
    {"lowrank", "Measure the rank of attention matrices and what cheaper attention changes", kMeasure, bind_lowrank},
    {"reproduce", "Reproduce every figure of the paper in one report, beside the published numbers", kMeasure,
     bind_reproduce},
    {"paths", "Decompose a network into paths, by length, head or token", kExplain, bind_paths},
    {"counts", "Count the paths of each length exactly (Figure 5)", kExplain, bind_counts},
    {"effectiveness", "Measure how well paths of each length alone solve a task (Figure 4)", kExplain,
     bind_effectiveness},
    {"theory", "Predict what a network does to its tokens, from its description alone", kTheory, bind_theory},
    {"bounds", "Check which theorems apply to a network, and how tight they are", kTheory, bind_bounds},
    {"audit", "Check every claim of the theory: statement, verdict, evidence", kTheory, bind_audit},
    {"train", "Train a network on a task: sort, hull, memorize or circle", kTrain, bind_training},
    {"circle", "Train the recurrent network of Figure 3 and draw its trajectories", kTrain, bind_training},
    {"report", "Make an HTML page of saved results", kData, bind_report},
    {"capture", "Save hidden states and attention matrices as safetensors", kData, bind_capture},
    {"parity", "Compare hidden states and attention with another implementation's", kData, bind_parity},
    {"tokens", "Show how a text is tokenised", kData, bind_tokens},
    {"models", "List the models that commands accept", kTools, bind_models},
    {"metrics", "List the metrics, with formula and meaning", kTools, bind_metrics},
    {"bench", "Measure speed as a share of this machine's matrix-product peak", kTools, bind_bench},
    {"doctor", "Check this machine and build, and whether results are reproducible", kTools, bind_doctor},
    {"help", "Show the help of a command", kTools, bind_help},
    {"version", "Print the version", kTools, bind_version},
    {"manual", "Show the manual as a man page", kTools, bind_manual},
    {"completion", "Print a shell completion script", kTools, bind_completion},
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
