#include "train/text_ids.h"

#include <cstring>
#include <filesystem>
#include <utility>

#include "base/errors.h"
#include "base/program_output.h"
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

std::string output_of(const std::vector<std::string>& words) {
  ProgramOutput output = program_output(words, false);
  if (output.not_started != 0) throw input_error("cannot start {}: {}", words[0], std::strerror(output.not_started));
  if (output.exit_code != 0) throw input_error("the text was not tokenised, for the reason above");
  return std::move(output.text);
}

}  // namespace

std::vector<Sample> text_ids(const TrainSettings& s) {
  const Result tokens = from_json(
      output_of({program(), "tokens", s.tokenizer, "--text", s.text, "--special-tokens", s.special_tokens, "--samples",
                 std::to_string(s.n_train), "--tokens", std::to_string(s.n_tokens), "--format", "json"}),
      "rankfall tokens");
  std::vector<Sample> samples;
  const auto n = static_cast<std::size_t>(s.n_tokens);
  for (const Row& row : tokens.rows) {
    if (row.metric != "token" || !row.sample || !row.k || !row.mean || *row.k >= s.n_tokens) continue;
    const auto at = static_cast<std::size_t>(*row.sample);
    while (samples.size() <= at) {
      Sample& sample = samples.emplace_back();
      sample.content = TokenIds(n, 0);
      sample.valid.assign(n, 0);
    }
    std::get<TokenIds>(samples[at].content)[static_cast<std::size_t>(*row.k)] = static_cast<std::int32_t>(*row.mean);
    samples[at].valid[static_cast<std::size_t>(*row.k)] = 1;
  }
  std::erase_if(samples, [](const Sample& sample) { return sample.valid[0] == 0; });  // empty lines
  if (samples.empty()) throw input_error("{}: no text in it", s.text);
  return samples;
}

}  // namespace rankfall
