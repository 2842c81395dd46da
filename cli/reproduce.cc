#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/progress.h"
#include "cli/reproduce_parts.h"
#include "cli/results.h"
#include "cli/streams.h"
#include "cli/terminal.h"
#include <rankfall/audit.h>
#include <rankfall/bounds.h>
#include <rankfall/counts.h>
#include <rankfall/error.h>
#include <rankfall/published.h>
#include <rankfall/report.h>

namespace rankfall::cli {
namespace {

constexpr const char* kFigures[] = {"fig1", "fig2", "fig3", "fig4", "fig5", "boxplot", "paths", "bounds", "audit"};

struct ReproduceCommand {
  ReproduceOptions options;
  std::string directory = "rankfall-report";
  bool quick = false;
  bool again = false;
  bool quiet = false;
};

std::string text_entry(const Result& result, std::string_view key) {
  for (const auto& [name, value] : result.manifest.entries) {
    if (name == key && std::holds_alternative<std::string>(value)) return std::get<std::string>(value);
  }
  return "";
}

// In the directory, which may come from a stranger, links are not followed: what is written stays inside.
void remove_link(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_symlink(file, error)) return;
  std::filesystem::remove(file, error);
  if (error) throw Error(ErrorKind::kInput, fmt::format("{}: is a link, and {}", file.string(), error.message()));
}

void make_directory(const std::filesystem::path& directory) {
  std::error_code error;
  if (std::filesystem::is_symlink(directory, error)) {
    throw Error(ErrorKind::kInput, fmt::format("{}: is a link, expected a directory", directory.string()));
  }
  std::filesystem::create_directories(directory, error);
  if (error) throw Error(ErrorKind::kInput, fmt::format("{}: {}", directory.string(), error.message()));
}

// A directory in which a reproduction lives: results/NAME.json and .csv, charts/, training/, report.html.
class Reproduction {
 public:
  explicit Reproduction(const ReproduceCommand& command)
      : command_(command), results_(command.options.directory / "results"), parts_(reproduce_parts(command.options)) {}

  void run() {
    make_directory(results_);
    lock();
    compute_missing();
    const auto results = collect();
    write_page(results);
    check_claims(results);
  }

 private:
  bool is_chosen(const Part& part) const {
    const auto& only = command_.options.only;
    return only.empty() || std::ranges::find(only, part.figure) != only.end();
  }

  // One reproduction in a directory at a time; the lock goes with the process.
  void lock() const {
    const int fd = open(results_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      throw Error(ErrorKind::kUsage, fmt::format("{}: another reproduction is running in this directory",
                                                 command_.options.directory.string()));
    }
  }

  // The part's result from an earlier run, if it was made with the same settings.
  std::optional<Result> finished(const Part& part) const {
    const auto file = results_ / (part.name + ".json");
    std::error_code error;
    if (!std::filesystem::exists(file, error)) return std::nullopt;
    try {
      Result result = read_result(file).result;
      if (text_entry(result, "part_settings") == part.settings) return result;
    } catch (const Error&) {
      // Somebody else's file, or a broken one: computed anew.
    }
    return std::nullopt;
  }

