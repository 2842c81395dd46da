#include "text/byte_pair.h"

#include <algorithm>
#include <queue>
#include <utility>

#include <fmt/format.h>

#include "base/errors.h"
#include "io/utf8.h"
#include "text/unicode.h"

namespace rankfall {
namespace {

// Printable bytes stand for themselves, the others for U+0100 and following, in order.
std::array<std::string, 256> make_alphabet() {
  std::array<std::string, 256> alphabet;
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    append_utf8(printable ? char32_t{byte} : next++, alphabet[byte]);
  }
  return alphabet;
}

const std::array<std::string, 256>& alphabet() {
  static const std::array<std::string, 256> characters = make_alphabet();
  return characters;
}

}  // namespace

std::string byte_character(unsigned char byte) { return alphabet()[byte]; }

std::string bytes_as_characters(std::string_view text) {
  std::string out;
  for (const char c : text) out += alphabet()[static_cast<unsigned char>(c)];
  return out;
}

BytePair::BytePair(Vocabulary vocabulary, const std::vector<Merge>& merges, Options options, std::string_view where)
    : vocabulary_(std::move(vocabulary)), options_(std::move(options)), where_(where) {
  rules_.reserve(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto id = [&](const std::string& piece) {
      const auto found = vocabulary_.find(piece);
      if (!found) {
        throw input_error("{}: rule {} merges {} and {}, but {} is not in the vocabulary", where, i + 1,
                          in_quotes(merges[i].left), in_quotes(merges[i].right), in_quotes(piece));
      }
      return *found;
    };
    const std::int32_t left = id(merges[i].left);
    const std::int32_t right = id(merges[i].right);
    // The prefix of a symbol that continues a word does not stay inside the merged one.
    std::string_view rest = merges[i].right;
    if (!rest.starts_with(options_.continuing)) {
      throw input_error("{}: rule {} merges {} and {}, which does not begin with {}", where, i + 1,
                        in_quotes(merges[i].left), in_quotes(rest), in_quotes(options_.continuing));
    }
    rest.remove_prefix(options_.continuing.size());
    // Of equal rules the last counts, as in the original implementations.
    rules_.insert_or_assign(key(left, right),
                            Rule{static_cast<std::uint32_t>(i), id(merges[i].left + std::string(rest))});
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = vocabulary_.find(options_.bytes_as_characters ? byte_character(static_cast<unsigned char>(byte))
                                                                    : fmt::format("<0x{:02X}>", byte));
  }
}

// An unknown symbol waits until a known one comes, so that its neighbours can be fused with it; bytes do not end the
// waiting. All that follows the original implementation.
std::vector<std::int32_t> BytePair::symbols_of(std::string_view word) const {
  std::vector<std::int32_t> symbols;
  bool waiting = false;  // an unknown symbol
  const auto add_known = [&](std::int32_t id) {
    if (waiting) symbols.push_back(*options_.unknown);
    waiting = false;
    symbols.push_back(id);
  };
  const auto add_unknown = [&](std::string_view symbol) {
    const auto has_byte = [&](char c) { return byte_ids_[static_cast<unsigned char>(c)].has_value(); };
    if (options_.byte_fallback && std::ranges::all_of(symbol, has_byte)) {
      for (const char c : symbol) symbols.push_back(*byte_ids_[static_cast<unsigned char>(c)]);
      return;
    }
    if (!options_.missing_unknown.empty()) {
      throw input_error("{}: {} is not in the vocabulary, nor is the unknown token {}", where_, in_quotes(symbol),
                        in_quotes(options_.missing_unknown));
    }
    if (!options_.unknown) return;
    if (waiting && !options_.fuse_unknown) symbols.push_back(*options_.unknown);
    waiting = true;
  };
  if (options_.bytes_as_characters) {
    for (const char& c : word) {
      const auto id = byte_ids_[static_cast<unsigned char>(c)];
      id ? add_known(*id) : add_unknown({&c, 1});
    }
  } else {
    const bool plain = options_.continuing.empty() && options_.ending.empty();
    std::string marked;
    std::size_t at = 0;
    for_each_code(word, [&](char32_t, std::string_view bytes) {
      std::string_view symbol = bytes;
      if (!plain) {
        marked = at > 0 ? options_.continuing : std::string();
        marked += bytes;
        if (at + bytes.size() == word.size()) marked += options_.ending;
        symbol = marked;
      }
      at += bytes.size();
      const auto id = vocabulary_.find(symbol);
      id ? add_known(*id) : add_unknown(symbol);
    });
  }
  if (waiting) symbols.push_back(*options_.unknown);
  return symbols;
}

