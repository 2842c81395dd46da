#include "cli/options.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "cli/usage_errors.h"
#include <rankfall/error.h>
#include <rankfall/process.h>

namespace rankfall::cli {

void add_part_options(CLI::App& app, VariantOptions& options, const std::string& usual) {
  app.add_option("--variant", options.named, "full, san, san+mlp, san+skip or no-norm; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->default_str(usual);
  app.add_option("--without", options.without,
                 "remove parts: attn_skip, mlp, mlp_skip, norm, joined by commas; each occurrence is a variant")
      ->type_name("PARTS")
      ->allow_extra_args(false);
}

void add_attention_option(CLI::App& app, VariantOptions& options, const std::string& name) {
  app.add_option(name, options.attention,
                 fmt::format("another kind of attention, repeatable: {}", fmt::join(attention_names(), ", ")))
      ->type_name("KIND")
      ->allow_extra_args(false)
      ->default_str("full");
}

void add_as_published_option(CLI::App& app, VariantOptions& options) {
  app.add_flag("--as-published", options.as_published,
               "the four variants as the published code ran them, not as it labelled them");
}

void add_variant_options(CLI::App& app, VariantOptions& options, const std::string& usual) {
  add_part_options(app, options, usual);
  add_attention_option(app, options, "--attention");
}

void add_variant_options(CLI::App& app, VariantOptions& options) {
  add_variant_options(app, options, "");
  add_as_published_option(app, options);
}

namespace {

std::vector<Variant> chosen_parts(const VariantOptions& options, const std::vector<Variant>& usual) {
  if (options.as_published) {
    if (!options.without.empty() || !options.named.empty()) {
      throw Error(ErrorKind::kUsage,
                  "--as-published is a set of four variants; it does not go with --variant or --without");
    }
    return paper_variants(true);
  }
  std::vector<Variant> variants;
  for (const std::string& name : options.named) {
    variants.push_back(for_option("--variant", [&] { return variant_named(name); }));
  }
  for (const std::string& parts : options.without) {
    variants.push_back(for_option("--without", [&] { return variant_without(parts); }));
  }
  for (std::size_t i = 0; i < variants.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (variants[i].name == variants[j].name) {
        throw Error(ErrorKind::kUsage, "variant '" + variants[i].name + "' is given twice");
      }
    }
  }
  return variants.empty() ? usual : variants;
}

}  // namespace

std::vector<Variant> chosen_variants(const VariantOptions& options, const std::vector<Variant>& usual) {
  std::vector<Variant> variants = chosen_parts(options, usual);
  if (options.attention.empty()) return variants;
  if (options.as_published) {
    throw Error(ErrorKind::kUsage,
                "--as-published is what the published code ran, with the models' own attention; it does not go with "
                "another kind");
  }
  std::vector<AttentionChoice> choices;
  choices.reserve(options.attention.size());
  for (const std::string& text : options.attention) choices.push_back(attention_named(text));
  return with_attentions(variants, choices);
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

void add_text_options(CLI::App& app, InputOptions& options, CLI::Option* text) {
  app.add_flag("--paragraphs", options.paragraphs, "a sample is a block of lines between blank ones")
      ->needs(text)
      ->group("Input");
  app.add_option("--field", options.field, "lines are JSON objects, and the text is this entry of each")
      ->type_name("NAME")
      ->needs(text)
      ->group("Input");
  app.add_flag("--pad", options.pad, "pad shorter texts to --tokens, or to the longest, instead of skipping them")
      ->needs(text)
      ->group("Input");
  app.add_option("--tokenizer", options.tokenizer, "directory of tokenizer or image preprocessing; default: MODEL")
      ->type_name("DIRECTORY")
      ->group("Input");
}

void add_input_options(CLI::App& app, InputOptions& options) {
  auto* text = app.add_option("--text", options.text, "text in UTF-8, a sample a line (-: standard input)");
  auto* ids = app.add_option("--ids", options.ids, "token ids (input_ids): safetensors, npy or JSON");
  auto* features =
      app.add_option("--features", options.features, "real inputs of tokens, for networks that take them (features)");
  auto* hidden = app.add_option("--hidden", options.hidden, "states that enter the first block (hidden_states)");
  auto* pixels =
      app.add_option("--pixels", options.pixels, "images for ViT: PNG or JPEG, repeatable, or a tensor (pixel_values)");
  pixels->allow_extra_args(false);
  const std::array files = {text, ids, features, hidden, pixels};
  for (std::size_t i = 0; i < files.size(); ++i) {
    files.at(i)->type_name("FILE")->group("Input");
    for (std::size_t k = i + 1; k < files.size(); ++k) files.at(i)->excludes(files.at(k));
  }
  add_text_options(app, options, text);
  app.add_flag("--ignore-unused", options.ignore_unused,
               "go on although a checkpoint has weights inside its layers that its family does not use")
      ->group("Input");
  app.add_option("--samples", options.n_samples, "how many samples")
      ->check(CLI::Range(1, 1'000'000))
      ->default_str("all of --ids, --features, --hidden, --pixels, 32 otherwise")
      ->group("Input");
  app.add_option("--tokens", options.n_tokens,
                 "tokens per sample; longer samples are truncated, shorter ones skipped (see --pad)")
      ->check(CLI::Range(1, 16'777'216))
      ->default_str("each sample's own length; 128 for random ones")
      ->group("Input");
  app.add_option_function<std::string>(
         "--random-tokens",
         [&options](const std::string& name) {
           options.token_law = name == "zipf" ? TokenLaw::kZipf : TokenLaw::kUniform;
         },
         "distribution of random token ids: uniform, or zipf (frequencies as in text, so tokens repeat)")
      ->check(one_of({"uniform", "zipf"}))
      ->default_str("uniform")
      ->group("Input");
}

void add_seed_option(CLI::App& app, std::uint64_t& seed) {
  app.add_option("--seed", seed, "seed of weights and inputs")
      ->check(CLI::Validator(
          [](std::string& text) {
            return text.starts_with('-') ? std::string("expected a whole number from 0") : std::string();
          },
          ""))
      ->capture_default_str();
}

std::vector<Index> parse_indices(const std::string& option, std::string_view text) {
  std::vector<Index> indices;
  const auto fail = [&](std::string_view item) {
    throw Error(ErrorKind::kUsage, fmt::format("{} '{}': expected numbers or ranges such as 0,5,8-11", option, item));
  };
  constexpr Index kLargest = Index{1} << 24;  // more than any model has layers or positions
  constexpr Index kMost = Index{1} << 20;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    Index first = 0;
    const char* end = item.data() + item.size();
    const auto [stop, error] = std::from_chars(item.data(), end, first);
    if (error != std::errc{}) fail(item);
    Index last = first;
    if (stop != end) {
      const auto [stop_last, error_last] = std::from_chars(stop + 1, end, last);
      if (*stop != '-' || error_last != std::errc{} || stop_last != end || first < 0 || last < first) fail(item);
    }
    if (first < -kLargest || last > kLargest) {
      throw Error(ErrorKind::kUsage, fmt::format("{} '{}': expected numbers up to {}", option, item, kLargest));
    }
    if (last - first >= kMost - static_cast<Index>(indices.size())) {
      throw Error(ErrorKind::kUsage, fmt::format("{}: more than {} numbers", option, kMost));
    }
    for (Index i = first; i <= last; ++i) indices.push_back(i);
  }
  return indices;
}

void add_precision_option(CLI::App& app, Precision& precision) {
  app.add_option_function<std::string>(
         "--precision",
         [&precision](const std::string& name) { precision = name == "f64" ? Precision::kF64 : Precision::kF32; },
         "f32 or f64")
      ->check(one_of({"f32", "f64"}))
      ->default_str("f32");
}

}  // namespace rankfall::cli
