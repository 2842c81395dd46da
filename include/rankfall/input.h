#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rankfall/index.h>

namespace rankfall {

struct Sample;

using TokenIds = std::vector<std::int32_t>;

// How random token ids are drawn. kUniform: each equally often, so that hardly any repeats. kZipf: as in text, where
// the r-th most frequent has probability proportional to 1/r; which id has which rank is drawn from the seed.
enum class TokenLaw { kUniform, kZipf };

// Which special tokens a text gets around it. kAsStored: those that the tokenizer's files ask for, or else the family's
// own. kBos: only the token that begins a text, in front.
enum class SpecialTokens { kAsStored, kNone, kBos };

// Where samples come from: a text, one of the files of numbers (safetensors, npy or JSON: docs/formats.md), images,
// what the calling program has in memory, or random numbers.
struct InputOptions {
  // Unset: all samples of a file of numbers, 32 of a text or random ones.
  std::optional<Index> n_samples;
  // Set: samples of a file are truncated to this length, and shorter ones are skipped. Unset: each sample of a file has
  // its own length, of a text at most 1,024 tokens; random ones have 128. Texts and random samples have no more tokens
  // than the model has positions.
  std::optional<Index> n_tokens;
  TokenLaw token_law = TokenLaw::kUniform;  // of random token ids

  std::string text;         // a text in UTF-8, a sample a line; "-": standard input
  bool paragraphs = false;  // a sample a block of lines, with blank lines between
  std::string field;        // not empty: lines are JSON objects, and the text is this entry of each
  bool pad = false;         // shorter texts are padded to n_tokens, or to the longest of them, instead of being skipped
  std::string tokenizer;    // directory of the tokenizer; empty: the model's own
  SpecialTokens special_tokens = SpecialTokens::kAsStored;  // around each text

  std::string ids;       // token ids `input_ids`, with `attention_mask` (0: padding) and `token_type_ids` where present
  std::string features;  // real features of tokens, `features`, for networks that take them
  std::string hidden;    // states that enter block 0, `hidden_states`
  // Images: one file of `pixel_values`, scaled and normalised, or PNG and JPEG files, which are resized and normalised
  // as preprocessor_config.json in the directory `tokenizer` says.
  std::vector<std::string> pixels;

  // In memory instead of a file: texts, one sample each; or samples, which must fit every model they are for.
  std::vector<std::string> texts;
  std::shared_ptr<const std::vector<Sample>> samples;

  bool ignore_unused = false;  // OpenOptions::ignore_unused, of the models that the input is for

  bool is_text() const { return !text.empty() || !texts.empty(); }
  // Not random.
  bool is_given() const {
    return is_text() || !ids.empty() || !features.empty() || !hidden.empty() || !pixels.empty() || samples;
  }
};

}  // namespace rankfall
