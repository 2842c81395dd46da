#include "io/npy_header.h"

#include <charconv>
#include <system_error>

#include <fmt/format.h>

#include "base/errors.h"
#include "io/safetensors_header.h"
#include "io/utf8.h"

namespace rankfall {
namespace {

// A cursor over the text of the dictionary; every function takes one thing or throws.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  NpyHeader parse() {
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!take('}')) {
      const std::string_view key = quoted_text();
      expect(':');
      if (key == "descr") {
        first_time(descr, key);
        header_.descr = dtype_text();
      } else if (key == "fortran_order") {
        first_time(order, key);
        header_.fortran_order = boolean();
      } else if (key == "shape") {
        first_time(shape, key);
        header_.shape = tuple();
      } else {
        fail(fmt::format("key {}, expected 'descr', 'fortran_order' and 'shape'", in_quotes(key)));
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) fail("text after the closing '}'");
    if (!descr || !order || !shape) {
      fail(fmt::format("no '{}'", !descr ? "descr" : !order ? "fortran_order" : "shape"));
    }
    return header_;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw input_error("{}: header, byte {}: {}", where_, at_, problem);
  }

  void first_time(bool& seen, std::string_view key) const {
    if (seen) fail(fmt::format("'{}' appears twice", key));
    seen = true;
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }

  bool take(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!take(c)) fail(fmt::format("expected '{}', found {}", c, in_quotes(text_.substr(at_, 16))));
  }

  std::string_view quoted_text() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') fail("expected a text in quotes, found " + in_quotes(text_.substr(at_, 16)));
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos) fail("a text without closing quote");
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    if (value.find_first_of("\\\n") != value.npos) fail("a text with a backslash or a line break");
    at_ = end + 1;
    return value;
  }

  std::string dtype_text() {
    skip_space();
    if (text_.substr(at_).starts_with("[")) fail("a structured dtype; expected an array of plain numbers");
    return std::string(quoted_text());
  }

  bool boolean() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    fail("expected True or False, found " + in_quotes(text_.substr(at_, 16)));
  }

  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> sizes;
    expect('(');
    while (!take(')')) {
      if (sizes.size() >= kMaxTensorDimensions) fail(fmt::format("more than {} dimensions", kMaxTensorDimensions));
      sizes.push_back(size());
      if (take(',')) continue;
      expect(')');
      // In Python, (3) is a number; a tuple of one is (3,).
      if (sizes.size() == 1) fail("the shape is a number in brackets, expected a tuple");
      break;
    }
    return sizes;
  }

  std::uint64_t size() {
    skip_space();
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (parsed.ec != std::errc()) fail("expected a size of 0 or more, found " + in_quotes(text_.substr(at_, 24)));
    at_ = static_cast<std::size_t>(parsed.ptr - text_.data());
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote (3L, 4L)
    return value;
  }

  std::string_view text_;
  std::string_view where_;
  std::size_t at_ = 0;
  NpyHeader header_;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, std::string_view where) { return HeaderParser(text, where).parse(); }

}  // namespace rankfall
