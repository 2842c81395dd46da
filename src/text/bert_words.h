#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/unicode.h"

namespace rankfall {

// BERT's way from text to words: control characters dropped, ideographs set apart, split at white space, lower case and
// accents removed where asked for, punctuation marks words of their own.
class BertWords {
 public:
  struct Options {
    bool clean = true;
    bool cjk = true;
    bool lower = true;
    bool strip_accents = true;
    // As tokenizer.json means it: letters are lowered one by one, unassigned code points are kept, and the ideographs
    // U+2B820 to U+2B91F are not set apart.
    bool fast = false;
  };
  explicit BertWords(Options options);

  // Calls f(word) for each, in order.
  template <class F>
  void split(std::string_view text, const F& f) const;

  // The text after all but the splitting: words and marks with the white space between them as it was, ideographs with
  // spaces around.
  std::string normalized(std::string_view text) const;

 private:
  enum Class : std::uint8_t { kWord, kMark, kSpace, kDrop, kBeyondAscii };

  Class class_of(char32_t c) const;
  std::string mapped(std::string_view token) const;  // lower case, accents
  template <class F>
  void finish(std::string& token, bool ascii, const F& f) const;

  Options options_;
  std::array<Class, 256> byte_class_{};
  std::array<char, 128> lowered_{};
};

template <class F>
void BertWords::split(std::string_view text, const F& f) const {
  std::string token;  // up to white space
  bool ascii = true;
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end) {
    switch (byte_class_[static_cast<unsigned char>(*p)]) {
      case kWord:
      case kMark: {
        const char* first = p;
        while (p != end && byte_class_[static_cast<unsigned char>(*p)] <= kMark) ++p;
        token.append(first, p);
        break;
      }
      case kSpace:
        finish(token, ascii, f);
        ascii = true;
        ++p;
        break;
      case kDrop:
        ++p;
        break;
      case kBeyondAscii: {
        const Utf8Unit unit = utf8_decode({p, static_cast<std::size_t>(end - p)});
        const char32_t c = unit.valid ? unit.code : char32_t{0xFFFD};
        const std::string_view bytes(p, unit.length);
        p += unit.length;
        if (options_.cjk && is_cjk(c)) {
          finish(token, ascii, f);
          ascii = true;
          std::string single(bytes);
          finish(single, false, f);
        } else if (const Class kind = class_of(c); kind == kSpace) {
          finish(token, ascii, f);
          ascii = true;
        } else if (kind != kDrop) {
          token += bytes;
          ascii = false;
        }
        break;
      }
    }
  }
  finish(token, ascii, f);
}

template <class F>
void BertWords::finish(std::string& token, bool ascii, const F& f) const {
  if (token.empty()) return;
  if (ascii) {
    std::size_t first = 0;
    for (std::size_t i = 0; i < token.size(); ++i) {
      if (options_.lower) token[i] = lowered_[static_cast<unsigned char>(token[i])];
      if (byte_class_[static_cast<unsigned char>(token[i])] != kMark) continue;
      if (i > first) f(std::string_view(token).substr(first, i - first));
      f(std::string_view(token).substr(i, 1));
      first = i + 1;
    }
    if (first < token.size()) f(std::string_view(token).substr(first));
  } else {
    const std::string text = mapped(token);
    std::size_t first = 0;
    std::size_t at = 0;
    for_each_code(text, [&](char32_t c, std::string_view bytes) {
      const Class kind = class_of(c);
      if (kind == kMark || is_python_space(c)) {
        if (at > first) f(std::string_view(text).substr(first, at - first));
        if (kind == kMark) f(bytes);
        first = at + bytes.size();
      }
      at += bytes.size();
    });
    if (at > first) f(std::string_view(text).substr(first));
  }
  token.clear();
}

}  // namespace rankfall
