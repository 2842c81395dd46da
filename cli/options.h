#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <rankfall/input.h>
#include <rankfall/network.h>
#include <rankfall/variants.h>

// Options that several subcommands share.

namespace rankfall::cli {

// --without, --variant, --attention, --as-published.
struct VariantOptions {
  std::vector<std::string> without;
  std::vector<std::string> named;
  std::vector<std::string> attention;
  bool as_published = false;
};
void add_variant_options(CLI::App& app, VariantOptions& options);
// The same without --as-published, for commands in which that means something else; `usual` is what is run otherwise.
void add_variant_options(CLI::App& app, VariantOptions& options, const std::string& usual);
// Their parts, for commands that call one of them otherwise.
void add_part_options(CLI::App& app, VariantOptions& options, const std::string& usual);
void add_attention_option(CLI::App& app, VariantOptions& options, const std::string& name);
void add_as_published_option(CLI::App& app, VariantOptions& options);
// In the order: named ones, then combinations of parts; nothing given: `usual`, or the four of the paper. With kinds of
// attention: all of them with the first kind, with the second, and so on.
std::vector<Variant> chosen_variants(const VariantOptions& options,
                                     const std::vector<Variant>& usual = paper_variants(false));

// --threads, applied when parsed. 0: all cores.
void add_threads_option(CLI::App& app);

// --text with --paragraphs, --field, --pad, --tokenizer; --ids, --hidden, --pixels, --samples, --tokens,
// --random-tokens.
void add_input_options(CLI::App& app, InputOptions& options);

// What the program that calls the command has in memory (host.h).
void take_given_input(InputOptions& options);

// --special-tokens as every command describes it.
inline constexpr const char* kSpecialTokensHelp =
    "special tokens around each text: as-stored (as the tokenizer's files say), none, or bos (only the token that "
    "begins a text)";
std::vector<std::string> special_tokens_names();

// Those of them that go with --text.
CLI::Option* add_special_tokens_option(CLI::App& app, InputOptions& options);
void add_text_options(CLI::App& app, InputOptions& options, CLI::Option* text);

// --seed.
void add_seed_option(CLI::App& app, std::uint64_t& seed);

// MODEL as every command describes it.
inline constexpr const char* kModelHelp =
    "a directory with config.json and model.safetensors, a GGUF file, a random initialisation (bert-base@init, "
    "DIR@init), or "
    "san:layers=L,heads=H,dim=D; see rankfall models";

// "0,5,8-11" -> 0 5 8 9 10 11; single numbers may be negative. Error(kUsage), naming the option, on anything else.
std::vector<Index> parse_indices(const std::string& option, std::string_view text);

// --precision f32|f64.
void add_precision_option(CLI::App& app, Precision& precision);

}  // namespace rankfall::cli
