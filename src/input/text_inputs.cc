#include "input/text_inputs.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/errors.h"
#include "input/inputs.h"
#include "input/text_source.h"
#include "io/utf8.h"
#include <rankfall/tokenizer.h>

namespace rankfall {
namespace {

// Texts are seldom longer; a file without line ends should not become one sample of 100,000 tokens by accident.
constexpr Index kMaxOwnTokens = 1024;

// How long the samples of a text become.
struct Lengths {
  Index most = 0;      // longer ones are truncated
  bool equal = false;  // the user asked for this length: shorter ones are skipped or padded
};

Lengths lengths_for(const Network& network, const InputOptions& options) {
  if (options.n_tokens) return {*options.n_tokens, true};
  const Index limit = network.sizes.max_positions;
  return {limit > 0 ? std::min(limit, kMaxOwnTokens) : kMaxOwnTokens, false};
}

// Special tokens around the first of the ids that fit.
Sample make_sample(const Tokenizer& tokenizer, const TokenIds& ids, Index most) {
  const std::size_t n_special = tokenizer.front().size() + tokenizer.back().size();
  const std::size_t n_own = std::min(ids.size(), static_cast<std::size_t>(most) - n_special);
  TokenIds all;
  all.reserve(n_own + n_special);
  for (const Piece& piece : tokenizer.front()) all.push_back(piece.id);
  all.insert(all.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n_own));
  for (const Piece& piece : tokenizer.back()) all.push_back(piece.id);
  return {std::move(all)};
}

// Padding behind, up to n tokens.
void pad(Sample& sample, const Tokenizer& tokenizer, Index n_tokens) {
  auto& ids = std::get<TokenIds>(sample.content);
  const auto n = static_cast<std::size_t>(n_tokens);
  if (ids.size() >= n) return;
  sample.valid.assign(n, 0);
  std::fill_n(sample.valid.begin(), ids.size(), std::uint8_t{1});
  ids.resize(n, tokenizer.padding().value_or(0));
}

// What happened to the samples of a text.
struct Account {
  std::size_t n_empty = 0, n_short = 0, n_truncated = 0, n_cut = 0, n_not_utf8 = 0;
  std::size_t longest = 0;  // of those that are too short

