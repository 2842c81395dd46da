#include "text/unigram.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/errors.h"
#include "io/utf8.h"

namespace rankfall {
namespace {

constexpr double kUnknownPenalty = 10;    // below the smallest score, as in SentencePiece
constexpr std::int32_t kNoPiece = -1;     // an unknown character
constexpr std::size_t kHeldPerNode = 24;  // bytes

}  // namespace

Unigram::Unigram(const std::vector<std::pair<std::string, double>>& pieces, Options options, std::string where)
    : options_(options), where_(std::move(where)) {
  RANKFALL_DCHECK(!pieces.empty());
  double smallest = pieces[0].second;
  for (const auto& [text, score] : pieces) {
    scores_.push_back(score);
    smallest = std::min(smallest, score);
  }
  unknown_score_ = smallest - kUnknownPenalty;
  for (std::size_t i = pieces.size(); i-- > 0;) {
    const auto id = static_cast<std::int32_t>(i);
    if (!pieces[i].first.empty() && vocabulary_.add(pieces[i].first, id)) sorted_.push_back({pieces[i].first, id});
  }
  std::ranges::sort(sorted_, {}, &Entry::text);
}

// Tries every piece that begins at `first`: a range of pieces is narrowed byte by byte.
void Unigram::extend(std::string_view word, std::size_t first, std::vector<Node>& nodes, TextBudget& budget) const {
  const double before = nodes[first].score;
  const std::size_t n_character = utf8_decode(word.substr(first)).length;
  bool has_character = false;
  const auto reach = [&](std::size_t length, double score, std::int32_t id) {
    Node& node = nodes[first + length];
    if (!node.reached || before + score > node.score) {
      node = {before + score, static_cast<std::uint32_t>(first), id, true};
    }
  };
  auto begin = sorted_.begin();
  auto end = sorted_.end();
  for (std::size_t n = 0; begin != end; ++n) {
    budget.work(4);
    if (begin->text.size() == n) {
      has_character = has_character || n == n_character;
      reach(n, scores_[static_cast<std::size_t>(begin->id)], begin->id);
      ++begin;
    }
    if (first + n == word.size() || begin == end) break;
    const auto byte_of = [n](const Entry& entry) { return static_cast<unsigned char>(entry.text[n]); };
    const auto byte = static_cast<unsigned char>(word[first + n]);
    if (byte_of(*begin) == byte && byte_of(*(end - 1)) == byte) continue;
    begin = std::ranges::lower_bound(begin, end, byte, {}, byte_of);
    end = std::ranges::upper_bound(begin, end, byte, {}, byte_of);
  }
  if (!has_character) reach(n_character, unknown_score_, kNoPiece);
}

void Unigram::add_unknown(std::string_view text, Pieces& out) const {
  if (const auto id = vocabulary_.find(text)) {
    out.add(*id, text);
    return;
  }
  if (options_.byte_fallback) {
    std::vector<std::int32_t> bytes;
    for (const char c : text) {
      const auto id = vocabulary_.find(fmt::format("<0x{:02X}>", static_cast<unsigned char>(c)));
      if (!id) break;
      bytes.push_back(*id);
    }
    if (bytes.size() == text.size()) {
      for (const std::int32_t id : bytes) out.add(id, vocabulary_.text(id));
      return;
    }
  }
  if (!options_.unknown) {
    throw input_error("{}: {} is not in the vocabulary, and there is no 'unk_id'", where_, in_quotes(text));
  }
  out.add(*options_.unknown, text);
}

void Unigram::encode_word(std::string_view word, Pieces& out) const {
  if (word.empty()) return;
  out.budget.work(16 * word.size());
  out.budget.hold(kHeldPerNode / 4 * word.size());
  std::vector<Node> nodes(word.size() + 1);
  for (std::size_t first = 0; first < word.size(); first += utf8_decode(word.substr(first)).length) {
    extend(word, first, nodes, out.budget);
  }
  struct Found {
    std::size_t first, end;
    std::int32_t id;
  };
  std::vector<Found> found;  // from the end; neighbouring unknown characters are one
  for (std::size_t end = word.size(); end > 0; end = nodes[end].first) {
    const std::int32_t id = nodes[end].id == options_.unknown ? kNoPiece : nodes[end].id;
    if (id == kNoPiece && !found.empty() && found.back().id == kNoPiece) {
      found.back().first = nodes[end].first;
    } else {
      found.push_back({nodes[end].first, end, id});
    }
  }
  for (auto piece = found.rbegin(); piece != found.rend(); ++piece) {
    const std::string_view text = word.substr(piece->first, piece->end - piece->first);
    if (piece->id == kNoPiece) {
      add_unknown(text, out);
    } else {
      out.add(piece->id, text);
    }
  }
}

}  // namespace rankfall
