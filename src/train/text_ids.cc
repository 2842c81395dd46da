#include "train/text_ids.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/errors.h"
#include <rankfall/report.h>

namespace rankfall {
namespace {

// rankfall, beside this program or where the installation puts it: nothing from the environment or the current folder.
std::string program() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!self.is_absolute()) throw input_error("cannot find rankfall: /proc/self/exe does not name this program");
  for (const char* folder : {"", RANKFALL_LIBEXEC_TO_BIN}) {
    const std::filesystem::path place = self.parent_path() / folder / "rankfall";
    if (std::filesystem::is_regular_file(place, error)) return place.string();
  }
  throw input_error("{}: there is no rankfall beside it", self.string());
}

// Standard output of a program; its standard error is ours.
std::string output_of(std::vector<std::string> arguments) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw input_error("no pipe: {}", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed != 0) {
    close(ends[0]);
    throw input_error("cannot start {}: {}", arguments[0], std::strerror(failed));
  }
  std::string out;
  std::array<char, 1 << 16> buffer{};
  for (ssize_t n = 0; (n = read(ends[0], buffer.data(), buffer.size())) != 0;) {
    if (n > 0) out.append(buffer.data(), static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw input_error("the text was not tokenised, for the reason above");
  }
  return out;
}

}  // namespace

std::vector<Sample> text_ids(const std::string& text, const std::string& tokenizer, Index n_samples, Index n_tokens) {
  const Result tokens =
      from_json(output_of({program(), "tokens", tokenizer, "--text", text, "--samples", std::to_string(n_samples),
                           "--tokens", std::to_string(n_tokens), "--format", "json"}),
                "rankfall tokens");
  std::vector<Sample> samples;
  const auto n = static_cast<std::size_t>(n_tokens);
  for (const Row& row : tokens.rows) {
    if (row.metric != "token" || !row.sample || !row.k || !row.mean || *row.k >= n_tokens) continue;
    const auto s = static_cast<std::size_t>(*row.sample);
    while (samples.size() <= s) {
      Sample& sample = samples.emplace_back();
      sample.content = TokenIds(n, 0);
      sample.valid.assign(n, 0);
    }
    std::get<TokenIds>(samples[s].content)[static_cast<std::size_t>(*row.k)] = static_cast<std::int32_t>(*row.mean);
    samples[s].valid[static_cast<std::size_t>(*row.k)] = 1;
  }
  std::erase_if(samples, [](const Sample& sample) { return sample.valid[0] == 0; });  // empty lines
  if (samples.empty()) throw input_error("{}: no text in it", text);
  return samples;
}

}  // namespace rankfall
