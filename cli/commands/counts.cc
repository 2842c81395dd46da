#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/parse_number.h"
#include "cli/options.h"
#include "cli/output.h"
#include <rankfall/error.h>
#include <rankfall/paths.h>
#include <rankfall/report.h>

namespace rankfall::cli {
namespace {

struct CountsCommand {
  std::vector<std::string> words;
  OutputOptions output;
};

std::vector<Architecture> chosen(const std::vector<std::string>& words) {
  if (words.empty()) return published_architectures();
  const auto layers = parse_number<Index>(words[0]);
  if (layers && words.size() == 2) {
    if (const auto heads = parse_number<Index>(words[1])) return {{"", *layers, *heads}};
  }
  const bool is_number = layers || words[0].find_first_not_of("+-.0123456789eE") == std::string::npos;
  if (is_number) {
    throw Error(ErrorKind::kUsage,
                fmt::format("counts {}: expected two whole numbers, layers and heads, or models, or nothing",
                            fmt::join(words, " ")));
  }
  std::vector<Architecture> all;
  all.reserve(words.size());
  for (const std::string& word : words) all.push_back(architecture_of(word));
  return all;
}

}  // namespace

void bind_counts(CLI::App& sub) {
  auto command = std::make_shared<CountsCommand>();
  sub.footer(
      "C(L,k) H^k of the (H+1)^L paths have length k. Without arguments: the nine architectures of the published\n"
      "Figure 5, and MobileBERT as it was released.\n"
      "Examples:\n"
      "  rankfall counts\n"
      "  rankfall counts 12 12\n"
      "  rankfall counts bert-base@init path/to/gpt2 --format csv");
  sub.add_option("MODEL", command->words, "models, or two numbers: layers and heads")->type_name("TEXT | L H");
  add_output_options(sub, command->output);
  sub.callback([command] { write_result(counts(chosen(command->words)), command->output, {}); });
}

}  // namespace rankfall::cli
