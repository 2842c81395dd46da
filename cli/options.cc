#include "cli/options.h"

#include <map>

#include <rankfall/error.h>
#include <rankfall/parallel.h>

namespace rankfall::cli {

void add_variant_options(CLI::App& app, VariantOptions& options) {
  app.add_option("--variant", options.named, "full, san, san+mlp, san+skip or no-norm; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--without", options.without,
                 "remove parts: attn_skip, mlp, mlp_skip, norm, joined by commas; each occurrence is a variant")
      ->type_name("PARTS")
      ->allow_extra_args(false);
  app.add_flag("--as-published", options.as_published,
               "the four variants as the published code ran them, not as it labelled them");
}

std::vector<Variant> chosen_variants(const VariantOptions& options) {
  if (options.as_published) {
    if (!options.without.empty() || !options.named.empty()) {
      throw Error(ErrorKind::kUsage,
                  "--as-published is a set of four variants; it does not go with --variant or --without");
    }
    return paper_variants(true);
  }
  std::vector<Variant> variants;
  for (const std::string& name : options.named) variants.push_back(variant_named(name));
  for (const std::string& parts : options.without) variants.push_back(variant_without(parts));
  for (std::size_t i = 0; i < variants.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (variants[i].name == variants[j].name) {
        throw Error(ErrorKind::kUsage, "variant '" + variants[i].name + "' is given twice");
      }
    }
  }
  return variants.empty() ? paper_variants(false) : variants;
}

void add_threads_option(CLI::App& app) {
  app.add_option_function<int>(
         "--threads",
         [](const int& n) {
           if (n > 0) set_threads(n);
         },
         "threads to use; results do not depend on it (0: all cores)")
      ->check(CLI::Range(0, 4096))
      ->default_str("0");
}

void add_input_options(CLI::App& app, MeasureOptions& options) {
  app.add_option("--samples", options.n_samples, "how many samples")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--tokens", options.n_tokens, "tokens in each")
      ->check(CLI::Range(1, 16'777'216))
      ->capture_default_str();
  static const std::map<std::string, TokenLaw> laws = {{"uniform", TokenLaw::kUniform}, {"zipf", TokenLaw::kZipf}};
  app.add_option("--random-tokens", options.token_law,
                 "law of random token ids: uniform, or zipf (frequencies as in text, so tokens repeat)")
      ->transform(CLI::CheckedTransformer(laws))
      ->default_str("uniform");
  app.add_option("--seed", options.seed, "seed of weights and inputs")
      ->check(CLI::Validator(
          [](std::string& text) {
            return text.starts_with('-') ? std::string("expected a whole number from 0") : std::string();
          },
          ""))
      ->capture_default_str();
}

void add_precision_option(CLI::App& app, Precision& precision) {
  static const std::map<std::string, Precision> names = {{"f32", Precision::kF32}, {"f64", Precision::kF64}};
  app.add_option("--precision", precision, "f32 or f64")->transform(CLI::CheckedTransformer(names))->default_str("f32");
}

}  // namespace rankfall::cli
