#include "io/json_events.h"

#include <algorithm>
#include <iterator>

#include "base/errors.h"
#include "io/utf8.h"

namespace rankfall {
namespace {

// Tells how far the parser has read: events carry no position of their own.
class TrackedCharacter {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TrackedCharacter(const char* at, const char** read) : at_(at), read_(read) {}
  reference operator*() const { return *at_; }
  TrackedCharacter& operator++() {
    *read_ = ++at_;
    return *this;
  }
  TrackedCharacter operator++(int) {
    const TrackedCharacter before = *this;
    ++*this;
    return before;
  }
  bool operator==(const TrackedCharacter& other) const { return at_ == other.at_; }
  bool operator!=(const TrackedCharacter& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** read_;
};

// The only part of the parser's own text that helps: what is wrong inside a string or number, as in "... invalid
// string: forbidden character after backslash; last read: ...".
std::string_view detail(std::string_view text) {
  for (const std::string_view kind : {"invalid string: ", "invalid number; "}) {
    const auto begin = text.find(kind);
    if (begin == text.npos) continue;
    text.remove_prefix(begin + kind.size());
    return text.substr(0, text.find("; last read"));
  }
  return "";
}

}  // namespace

void JsonEvents::parse() {
  if (const std::size_t bad = utf8_first_error(text_); bad != text_.size()) {
    fail_at(bad, fmt::format("byte 0x{:02x} is not UTF-8; JSON is always UTF-8, the file may be damaged",
                             static_cast<unsigned char>(text_[bad])));
  }
  // nlohmann's lexer takes a NUL for the end of the text and would not look at what follows it.
  if (const std::size_t nul = text_.find('\0'); nul != text_.npos) {
    fail_at(nul, "NUL character; the file may be damaged");
  }
  const TrackedCharacter first(text_.data(), &read_);
  const TrackedCharacter last(text_.data() + text_.size(), &read_);
  nlohmann::json::sax_parse(first, last, static_cast<nlohmann::json_sax<nlohmann::json>*>(this));
}

bool JsonEvents::parse_error(std::size_t position, const std::string& last_token, const nlohmann::json::exception& e) {
  constexpr int kNumberTooLarge = 406;
  // `position` counts the characters read, so the offending one is the last of them.
  const std::size_t offset = position > 0 ? position - 1 : 0;
  const std::string_view inside = detail(e.what());
  fail_at(offset, "not valid JSON: " + (e.id == kNumberTooLarge ? std::string("a number beyond the range of doubles")
                                        : position > text_.size() || text_.find_first_not_of(" \t\r\n") == text_.npos
                                            ? std::string("it ends too soon")
                                        : !inside.empty() ? printable(inside, 200)
                                                          : "unexpected " + in_quotes(last_token)));
}

bool JsonEvents::enter(bool object) {
  if (++depth_ > max_depth_) fail("nested more than {} levels deep", max_depth_);
  open(object);
  return true;
}

bool JsonEvents::leave() {
  --depth_;
  close();
  return true;
}

void JsonEvents::fail(std::string_view problem) const {
  const auto taken = static_cast<std::size_t>(read_ - text_.data());
  fail_at(taken > 0 ? taken - 1 : 0, problem);
}

void JsonEvents::fail_at(std::size_t offset, std::string_view problem) const {
  const std::string_view before = text_.substr(0, std::min(offset, text_.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = before.size() - (newline == before.npos ? 0 : newline + 1) + 1;
  throw input_error("{}: line {}, column {}: {}", where_, line, column, problem);
}

}  // namespace rankfall
