#include "cli/app.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/help.h"
#include "cli/manual.h"
#include "cli/progress.h"
#include "cli/streams.h"
#include "cli/usage_errors.h"
#include <rankfall/error.h>
#include <rankfall/process.h>
#include <rankfall/report.h>
#include <rankfall/version.h>

namespace rankfall::cli {
namespace {

constexpr int kUsage = 2;
constexpr int kInput = 3;
constexpr int kNoMemory = 4;
constexpr int kBug = 70;

// Even without memory for the text.
template <class Text>
int fail(int code, const Text& text) noexcept {
  try {
    say(fmt::format("rankfall: {}", text()));
  } catch (const std::exception&) {
    write_stderr(code == kNoMemory ? "rankfall: out of memory\n" : "rankfall: failed, and out of memory to say why\n");
  }
  return code;
}

// What the man page and the completion of a shell ask of each program: --man-sections, --complete WORD..., and, of
// rankfall-train by the other program, COMMAND --complete =WORD..., marked since CLI11 takes "--" for itself. False if
// it is none of these.
bool describe(int argc, char** argv, CLI::App& app) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 1 && words[0] == "--man-sections") {
    write_stdout(man_sections(app));
    return true;
  }
  if (words.size() > 1 && words[1] == "--complete") {
    words.erase(words.begin() + 1);
    for (auto word = words.begin() + 1; word != words.end(); ++word) word->erase(0, 1);
  } else if (!words.empty() && words[0] == "--complete") {
    words.erase(words.begin());
  } else {
    return false;
  }
  const auto elsewhere = app.get_subcommands([&](const CLI::App* command) {
    return words.size() > 1 && command->get_name() == words[0] && is_elsewhere(*command);
  });
  if (!elsewhere.empty()) {
    for (auto word = words.begin() + 1; word != words.end(); ++word) word->insert(0, 1, '=');
    words.insert(words.begin() + 1, "--complete");
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app.parse(words);
    return true;
  }
  for (const std::string& word : completions(app, words)) write_stdout(word + "\n");
  return true;
}

int run(int argc, char** argv, const char* name, const char* description, void (*add)(CLI::App& app)) {
  prepare_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit is an error that is said, not the end
  say_when_stopped();
  guard_mapped_files();
  CLI::App app{description, name};
  set_help(app);
  app.set_version_flag("-V,--version", RANKFALL_VERSION);
  app.require_subcommand(1);
  try {
    add(app);
    if (describe(argc, argv, app)) return 0;
    if (argc == 1) {
      write_stdout(app.help());
      return 0;
    }
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::RuntimeError& error) {  // a subcommand's own exit code, all said already
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // prints help or version
    return fail(kUsage, [&] { return parse_failure(app, error); });
  } catch (const Error& error) {
    return fail(static_cast<int>(error.kind()), [&] { return with_option_names(error.what()); });
  } catch (const std::bad_alloc&) {
    return fail(kNoMemory, [] {
      rlimit space{};
      const bool limited = getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
      return fmt::format("out of memory{}; fewer samples or tokens, or a smaller model, need less",
                         limited ? fmt::format(" (ulimit -v allows {} MB)", space.rlim_cur >> 20) : "");
    });
  } catch (const std::exception& error) {
    return fail(kBug, [&] {
      return fmt::format("internal error: {}\nThis is a bug in rankfall; please report it.", error.what());
    });
  }
}

}  // namespace

void run_app(int argc, char** argv, const char* name, const char* description, void (*add)(CLI::App& app)) {
  int code = run(argc, argv, name, description, add);
  if (std::fflush(stdout) != 0 && code == 0) code = fail(kInput, [] { return "standard output: cannot be written"; });
  std::fflush(nullptr);
  _exit(code);  // at once: threads of OpenBLAS may be asking for memory for ever, and exit() waits for them
}

}  // namespace rankfall::cli
