#include "cli/options.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "cli/host.h"
#include "cli/usage_errors.h"
#include <rankfall/error.h>
#include <rankfall/process.h>

namespace rankfall::cli {

void add_part_options(CLI::App& app, VariantOptions& options, const std::string& usual) {
  app.add_option("--variant", options.named,
                 "network to run: full, san (attention alone), san+mlp, san+skip or no-norm; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->default_str(usual);
  app.add_option("--without", options.without,
                 "remove parts, joined by commas: attn_skip, mlp, mlp_skip, norm; each --without is one more variant")
      ->type_name("PARTS")
      ->allow_extra_args(false);
}

void add_attention_option(CLI::App& app, VariantOptions& options, const std::string& name) {
  app.add_option(name, options.attention,
                 fmt::format("replace the attention, repeatable: {}", fmt::join(attention_names(), ", ")))
      ->type_name("KIND")
      ->allow_extra_args(false)
      ->default_str("full");
}

void add_as_published_option(CLI::App& app, VariantOptions& options) {
  app.add_flag("--as-published", options.as_published,
               "run the four variants as the published code did, not as it labels them");
}

void add_variant_options(CLI::App& app, VariantOptions& options, const std::string& usual) {
  add_part_options(app, options, usual);
  add_attention_option(app, options, "--attention");
}

void add_variant_options(CLI::App& app, VariantOptions& options) {
  add_variant_options(app, options, "full, san, san+mlp and san+skip");
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
         "number of threads; results do not depend on it")
      ->check(CLI::Range(0, 4096))
      ->default_str("all cores");
}

void take_given_input(InputOptions& options) {
  const Host* caller = host();
  if (caller == nullptr) return;
  options.texts = caller->input.texts;
  options.samples = caller->input.samples;
}

std::vector<std::string> special_tokens_names() { return {"as-stored", "none", "bos"}; }

CLI::Option* add_special_tokens_option(CLI::App& app, InputOptions& options) {
  return app
      .add_option_function<std::string>(
          "--special-tokens",
          [&options](const std::string& name) {
            options.special_tokens = name == "none"  ? SpecialTokens::kNone
                                     : name == "bos" ? SpecialTokens::kBos
                                                     : SpecialTokens::kAsStored;
          },
          kSpecialTokensHelp)
      ->check(one_of(special_tokens_names()))
      ->default_str("as-stored")
      ->group("Input");
}

void add_text_options(CLI::App& app, InputOptions& options, CLI::Option* text) {
  const std::array with_text = {
      app.add_flag("--paragraphs", options.paragraphs, "with --text: one sample per paragraph instead of per line"),
      app.add_option("--field", options.field,
                     "with --text: lines are JSON objects that have the text in the field NAME")
          ->type_name("NAME"),
      app.add_flag(
          "--pad", options.pad,
          "with --text: pad shorter texts to --tokens (or to the longest) instead of skipping them; padding is masked"),
      add_special_tokens_option(app, options)};
  for (CLI::Option* option : with_text) {
    option->group("Input");
    if (options.texts.empty()) option->needs(text);
  }
  app.add_option("--tokenizer", options.tokenizer,
                 "directory with the tokenizer, or with the image preprocessing (default: the model's own)")
      ->type_name("DIR")
      ->group("Input");
}

void add_input_options(CLI::App& app, InputOptions& options) {
  take_given_input(options);
  auto* text = app.add_option("--text", options.text, "UTF-8 text, one sample per line (- for standard input)");
  auto* ids = app.add_option("--ids", options.ids, "token ids (input_ids) in safetensors, npy or JSON");
  auto* features =
      app.add_option("--features", options.features, "real-valued token features, for models without a vocabulary");
  auto* hidden =
      app.add_option("--hidden", options.hidden, "hidden states fed to the first block; the embedding is skipped");
  auto* pixels = app.add_option("--pixels", options.pixels,
                                "image for a ViT: PNG or JPEG, repeatable; or a tensor (pixel_values)");
  pixels->allow_extra_args(false);
  const std::array files = {text, ids, features, hidden, pixels};
  for (std::size_t i = 0; i < files.size(); ++i) {
    files.at(i)->type_name("FILE")->group("Input");
    for (std::size_t k = i + 1; k < files.size(); ++k) files.at(i)->excludes(files.at(k));
  }
  add_text_options(app, options, text);
  app.add_flag("--ignore-unused", options.ignore_unused,
               "accept checkpoints with weights in their layers that the model family does not use")
      ->group("Input");
  app.add_option("--samples", options.n_samples, "number of samples")
      ->check(CLI::Range(1, 1'000'000))
      ->default_str("32; all of a file of ids, states or images")
      ->group("Input");
  app.add_option("--tokens", options.n_tokens,
                 "tokens per sample; longer samples are truncated, shorter ones skipped, or padded with --pad")
      ->check(CLI::Range(1, 16'777'216))
      ->default_str("each sample's own length; 128 for random ids")
      ->group("Input");
  app.add_option_function<std::string>(
         "--random-tokens",
         [&options](const std::string& name) {
           options.token_law = name == "zipf" ? TokenLaw::kZipf : TokenLaw::kUniform;
         },
         "distribution of random token ids: uniform, or zipf (as in text, so that tokens repeat)")
      ->check(one_of({"uniform", "zipf"}))
      ->default_str("uniform")
      ->group("Input");
}

void add_seed_option(CLI::App& app, std::uint64_t& seed) {
  app.add_option("--seed", seed, "seed of random weights and inputs")
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
         "arithmetic: float32 or float64")
      ->check(one_of({"f32", "f64"}))
      ->default_str("f32");
}

}  // namespace rankfall::cli
