#include "input/text_inputs.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.h"
#include "input/inputs.h"
#include "input/text_source.h"
#include "io/utf8.h"
#include <rankfall/error.h>
#include <rankfall/tokenizer.h>

namespace rankfall {
namespace {

// Special tokens around the first of the ids that fit, and padding behind.
Sample make_sample(const Tokenizer& tokenizer, const TokenIds& ids, Index n_tokens) {
  const auto n = static_cast<std::size_t>(n_tokens);
  const std::size_t n_special = tokenizer.front().size() + tokenizer.back().size();
  const std::size_t n_own = std::min(ids.size(), n - n_special);
  TokenIds all;
  all.reserve(n);
  for (const Piece& piece : tokenizer.front()) all.push_back(piece.id);
  all.insert(all.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n_own));
  for (const Piece& piece : tokenizer.back()) all.push_back(piece.id);
  Sample sample;
  if (all.size() < n) {
    sample.valid.assign(n, 0);
    std::fill_n(sample.valid.begin(), all.size(), std::uint8_t{1});
    all.resize(n, tokenizer.padding().value_or(0));
  }
  sample.content = std::move(all);
  return sample;
}

// What happened to the samples of a text.
struct Account {
  std::size_t n_short = 0, n_cut = 0, n_not_utf8 = 0;
  std::size_t longest = 0;  // of those that are too short

  std::vector<std::string> notes(const std::string& where, std::size_t n_items, Index n_tokens) const {
    std::vector<std::string> notes;
    if (n_short > 0) {
      notes.push_back(
          fmt::format("{}: {} of {} samples left out, shorter than {} tokens (the longest of them has {}); "
                      "--tokens or --pad keeps them",
                      where, n_short, n_items, n_tokens, longest));
    }
    if (n_cut > 0) {
      notes.push_back(fmt::format("{}: {} samples have more than {} bytes; the rest of them is not read", where, n_cut,
                                  kMaxSampleBytes));
    }
    if (n_not_utf8 > 0) {
      notes.push_back(
          fmt::format("{}: {} samples have bytes that are not UTF-8; each counts as U+FFFD", where, n_not_utf8));
    }
    return notes;
  }
};

}  // namespace

Inputs text_inputs(const Network& network, const InputOptions& options) {
  if (!std::holds_alternative<TokenInput>(network.input.source)) throw usage_error("--text: the model takes no tokens");
  if (options.tokenizer.empty()) {
    throw usage_error(
        "--text: a model that is no directory has no tokenizer of its own; give one with --tokenizer DIRECTORY");
  }
  const auto tokenizer = Tokenizer::open(options.tokenizer);
  const Index n_tokens = options.n_tokens.value_or(default_tokens(network));
  const std::size_t n_special = tokenizer->front().size() + tokenizer->back().size();
  if (n_tokens <= static_cast<Index>(n_special)) {
    throw usage_error(fmt::format("--tokens {}: special tokens alone are {}", n_tokens, n_special));
  }
  const Index n_wanted = options.n_samples.value_or(kDefaultSamples);

  TextSource source(options);
  Inputs inputs;
  inputs.source = source.where();
  Account account;
  while (static_cast<Index>(inputs.samples.size()) < n_wanted) {
    const auto item = source.next();
    if (!item) break;
    const std::string_view text = shortened(item->text, kMaxSampleBytes);
    if (text.size() < item->text.size()) ++account.n_cut;
    if (utf8_first_error(text) != text.size()) ++account.n_not_utf8;
    // What is cut off later need not be tokenised; if that was too little, all of it.
    const std::string_view enough = shortened(text, 64 * static_cast<std::size_t>(n_tokens) + 4096);
    TokenIds ids = tokenizer->ids(enough);
    if (ids.size() < static_cast<std::size_t>(n_tokens) && enough.size() < text.size()) ids = tokenizer->ids(text);
    if (ids.empty() && n_special == 0) {
      ++account.n_short;
      continue;
    }
    if (!options.pad && ids.size() + n_special < static_cast<std::size_t>(n_tokens)) {
      ++account.n_short;
      account.longest = std::max(account.longest, ids.size() + n_special);
      continue;
    }
    Sample sample = make_sample(*tokenizer, ids, n_tokens);
    try {
      check_sample(network, sample);
    } catch (const Error& error) {
      const bool of_ids = std::string_view(error.what()).starts_with("token id");
      throw Error(ErrorKind::kInput, fmt::format("{}: line {}: {}{}", source.where(), item->line, error.what(),
                                                 of_ids ? "; model and tokenizer may not belong together" : ""));
    }
    inputs.samples.push_back(std::move(sample));
  }
  if (inputs.samples.empty()) {
    if (source.n_items() == 0)
      throw Error(ErrorKind::kInput, fmt::format("{}: nothing but white space", source.where()));
    throw Error(
        ErrorKind::kInput,
        fmt::format("{}: none of {} samples has {} tokens, the longest has {}; --tokens {} keeps it, --pad fills "
                    "up shorter ones, --paragraphs joins lines",
                    source.where(), source.n_items(), n_tokens, account.longest, account.longest));
  }
  inputs.notes = account.notes(source.where(), source.n_items(), n_tokens);
  if (static_cast<Index>(inputs.samples.size()) < n_wanted) {
    inputs.notes.push_back(
        fmt::format("{}: {} samples instead of {}", source.where(), inputs.samples.size(), n_wanted));
  }
  return inputs;
}

}  // namespace rankfall
