#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <rankfall/measure.h>
#include <rankfall/variants.h>

// Options that several subcommands share.

namespace rankfall::cli {

// --without, --variant, --as-published.
struct VariantOptions {
  std::vector<std::string> without;
  std::vector<std::string> named;
  bool as_published = false;
};
void add_variant_options(CLI::App& app, VariantOptions& options);
// In the order: named ones, then combinations of parts; nothing given: the four of the paper.
std::vector<Variant> chosen_variants(const VariantOptions& options);

// --threads, applied when parsed. 0: all cores.
void add_threads_option(CLI::App& app);

// --seed, --samples, --tokens, --random-tokens.
void add_input_options(CLI::App& app, MeasureOptions& options);

// --precision f32|f64.
void add_precision_option(CLI::App& app, Precision& precision);

}  // namespace rankfall::cli
