#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/streams.h"
#include "cli/study.h"
#include <rankfall/audit.h>
#include <rankfall/error.h>

namespace rankfall::cli {
namespace {

struct AuditCommand {
  AuditOptions options;
  std::string claims, witnesses;
  std::vector<std::string> check;
  bool list = false;
  StudyOptions study;
};

// Every witness must still show what it was saved for.
void check_files(const std::vector<std::string>& files) {
  std::string out;
  std::string broken;
  for (const std::string& file : files) {
    const CheckedWitness w = check_witness_file(file);
    out += fmt::format("{}: {}\n  {}\n  left {:.17g}, right {:.17g}: {}\n", file, w.claim, w.statement, w.left, w.right,
                       w.violated  ? "violated"
                       : w.applies ? "not violated"
                                   : "the claim's conditions are not met");
    if (!w.expected) broken += "\n  " + file;
  }
  print_stdout(out);
  if (!broken.empty()) throw Error(ErrorKind::kClaim, "witnesses that do not show what they should:" + broken);
}

// "4b   fails   the composite norm obeys .. (Dong et al. 2021, ..)": one line each.
void list_claims(const std::vector<Index>& numbers) {
  const std::vector<AuditedClaim> claims = audited_claims(numbers);
  std::vector<std::string> verdicts;
  std::size_t width = 0;
  for (const AuditedClaim& claim : claims) {
    claim.verdict.print(verdicts.emplace_back());
    width = std::max(width, verdicts.back().size());
  }
  std::string out;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    std::string number = claims[i].id.substr(0, claims[i].id.find(' '));
    if (number.starts_with('0')) number.erase(0, 1);
    out += fmt::format("{:<4} {:<{}}  {} ({})\n", number, verdicts[i], width, claims[i].statement, claims[i].source);
  }
  print_stdout(out);
}

void run(AuditCommand& command) {
  if (!command.check.empty()) {
    check_files(command.check);
    return;
  }
  if (!command.claims.empty()) command.options.claims = parse_indices("--claims", command.claims);
  if (command.list) {
    list_claims(command.options.claims);
    return;
  }
  command.options.witnesses = command.witnesses;
  StudyCommand study{"audit"};
  study.run = [&](const Progress& progress) {
    command.options.progress = progress;
    return audit(command.options);
  };
  study.check = [](const Result& result) {
    std::string broken;
    for (const std::string& text : unexpected_verdicts(result)) broken += "\n  " + text;
    if (!broken.empty()) throw Error(ErrorKind::kClaim, "verdicts that are not the recorded ones:" + broken);
  };
  run_study(command.study, study);
}

}  // namespace

void bind_audit(CLI::App& sub) {
  auto command = std::make_shared<AuditCommand>();
  sub.footer(
      "Searches for counterexamples to the inequalities, measures what is about networks (docs/theory.md). Exit 5 when "
      "a\n"
      "verdict is not the recorded one.\n"
      "Examples:\n"
      "  rankfall audit --list\n"
      "  rankfall audit\n"
      "  rankfall audit --claims 4-8 --trials 20000 --witnesses .\n"
      "  rankfall audit --check 04b_composite_triangle.json");
  sub.add_option("--claims", command->claims, "claims to check, e.g. 4,7-9")->type_name("NUMBERS")->default_str("all");
  sub.add_option("--trials", command->options.n_trials, "trials per search for a counterexample")
      ->check(CLI::Range(1, 1'000'000'000))
      ->type_name("N")
      ->capture_default_str();
  sub.add_option("--seconds", command->options.seconds,
                 "time limit for all searches together; the output names the searches that it stopped")
      ->check(CLI::Range(0.01, 1e6))
      ->type_name("SECONDS")
      ->default_str("none");
  sub.add_option("--models", command->options.models, "networks, such as trained ones, that claim 28 looks at, too")
      ->type_name("MODEL");
  sub.add_option("--witnesses", command->witnesses, "save the counterexamples found to this directory")
      ->type_name("DIR");
  auto* check = sub.add_option("--check", command->check, "check saved counterexamples again, with a hundred digits")
                    ->type_name("FILE");
  auto* list = sub.add_flag("--list", command->list,
                            "list the claims with their recorded verdicts and sources, one per line; tests nothing");
  add_seed_option(sub, command->options.seed);
  add_threads_option(sub);
  add_output_options(sub, command->study.output);
  for (const char* other : {"--format", "--output", "--claims", "--witnesses"}) check->excludes(sub.get_option(other));
  for (const char* other : {"--format", "--output", "--check", "--witnesses", "--models"})
    list->excludes(sub.get_option(other));
  sub.callback([command] { run(*command); });
}

}  // namespace rankfall::cli
