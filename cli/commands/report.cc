#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/page_date.h"
#include "cli/streams.h"
#include <rankfall/error.h>
#include <rankfall/report.h>

namespace rankfall::cli {
namespace {

struct ReportCommand {
  std::vector<std::string> files;
  std::string output = "report.html";
  std::string charts;
  bool no_charts = false;
  PageOptions page;
};

void run(const ReportCommand& command) {
  const std::filesystem::path output = command.output;
  std::vector<NamedResult> results;
  for (std::size_t i = 0; i < command.files.size(); ++i) {
    const std::string& file = command.files[i];
    std::error_code error;
    for (std::size_t k = 0; k < i; ++k) {
      if (std::filesystem::equivalent(file, command.files[k], error)) {
        throw Error(ErrorKind::kUsage, fmt::format("{} is given twice", file));
      }
    }
    results.push_back(read_result(file));
    // Files of the same name are told apart by their folders.
    const auto same = [&](const std::string& other) {
      return other != file && std::filesystem::path(other).stem() == std::filesystem::path(file).stem();
    };
    if (std::ranges::any_of(command.files, same)) {
      results.back().name = std::filesystem::path(file).replace_extension().string();
    }
  }
  PageOptions options = command.page;
  options.date = page_date();
  constexpr std::size_t kMostNamed = 6;  // a shell's *.json may be hundreds of files
  const std::size_t n_named = std::min(command.files.size(), kMostNamed);
  options.command = fmt::format("rankfall report {}{} -o {}", fmt::join(std::span(command.files).first(n_named), " "),
                                n_named < command.files.size() ? " …" : "", command.output);
  save(make_page(results, options), output, command.charts);
  print_stdout(output.string() + "\n");
}

}  // namespace

void bind_report(CLI::App& sub) {
  auto command = std::make_shared<ReportCommand>();
  sub.footer(
      "The page is one file that needs no network. Results of the same command are compared side by side. Each chart "
      "can "
      "be\n"
      "saved from the page as SVG or PNG; --charts also writes all of them as Vega-Lite with their data, for "
      "notebooks.\n"
      "Examples:\n"
      "  rankfall measure bert-tiny@init -o t.json && rankfall report t.json\n"
      "  rankfall report before.json after.json -o compared.html --title 'Before and after'");
  sub.add_option("FILE", command->files, "results saved with -o FILE.json")->required();
  sub.add_option("-o,--output", command->output, "page to write")->type_name("FILE")->capture_default_str();
  sub.add_option("--charts", command->charts, "also write each chart as Vega-Lite (.vl.json) to this folder")
      ->type_name("DIR");
  // What 0.1 needed to write the page only, which is the default now.
  sub.add_flag("--no-charts", command->no_charts)->group("");
  sub.add_option("--title", command->page.title, "title of the page")->type_name("TEXT");
  sub.parse_complete_callback([command, &sub] {
    if (command->output == "-") throw CLI::ValidationError("--output", "a page needs a file's name");
    check_ending("--output", command->output, {".html", ".htm"});
    check_writable("--output", command->output);
    check_not_input(sub, "--output", command->output);
  });
  sub.callback([command] { run(*command); });
}

}  // namespace rankfall::cli
