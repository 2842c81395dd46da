#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/results.h"
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
  std::vector<NamedResult> results;
  for (const std::string& file : command.files) results.push_back(read_result(file));
  const std::filesystem::path output = command.output;
  std::filesystem::path charts;
  if (!command.no_charts) {
    charts = command.charts.empty() ? output.parent_path() / (output.stem().string() + "-charts")
                                    : std::filesystem::path(command.charts);
  }
  const Page page = make_page(results, command.page);
  save(page, output, charts);
  write_stdout(output.string() + "\n");
}

}  // namespace

void add_report_command(CLI::App& app) {
  auto command = std::make_shared<ReportCommand>();
  CLI::App* sub = app.add_subcommand("report", "an HTML page from saved results");
  sub->footer(
      "The page is one file that needs no network. Results of the same command are compared side by side. Each chart "
      "is\n"
      "also written by itself, as Vega-Lite with its data, for notebooks.\n"
      "Examples:\n"
      "  rankfall measure bert-tiny@init -o tiny.json && rankfall report tiny.json\n"
      "  rankfall report before.json after.json -o compared.html --title 'Before and after'");
  sub->add_option("FILE", command->files, "results that other commands wrote with -o FILE.json")->required();
  sub->add_option("-o,--output", command->output, "the page")->type_name("FILE")->capture_default_str();
  auto* charts = sub->add_option("--charts", command->charts, "folder for the charts as .vl.json")
                     ->type_name("DIR")
                     ->default_str("the page's name with -charts");
  sub->add_flag("--no-charts", command->no_charts, "the page only")->excludes(charts);
  sub->add_option("--title", command->page.title, "heading of the page")->type_name("TEXT");
  sub->parse_complete_callback([command] { check_writable("--output", command->output); });
  sub->callback([command] { run(*command); });
}

}  // namespace rankfall::cli
