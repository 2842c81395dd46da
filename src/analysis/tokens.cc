#include <algorithm>

#include <fmt/format.h>

#include "input/inputs.h"
#include "input/text_source.h"
#include "result/manifest.h"
#include <rankfall/error.h>
#include <rankfall/tokenizer.h>
#include <rankfall/tokens.h>

namespace rankfall {

Result tokens(const std::filesystem::path& directory, const InputOptions& options) {
  if (options.text.empty()) throw Error(ErrorKind::kUsage, "no text; expected --text FILE");
  const auto tokenizer = Tokenizer::open(directory);
  TextSource source(options);
  Result result{"tokens", base_manifest(), {}};
  add(result.manifest, "models", std::vector<std::string>{directory.string()});
  add(result.manifest, "tokenizer", tokenizer->kind());
  add(result.manifest, "input", source.where());
  const Index n_wanted = options.n_samples.value_or(kDefaultSamples);
  for (Index sample = 0; sample < n_wanted; ++sample) {
    const auto item = source.next();
    if (!item) break;
    Index position = 0;
    const auto add_piece = [&](const Piece& piece, const char* kind) {
      if (position >= options.n_tokens.value_or(position + 1)) return;
      Row row;
      row.model = directory.string();
      row.sample = sample;
      row.k = position++;
      row.metric = "token";
      row.mean = piece.id;
      row.path = piece.text;
      row.kind = kind;
      result.rows.push_back(std::move(row));
    };
    for (const Piece& piece : tokenizer->front()) add_piece(piece, "special");
    for (const Piece& piece : tokenizer->pieces(item->text)) add_piece(piece, "");
    for (const Piece& piece : tokenizer->back()) add_piece(piece, "special");
  }
  if (result.rows.empty()) throw Error(ErrorKind::kInput, fmt::format("{}: nothing but white space", source.where()));
  return result;
}

}  // namespace rankfall
