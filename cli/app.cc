#include "cli/app.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/output.h"
#include <rankfall/error.h>
#include <rankfall/version.h>

namespace rankfall::cli {
namespace {

constexpr int kUsage = 2;
constexpr int kNoMemory = 4;
constexpr int kBug = 70;

int fail(int code, std::string text) {
  fmt::print(stderr, "rankfall: {}\n", harmless(std::move(text)));
  return code;
}

}  // namespace

int run_app(int argc, char** argv, const char* name, const char* description, void (*add)(CLI::App& app)) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit is an error that is said, not the end
  CLI::App app{description, name};
  app.set_version_flag("--version", RANKFALL_VERSION);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App* failed, const CLI::Error& error) {
    std::string command = failed->get_name();
    for (auto chosen = failed->get_subcommands(); !chosen.empty(); chosen = chosen.front()->get_subcommands()) {
      command += " " + chosen.front()->get_name();
    }
    return fmt::format("rankfall: {}\nTry '{} --help'.\n", error.what(), command);
  });
  try {
    add(app);
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::RuntimeError& error) {  // a subcommand's own exit code, all said already
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);  // prints help, version or the failure message
    return code == 0 ? 0 : kUsage;
  } catch (const Error& error) {
    return fail(static_cast<int>(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(kNoMemory, "out of memory; fewer samples or tokens, or a smaller model, need less");
  } catch (const std::exception& error) {
    return fail(kBug, fmt::format("internal error: {}\nThis is a bug in rankfall; please report it.", error.what()));
  }
}

}  // namespace rankfall::cli
