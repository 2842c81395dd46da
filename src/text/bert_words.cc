#include "text/bert_words.h"

namespace rankfall {

BertWords::BertWords(Options options) : options_(options) {
  for (unsigned i = 0; i < 256; ++i) byte_class_[i] = i < 0x80 ? class_of(i) : kBeyondAscii;
  for (unsigned i = 0; i < 128; ++i) lowered_[i] = static_cast<char>(i >= 'A' && i <= 'Z' ? i + 32 : i);
}

BertWords::Class BertWords::class_of(char32_t c) const {
  if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return kSpace;
  if (options_.clean && (c == 0 || c == 0xFFFD || (is_other(c) && !(options_.fast && is_unassigned(c))))) return kDrop;
  if (is_space_mark(c) || is_python_space(c)) return kSpace;
  const bool ascii_mark =
      (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  return ascii_mark || is_punctuation(c) ? kMark : kWord;
}

std::string BertWords::mapped(std::string_view token) const {
  std::string text = !options_.lower ? std::string(token) : options_.fast ? to_lower_each(token) : to_lower(token);
  return options_.strip_accents ? without(to_nfd(text), is_accent) : text;
}

std::string BertWords::normalized(std::string_view text) const {
  std::string out;
  for_each_code(text, [&](char32_t c, std::string_view bytes) {
    const Class kind = class_of(c);
    const bool apart = is_cjk(c) && !(options_.fast && c >= 0x2B820 && c <= 0x2B91F);
    if (options_.cjk && apart) {
      out += ' ';
      out += bytes;
      out += ' ';
    } else if (options_.clean && kind == kDrop) {
      return;
    } else if (options_.clean && kind == kSpace) {
      out += ' ';
    } else {
      out += bytes;
    }
  });
  return mapped(out);
}

}  // namespace rankfall
