// Bytes of English-like text a second on one core, with a vocabulary of the size of BERT's.
#include <algorithm>
#include <cmath>
#include <string>

#include <benchmark/benchmark.h>

#include "base/random.h"
#include "text/bert_words.h"
#include "text/byte_pair.h"
#include "text/wordpiece.h"

namespace rankfall {
namespace {

constexpr std::size_t kWords = 30'000;

// Words of 2 to 12 letters; the r-th is used with probability proportional to 1/r.
std::vector<std::string> make_words() {
  std::vector<std::uint32_t> bits(kWords * 13);
  fill_bits(random_key(1, "words"), 0, bits);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < kWords; ++i) {
    std::string word;
    const std::size_t length = 2 + bits[13 * i] % 11;
    for (std::size_t j = 0; j < length; ++j) word += static_cast<char>('a' + bits[13 * i + 1 + j] % 26);
    words.push_back(word);
  }
  return words;
}

// 1 MB with capitals, commas and full stops; every tenth word is not in the vocabulary as a whole.
std::string make_text(const std::vector<std::string>& words) {
  std::vector<std::uint32_t> bits(1 << 19);
  fill_bits(random_key(2, "text"), 0, bits);
  std::string text;
  for (std::size_t i = 0; text.size() < (1 << 20) && i + 1 < bits.size(); i += 2) {
    const double u = (bits[i] + 0.5) * 0x1p-32;
    const auto rank = static_cast<std::size_t>(std::exp(u * std::log(double{kWords}))) - 1;
    std::string word = words[std::min(rank, kWords - 1)];
    if (bits[i + 1] % 10 == 0) word += words[bits[i + 1] % kWords];
    if (bits[i + 1] % 7 == 0) word[0] = static_cast<char>(word[0] - 32);
    text += word;
    text += bits[i + 1] % 12 == 0 ? ". " : bits[i + 1] % 9 == 0 ? ", " : " ";
  }
  return text;
}

void wordpiece(benchmark::State& state) {
  const auto words = make_words();
  const std::string text = make_text(words);
  Vocabulary vocabulary;
  const auto add = [&](const std::string& piece) {
    vocabulary.add(piece, static_cast<std::int32_t>(vocabulary.size()));
  };
  add("[UNK]");
  for (const char* mark : {".", ","}) add(mark);
  for (char c = 'a'; c <= 'z'; ++c) {
    add(std::string(1, c));
    add("##" + std::string(1, c));
  }
  for (const std::string& word : words) add(word);
  for (std::size_t i = 0; i < words.size(); i += 4) add("##" + words[i].substr(0, 3));
  const BertWords split({});
  const WordPiece pieces(std::move(vocabulary), "[UNK]");
  for (auto _ : state) {
    Pieces out;
    split.split(text, [&](std::string_view word) { pieces.encode_word(word, out); });
    benchmark::DoNotOptimize(out.ids.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(wordpiece);

// What any tokenizer has to do at least: look at every byte.
void look_at_every_byte(benchmark::State& state) {
  const std::string text = make_text(make_words());
  for (auto _ : state) {
    std::size_t n_spaces = 0;
    for (const char c : text) n_spaces += c == ' ' ? 1U : 0U;
    benchmark::DoNotOptimize(n_spaces);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(look_at_every_byte);

void gpt2_words(benchmark::State& state) {
  const std::string text = make_text(make_words());
  for (auto _ : state) {
    std::size_t n = 0;
    split_gpt2(text, [&](std::string_view) { ++n; });
    benchmark::DoNotOptimize(n);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(gpt2_words);

}  // namespace
}  // namespace rankfall
