#include "studies/tokens/tokens.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/errors.h"
#include "input/inputs.h"
#include "input/text_source.h"
#include "io/utf8.h"
#include "result/manifest.h"
#include <rankfall/tokenizer.h>

namespace rankfall {
namespace {

// "<s> in front (post_processor of tokenizer.json)".
std::string special_words(const Tokenizer& tokenizer) {
  const auto names = [](const std::vector<Piece>& pieces) {
    std::string joined;
    for (const Piece& piece : pieces) joined += (joined.empty() ? "" : " ") + piece.text;
    return joined;
  };
  const std::string front = names(tokenizer.front());
  const std::string back = names(tokenizer.back());
  const std::string words = front.empty() && back.empty() ? "none"
                            : back.empty()                ? front + " in front"
                            : front.empty()               ? back + " behind"
                                                          : front + " in front, " + back + " behind";
  return fmt::format("{} ({})", words, tokenizer.special_rule());
}

}  // namespace

Result tokens(const std::filesystem::path& directory, const InputOptions& options) {
  if (!options.is_text()) throw usage_error("no text (InputOptions::text)");
  const auto tokenizer = Tokenizer::open(directory, options.special_tokens);
  TextSource source(options);
  Result result{"tokens", base_manifest(), {}};
  add(result.manifest, "models", std::vector<std::string>{directory.string()});
  add(result.manifest, "tokenizer", tokenizer->kind());
  add(result.manifest, "special_tokens", special_words(*tokenizer));
  add(result.manifest, "input", source.where());
  const Index n_wanted = options.n_samples.value_or(kDefaultSamples);
  const auto n_special = static_cast<Index>(tokenizer->front().size() + tokenizer->back().size());
  std::vector<std::string> notes;
  for (Index sample = 0; sample < n_wanted; ++sample) {
    const auto item = source.next();
    if (!item) break;
    const std::string_view text = shortened(item->text, kMaxSampleBytes);
    if (text.size() < item->text.size()) {
      notes.push_back(
          fmt::format("{}: line {}: only the first {} bytes are read", source.where(), item->line, text.size()));
    }
    if (utf8_first_error(text) != text.size()) {
      notes.push_back(fmt::format("{}: line {}: bytes that are not UTF-8 count as U+FFFD", source.where(), item->line));
    }
    Index position = 0;
    const auto add_piece = [&](const Piece& piece, const char* kind) {
      result.rows.push_back({.model = directory.string(),
                             .metric = "token",
                             .mean = piece.id,
                             .sample = sample,
                             .kind = kind,
                             .k = position++,
                             .text = piece.text});
    };
    std::vector<Piece> pieces = tokenizer->pieces(text);
    // Cut as a sample is cut: special tokens stay.
    const Index n_own = std::max<Index>(options.n_tokens.value_or(std::numeric_limits<Index>::max()) - n_special, 0);
    if (std::ssize(pieces) > n_own) pieces.resize(static_cast<std::size_t>(n_own));
    for (const Piece& piece : tokenizer->front()) add_piece(piece, "special");
    for (const Piece& piece : pieces) add_piece(piece, "");
    for (const Piece& piece : tokenizer->back()) add_piece(piece, "special");
  }
  if (!notes.empty()) add(result.manifest, "notes", notes);
  if (result.rows.empty()) {
    throw input_error("{}: {}", source.where(),
                      source.n_items() == 0 ? "nothing but white space" : "no piece of the vocabulary is in it");
  }
  return result;
}

}  // namespace rankfall
