#include "studies/capture/capture.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/streams.h"
#include <rankfall/error.h>

namespace rankfall::cli {
namespace {

struct CaptureCommand {
  std::string model = "bert-base@init";
  std::string file;
  std::string layers, positions;
  CaptureOptions options;
  VariantOptions variants;
  bool quiet = false;
};

std::string size_text(std::uint64_t bytes) {
  const double n = static_cast<double>(bytes);
  if (n < 1e3) return fmt::format("{} bytes", bytes);
  if (n < 1e6) return fmt::format("{:.1f} kB", n / 1e3);
  return n < 1e9 ? fmt::format("{:.1f} MB", n / 1e6) : fmt::format("{:.2f} GB", n / 1e9);
}

void run(CaptureCommand& command) {
  command.options.layers = parse_indices("--layers", command.layers);
  command.options.positions = parse_indices("--positions", command.positions);
  command.options.variants = chosen_variants(command.variants, {variant_named("full")});
  ProgressLine progress(command.quiet);
  command.options.progress = progress.callback();
  const Captured captured = capture(command.model, command.file, command.options);
  progress.clear();
  print_notes(captured.notes);
  if (command.quiet) return;
  std::string text = fmt::format("{}  {}\n", command.file, size_text(captured.n_bytes));
  std::size_t width = 0;
  for (const CapturedTensor& tensor : captured.tensors) width = std::max(width, tensor.name.size());
  for (const CapturedTensor& tensor : captured.tensors) {
    text += fmt::format("  {:{}}  {}  [{}]\n", tensor.name, width, tensor.dtype, fmt::join(tensor.shape, ", "));
  }
  print_stdout(text);
}

}  // namespace

void bind_capture(CLI::App& sub) {
  auto command = std::make_shared<CaptureCommand>();
  sub.footer(
      "Examples:\n"
      "  rankfall capture path/to/bert-base-uncased --ids ids.json -o states.safetensors\n"
      "  rankfall capture gpt2@init --attentions --layers 0,5,11 --tokens 64 --samples 4 -o gpt2.safetensors\n"
      "  rankfall capture bert-tiny@init --variant full --variant san --positions 0 --precision f64 -o "
      "cls.safetensors\n"
      "In Python: safetensors.numpy.load_file('states.safetensors')['hidden_states'].shape");
  sub.add_option("MODEL", command->model, kModelHelp)->capture_default_str();
  sub.add_option("-o,--output", command->file, "safetensors file to write")->type_name("FILE")->required();
  sub.add_flag("--attentions", command->options.attention, "also save the attention matrices");
  sub.add_flag("--attention", command->options.attention)->group("");  // its name in 0.1; elsewhere it takes a kind
  sub.add_option("--layers", command->layers, "layers to save, e.g. 0,6,12 or 0-5; 0 is the input, -1 the last")
      ->type_name("LIST");
  sub.add_option("--positions", command->positions, "tokens to save, in the same form (of attention matrices: queries)")
      ->type_name("LIST");
  add_part_options(sub, command->variants, "full");
  add_attention_option(sub, command->variants, "--attention-kind");
  add_as_published_option(sub, command->variants);
  add_input_options(sub, command->options.input);
  add_seed_option(sub, command->options.seed);
  add_precision_option(sub, command->options.precision);
  add_threads_option(sub);
  sub.add_flag("-q,--quiet", command->quiet, "print nothing");
  sub.parse_complete_callback([command, &sub] {
    check_ending("--output", command->file, {".safetensors"});
    check_writable("--output", command->file);
    check_not_input(sub, "--output", command->file);
  });
  sub.callback([command] { run(*command); });
}

}  // namespace rankfall::cli
