#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include <rankfall/error.h>
#include <rankfall/version.h>

namespace {

constexpr int kUsage = 2;
constexpr int kNoMemory = 4;
constexpr int kBug = 70;

int fail(int code, std::string text) {
  fmt::print(stderr, "rankfall: {}\n", rankfall::cli::harmless(std::move(text)));
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit is an error that is said, not the end
  CLI::App app{"rankfall: the reference instrument for rank collapse in transformers", "rankfall"};
  app.set_version_flag("--version", RANKFALL_VERSION);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) {
    const auto chosen = failed->get_subcommands();
    return fmt::format("rankfall: {}\nTry 'rankfall {}--help'.\n", error.what(),
                       chosen.empty() ? "" : chosen.front()->get_name() + " ");
  });
  try {
    rankfall::cli::add_measure_command(app);
    rankfall::cli::add_collapse_command(app);
    rankfall::cli::add_paths_command(app);
    rankfall::cli::add_counts_command(app);
    rankfall::cli::add_bounds_command(app);
    rankfall::cli::add_audit_command(app);
    rankfall::cli::add_capture_command(app);
    rankfall::cli::add_parity_command(app);
    rankfall::cli::add_tokens_command(app);
    rankfall::cli::add_bench_command(app);
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);  // prints help, version or the failure message
    return code == 0 ? 0 : kUsage;
  } catch (const rankfall::Error& error) {
    return fail(static_cast<int>(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(kNoMemory, "out of memory; fewer samples or tokens, or a smaller model, need less");
  } catch (const std::exception& error) {
    return fail(kBug, fmt::format("internal error: {}\nThis is a bug in rankfall; please report it.", error.what()));
  }
}
