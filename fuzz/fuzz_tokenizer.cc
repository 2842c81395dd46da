// Files of a tokenizer and a text: the first byte says which kind of files, a line of NUL ends them. They are refused
// with Error (kInput), or they tokenise the text without losing their footing.
#include <cstdint>
#include <string_view>

#include "fuzz_check.h"
#include "io/utf8.h"
#include "text/bert_words.h"
#include "text/byte_pair.h"
#include "text/sentencepiece_model.h"
#include "text/tokenizer_parts.h"
#include "text/unicode.h"
#include "text/vocabulary_files.h"
#include "text/wordpiece.h"
#include <rankfall/error.h>

using namespace rankfall;

namespace {

// The bytes up to the next "\n\0\n", and the rest.
std::string_view next_part(std::string_view& rest) {
  constexpr std::string_view kEnd("\n\0\n", 3);
  const std::size_t end = rest.find(kEnd);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == rest.npos ? rest.size() : end + kEnd.size());
  return part;
}

void check_words(const BertWords& words, std::string_view text) {
  words.split(text, [](std::string_view word) { FUZZ_CHECK(!word.empty()); });
  words.normalized(text);
}

void wordpiece(std::string_view rest) {
  Vocabulary vocabulary = read_vocabulary_lines(next_part(rest), "fuzz");
  const std::string text = valid_utf8(rest);
  const BertWords words({});
  check_words(words, text);
  check_words(BertWords({.clean = false, .cjk = false, .lower = false, .strip_accents = false}), text);
  if (!vocabulary.find("[UNK]")) return;
  const WordPiece pieces(std::move(vocabulary), "[UNK]");
  Pieces out;
  words.split(text, [&](std::string_view word) {
    const std::size_t before = out.ids.size();
    pieces.encode_word(word, out);
    FUZZ_CHECK(out.ids.size() > before);
  });
}

void byte_pairs(std::string_view rest) {
  Vocabulary vocabulary = read_vocabulary_json(next_part(rest), "fuzz");
  const auto merges = read_merges(next_part(rest), "fuzz");
  std::string joined;
  BytePair::Options options;
  options.bytes_as_characters = true;
  const BytePair pairs(std::move(vocabulary), merges, options, "fuzz");
  Pieces out;
  split_gpt2(rest, [&](std::string_view word) {
    FUZZ_CHECK(!word.empty());
    joined += word;
    pairs.encode_word(word, out);
  });
  FUZZ_CHECK(joined == rest);
}

void sentencepiece(std::string_view rest) {
  const auto model = open_sentencepiece(next_part(rest), "fuzz",
                                        {.collapse_spaces = true,
                                         .straight_quotes = true,
                                         .strip_accents = true,
                                         .lower = true,
                                         .split_digit_commas = true});
  Pieces out;
  out.with_texts = true;
  model->encode(valid_utf8(rest), out);
  FUZZ_CHECK(out.texts.size() == out.ids.size());
}

void fast(std::string_view rest) {
  const TokenizerParts parts = parse_tokenizer_json(next_part(rest), "fuzz");
  Pieces out;
  encode_text(parts, valid_utf8(rest), out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 100'000) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0]) {
      case 'w':
        wordpiece(rest);
        break;
      case 'b':
        byte_pairs(rest);
        break;
      case 's':
        sentencepiece(rest);
        break;
      case 'j':
        fast(rest);
        break;
      default:
        break;
    }
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kInput);
  }
  return 0;
}