  void compute_missing() {
    double total = 0;
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!is_chosen(parts_[i])) continue;
      if (!command_.again && finished(parts_[i])) {
        say("{}: kept from an earlier run", parts_[i].name);
        continue;
      }
      if (parts_[i].trains && !training_program()) {
        say("{}: left out; {}", parts_[i].name, no_training_program());
        continue;
      }
      missing.push_back(i);
      total += parts_[i].seconds;
    }
    for (const Part& part : parts_) {
      std::error_code error;
      const bool there = std::filesystem::exists(results_ / (part.name + ".json"), error);
      if (!is_chosen(part) && there && !finished(part)) {
        say("{}: was made with other settings and is left out of the page", part.name);
      }
    }
    double before = 0;
    ProgressLine line(command_.quiet);
    const Progress whole = line.callback();
    for (const std::size_t i : missing) {
      const Part& part = parts_[i];
      const auto begin = std::chrono::steady_clock::now();
      Result result = part.compute([&](double done, double of, std::string_view what) {
        const double share = of > 0 ? std::clamp(done / of, 0.0, 1.0) : 0;
        if (whole) whole(before + share * part.seconds, total, fmt::format("{}: {}", part.name, what));
      });
      keep(part, i, std::move(result));
      before += part.seconds;
      line.clear();
      say("{}: {:.0f} s", part.name, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
  }

  void keep(const Part& part, std::size_t order, Result result) const {
    auto& entries = result.manifest.entries;
    entries.emplace_back("part", part.name);
    entries.emplace_back("part_order", static_cast<std::int64_t>(order + 1));
    entries.emplace_back("part_title", part.title);
    entries.emplace_back("part_intro", part.intro);
    entries.emplace_back("part_settings", part.settings);
    for (const char* ending : {".csv", ".json"}) remove_link(results_ / (part.name + ending));
    save(result, results_ / (part.name + ".csv"), Format::kCsv, {}, false);
    save(result, results_ / (part.name + ".json"), Format::kJson);  // last: it says that the part is finished
  }

  std::vector<NamedResult> collect() const {
    std::vector<NamedResult> results;
    for (const Part& part : parts_) {
      if (auto result = finished(part)) results.push_back({part.name, std::move(*result)});
    }
    if (results.empty()) throw Error(ErrorKind::kUsage, "nothing was computed: the report would be empty");
    std::vector<const Result*> pointers;
    pointers.reserve(results.size());
    for (const NamedResult& one : results) pointers.push_back(&one.result);
    Result compared = agreement(pointers);
    compared.manifest.entries.emplace_back("part", "agreement");
    compared.manifest.entries.emplace_back("part_order", std::int64_t{0});
    for (const char* name : {"agreement.csv", "agreement.json"}) remove_link(results_ / name);
    save(compared, results_ / "agreement.csv", Format::kCsv, {}, false);
    save(compared, results_ / "agreement.json", Format::kJson);
    results.insert(results.begin(), {"agreement", std::move(compared)});
    return results;
  }

  void write_page(const std::vector<NamedResult>& results) const {
    const auto page_file = command_.options.directory / "report.html";
    PageOptions options;
    options.title = "Attention is not all you need, reproduced";
    const char* figures = results.size() == parts_.size() + 1 ? "Every figure" : "Some figures";
    options.subtitle =
        command_.options.full
            ? fmt::format("{} of the paper at its scale, ten seeds from {} on.", figures, command_.options.seed)
            : fmt::format(
                  "{} of the paper, quick settings: one seed ({}), short trainings, few samples where that is said; "
                  "--full has paper scale.",
                  figures, command_.options.seed);
    const Page page = make_page(results, options);
    remove_link(page_file);
    save(page, page_file, command_.options.directory / "charts");
    remove_other_charts(page);
    TableOptions table;
    table.colour = wants_colour(STDOUT_FILENO);
    table.width = terminal_width(STDOUT_FILENO, table.width);
    table.unicode = wants_unicode();
    if (!command_.quiet) write_stdout(to_table(results.front().result, table) + "\n");
    print_stdout(fmt::format("report: {}\n", std::filesystem::absolute(page_file).lexically_normal().string()));
  }

  // Charts of an earlier page that this one does not have. Their names begin with the section: s2-exact-1.vl.json.
  void remove_other_charts(const Page& page) const {
    std::set<std::string> names;
    for (const auto& [name, text] : page.charts) names.insert(name);
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(command_.options.directory / "charts", error)) {
      const std::string name = entry.path().filename().string();
      const bool ours = name.size() > 1 && name[0] == 's' && name[1] >= '0' && name[1] <= '9';
      if (ours && name.ends_with(".vl.json") && !names.contains(name)) std::filesystem::remove(entry.path(), error);
    }
  }