void BytePair::encode_word(std::string_view word, Pieces& out) const {
  if (word.empty()) return;
  out.budget.work(16 * word.size());
  if (options_.ignore_merges) {
    const auto id = vocabulary_.find(options_.bytes_as_characters ? bytes_as_characters(word) : std::string(word));
    if (id) {
      out.add(*id, vocabulary_.text(*id));
      return;
    }
  }
  std::vector<std::int32_t> symbols = symbols_of(word);
  merge(symbols);
  for (const std::int32_t id : symbols) out.add(id, vocabulary_.text(id));
}

// A list of symbols linked both ways, and a queue of what could be merged: n log n, whatever the word.
void BytePair::merge(std::vector<std::int32_t>& symbols) const {
  if (symbols.size() < 2) return;
  struct Candidate {
    std::uint32_t rank, left;  // left: place of the left symbol
    std::int32_t left_id, right_id, result;
    bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : left > other.left; }
  };
  constexpr std::uint32_t kNone = 0xFFFFFFFF;
  const auto n = static_cast<std::uint32_t>(symbols.size());
  std::vector<std::uint32_t> next(n);
  std::vector<std::uint32_t> before(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    next[i] = i + 1 < n ? i + 1 : kNone;
    before[i] = i > 0 ? i - 1 : kNone;
  }
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto propose = [&](std::uint32_t left) {
    if (left == kNone || next[left] == kNone) return;
    const std::int32_t a = symbols[left];
    const std::int32_t b = symbols[next[left]];
    const auto rule = rules_.find(key(a, b));
    if (rule != rules_.end()) queue.push({rule->second.rank, left, a, b, rule->second.result});
  };
  for (std::uint32_t i = 0; i + 1 < n; ++i) propose(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    const std::uint32_t right = next[best.left];
    // Something merged there meanwhile: symbols that are gone have the number -1.
    if (right == kNone || symbols[best.left] != best.left_id || symbols[right] != best.right_id) continue;
    symbols[best.left] = best.result;
    symbols[right] = -1;
    next[best.left] = next[right];
    if (next[right] != kNone) before[next[right]] = best.left;
    propose(before[best.left]);
    propose(best.left);
  }
  std::erase(symbols, -1);
}

namespace {

// The end of a run of code points for which `in` holds, from `first` on.
template <class In>
std::size_t run_end(std::string_view text, std::size_t first, const In& in) {
  while (first < text.size()) {
    const auto byte = static_cast<unsigned char>(text[first]);
    const Utf8Unit unit = byte < 0x80 ? Utf8Unit{char32_t{byte}, 1, true} : utf8_decode(text.substr(first));
    if (!in(unit.valid ? unit.code : char32_t{0xFFFD})) break;
    first += unit.length;
  }
  return first;
}

std::size_t contraction(std::string_view text) {
  for (const std::string_view form : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.starts_with(form)) return form.size();
  }
  return 0;
}

}  // namespace

void split_gpt2(std::string_view text, const std::function<void(std::string_view)>& f) {
  const auto mark = [](char32_t c) { return !is_white_space(c) && !is_letter(c) && !is_number(c); };
  std::size_t first = 0;
  while (first < text.size()) {
    std::size_t end = first;
    if (const std::size_t n = contraction(text.substr(first))) {
      end = first + n;
    } else {
      const std::size_t start = text[first] == ' ' ? first + 1 : first;  // " ?"
      for (const auto& in :
           {+[](char32_t c) { return is_letter(c); }, +[](char32_t c) { return is_number(c); }, +mark}) {
        end = run_end(text, start, in);
        if (end > start) break;
      }
      if (end == start) {  // white space
        end = run_end(text, first, is_white_space);
        // \s+(?!\S): all of it but the last, which belongs to the word that follows.
        if (end < text.size()) {
          std::size_t last = end - 1;
          while ((static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
          if (last > first) end = last;
        }
      }
    }
    f(text.substr(first, end - first));
    first = end;
  }
}

}  // namespace rankfall