  std::vector<std::string> notes(const std::string& where, std::size_t n_items, const Lengths& lengths) const {
    std::vector<std::string> notes;
    if (n_empty > 0) notes.push_back(fmt::format("{}: {} of {} samples skipped: no tokens", where, n_empty, n_items));
    if (n_short > 0) {
      notes.push_back(
          fmt::format("{}: {} of {} samples skipped, shorter than {} tokens (the longest of them has {}); a smaller "
                      "number or padding keeps them, without a number each has its own length",
                      where, n_short, n_items, lengths.most, longest));
    }
    if (n_truncated > 0 && !lengths.equal) {
      notes.push_back(fmt::format("{}: {} samples truncated to {} tokens", where, n_truncated, lengths.most));
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

// Error messages name the text's line.
template <class Step>
auto at_line(const TextSource& source, const TextSource::Item& item, const Step& step) {
  try {
    return step();
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: line {}: {}", source.where(), item.line, error.what()));
  }
}

// The ids of a text; of a longer one at least as many as are used.
TokenIds ids_of(const Tokenizer& tokenizer, std::string_view text, Index most) {
  const std::string_view enough = shortened(text, 64 * static_cast<std::size_t>(most) + 4096);
  TokenIds ids = tokenizer.ids(enough);
  if (ids.size() < static_cast<std::size_t>(most) && enough.size() < text.size()) ids = tokenizer.ids(text);
  return ids;
}

void check_tokens(const Network& network, const Sample& sample) {
  try {
    check_sample(network, sample);
  } catch (const Error& error) {
    const bool of_ids = std::string_view(error.what()).starts_with("token id");
    throw input_error("{}{}", error.what(), of_ids ? "; model and tokenizer may not belong together" : "");
  }
}

[[noreturn]] void fail_without_samples(const TextSource& source, const Account& account, const Lengths& lengths) {
  if (source.n_items() == 0) throw input_error("{}: nothing but white space", source.where());
  if (account.n_short == 0) throw input_error("{}: no piece of the vocabulary is in it", source.where());
  throw input_error(
      "{}: none of {} samples has {} tokens, the longest has {}; without InputOptions::n_tokens each sample has its "
      "own length, InputOptions::pad pads shorter ones, InputOptions::paragraphs joins lines",
      source.where(), source.n_items(), lengths.most, account.longest);
}

}  // namespace

Inputs text_inputs(const Network& network, const InputOptions& options) {
  if (!std::holds_alternative<TokenInput>(network.input.source))
    throw usage_error("InputOptions::text: the model takes no tokens");
  if (options.tokenizer.empty()) {
    throw usage_error("presets have no tokenizer; add InputOptions::tokenizer, a Hugging Face model directory");
  }
  const auto tokenizer = Tokenizer::open(options.tokenizer, options.special_tokens);
  const Lengths lengths = lengths_for(network, options);
  const std::size_t n_special = tokenizer->front().size() + tokenizer->back().size();
  if (lengths.most <= static_cast<Index>(n_special)) {
    throw usage_error("{} tokens (InputOptions::n_tokens): special tokens alone are {}", lengths.most, n_special);
  }
  const Index n_wanted = options.n_samples.value_or(kDefaultSamples);

  TextSource source(options);
  Inputs inputs;
  inputs.source = source.where();
  Account account;
  while (std::ssize(inputs.samples) < n_wanted) {
    const auto item = source.next();
    if (!item) break;
    const std::string_view text = shortened(item->text, kMaxSampleBytes);
    if (text.size() < item->text.size()) ++account.n_cut;
    if (utf8_first_error(text) != text.size()) ++account.n_not_utf8;
    const TokenIds ids = at_line(source, *item, [&] { return ids_of(*tokenizer, text, lengths.most); });
    if (ids.empty() && (n_special == 0 || !lengths.equal)) {
      ++account.n_empty;
      continue;
    }
    const std::size_t n_tokens = ids.size() + n_special;
    if (lengths.equal && !options.pad && n_tokens < static_cast<std::size_t>(lengths.most)) {
      ++account.n_short;
      account.longest = std::max(account.longest, n_tokens);
      continue;
    }
    if (n_tokens > static_cast<std::size_t>(lengths.most)) ++account.n_truncated;
    Sample sample = make_sample(*tokenizer, ids, lengths.most);
    at_line(source, *item, [&] { check_tokens(network, sample); });
    inputs.samples.push_back(std::move(sample));
  }
  if (inputs.samples.empty()) fail_without_samples(source, account, lengths);
  if (options.pad) {
    const Index n_tokens = lengths.equal ? lengths.most : size_of(inputs.samples).n_tokens;
    for (Sample& sample : inputs.samples) pad(sample, *tokenizer, n_tokens);
  }
  inputs.notes = account.notes(source.where(), source.n_items(), lengths);
  if (options.special_tokens != SpecialTokens::kAsStored) {
    inputs.notes.push_back(fmt::format(
        "{}: special tokens of each sample: {}", source.where(),
        options.special_tokens == SpecialTokens::kNone ? "none" : "only " + tokenizer->front()[0].text + " in front"));
  }
  if (const InputSize size = size_of(inputs.samples); size.shortest < size.n_tokens) {
    inputs.notes.push_back(
        fmt::format("{}: {} samples of {} tokens", source.where(), size.n_samples, tokens_text(size)));
  }
  if (std::ssize(inputs.samples) < n_wanted && options.n_samples) {
    inputs.notes.push_back(
        fmt::format("{}: {} requested samples, only {} found", source.where(), n_wanted, inputs.samples.size()));
  }
  return inputs;
}

}  // namespace rankfall