  static void check_claims(const std::vector<NamedResult>& results) {
    for (const NamedResult& one : results) {
      if (one.result.command == "bounds" && !violated_bounds(one.result).empty()) {
        throw Error(ErrorKind::kClaim, "a proved bound is violated: results/bounds.json");
      }
      if (one.result.command != "audit") continue;
      if (const auto claims = unexpected_verdicts(one.result); !claims.empty()) {
        throw Error(ErrorKind::kClaim,
                    fmt::format("verdicts other than the recorded ones: {}", fmt::join(claims, ", ")));
      }
    }
  }

  template <class... Args>
  void say(fmt::format_string<Args...> text, Args&&... args) const {
    if (!command_.quiet) cli::say(fmt::format(text, std::forward<Args>(args)...));
  }

  const ReproduceCommand& command_;
  std::filesystem::path results_;
  std::vector<Part> parts_;
};

void run(ReproduceCommand& command) {
  for (const std::string& figure : command.options.only) {
    if (std::ranges::find(kFigures, figure) == std::end(kFigures)) {
      throw Error(ErrorKind::kUsage, fmt::format("--only {}: expected some of {}", figure, fmt::join(kFigures, ", ")));
    }
  }
  command.options.directory = command.directory;
  if (!command.options.text.empty() && command.options.bert.empty() && command.options.albert.empty() &&
      command.options.xlnet.empty()) {
    throw Error(ErrorKind::kUsage, "--text is for trained checkpoints: give --bert, --albert or --xlnet");
  }
  // Before the long computation: what is given is a model.
  for (const std::string& model : {command.options.bert, command.options.albert, command.options.xlnet}) {
    if (!model.empty()) architecture_of(model);
  }
  try {
    Reproduction(command).run();
  } catch (const CLI::RuntimeError& stopped) {
    if (stopped.get_exit_code() > 128) say("stopped; the same reproduce goes on where it was");
    throw;
  }
}

}  // namespace

void bind_reproduce(CLI::App& sub) {
  auto command = std::make_shared<ReproduceCommand>();
  sub.footer(
      "Writes DIR/report.html, DIR/results/*.json and *.csv, DIR/charts/*.vl.json and DIR/training/. Parts that are\n"
      "finished are kept: run it again after an interruption, or with --only, and it goes on.\n"
      "Examples:\n"
      "  rankfall reproduce\n"
      "  rankfall reproduce --only fig2,fig5 -o figures\n"
      "  rankfall reproduce --bert path/to/bert-base-cased --text texts.txt -o with-bert\n"
      "  rankfall reproduce --full -o paper-scale");
  sub.add_option("-o,--output", command->directory, "directory of the report")->type_name("DIR")->capture_default_str();
  sub.add_option("--only", command->options.only, "some of fig1, fig2, fig3, fig4, fig5, boxplot, paths, bounds, audit")
      ->delimiter(',')
      ->allow_extra_args(false);
  auto* quick = sub.add_flag("--quick", command->quick, "one seed, short trainings, a short audit: the default");
  sub.add_flag("--full", command->options.full, "paper scale, ten seeds (about two hours)")->excludes(quick);
  sub.add_option("--bert", command->options.bert, "a trained BERT-base, for Figure 2")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
  sub.add_option("--albert", command->options.albert, "a trained ALBERT-base")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
  sub.add_option("--xlnet", command->options.xlnet, "a trained XLNet-base")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
  sub.add_option("--text", command->options.text, "text for these, a sample a line")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  add_seed_option(sub, command->options.seed);
  add_threads_option(sub);
  sub.add_flag("--again", command->again, "compute finished parts again, from the trained networks there are");
  sub.add_flag("-q,--quiet", command->quiet, "no progress, and no table");
  sub.callback([command] { run(*command); });
}

}  // namespace rankfall::cli
