#include "studies/tokens/tokens.h"

#include <memory>
#include <string>

#include "cli/options.h"
#include "cli/output.h"

namespace rankfall::cli {
namespace {

struct TokensCommand {
  std::string directory;
  InputOptions input;
  OutputOptions output;
};

}  // namespace

void bind_tokens(CLI::App& sub) {
  auto command = std::make_shared<TokensCommand>();
  sub.footer("Example:\n  echo 'Attention is not all you need' | rankfall tokens path/to/bert-base-uncased --text -");
  sub.add_option("MODEL", command->directory, "directory with config.json and the tokenizer's files")->required();
  take_given_input(command->input);
  auto* text = sub.add_option("--text", command->input.text, "UTF-8 text, one sample per line (- for standard input)");
  text->type_name("FILE")->required(command->input.texts.empty())->group("Input");
  sub.add_flag("--paragraphs", command->input.paragraphs, "one sample per paragraph instead of per line")
      ->group("Input");
  sub.add_option("--field", command->input.field, "lines are JSON objects that have the text in the field NAME")
      ->type_name("NAME")
      ->group("Input");
  add_special_tokens_option(sub, command->input);
  sub.add_option("--samples", command->input.n_samples, "number of samples")
      ->check(CLI::Range(1, 1'000'000))
      ->default_str("32")
      ->group("Input");
  sub.add_option("--tokens", command->input.n_tokens, "show only the first N tokens of each sample")
      ->check(CLI::Range(1, 16'777'216))
      ->group("Input");
  add_output_options(sub, command->output);
  sub.callback([command] { write_result(tokens(command->directory, command->input), command->output); });
}

}  // namespace rankfall::cli
