#include "text/unicode.h"

#include <array>
#include <memory>
#include <stdexcept>

#include <unicode/brkiter.h>
#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utext.h>

namespace rankfall {
namespace {

std::uint32_t category(char32_t c) { return U_MASK(u_charType(static_cast<UChar32>(c))); }

void check(UErrorCode error) {
  if (U_FAILURE(error)) throw std::runtime_error(std::string("ICU: ") + u_errorName(error));
}

// The longest run of combining marks that ICU gets as it is: it sorts them by insertion, which takes time in the
// square.
constexpr std::size_t kMaxMarks = 64;

std::uint8_t leading_class(char32_t c) {
  return static_cast<std::uint8_t>(
      u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_LEAD_CANONICAL_COMBINING_CLASS));
}

bool has_many_marks(std::string_view text) {
  std::size_t n = 0;
  bool many = false;
  for_each_code(text, [&](char32_t c, std::string_view) {
    n = c >= 0x300 && leading_class(c) != 0 ? n + 1 : 0;
    many = many || n > kMaxMarks;
  });
  return many;
}

// The canonical decomposition in canonical order: runs of marks sorted by class, stable, in linear time.
std::string decomposed_and_sorted(std::string_view text, const icu::Normalizer2& nfd) {
  std::string out;
  std::array<std::string, 256> marks;  // of the run, by class
  bool pending = false;
  const auto flush = [&] {
    if (!pending) return;
    for (std::string& of_class : marks) {
      out += of_class;
      of_class.clear();
    }
    pending = false;
  };
  icu::UnicodeString parts;
  for_each_code(text, [&](char32_t c, std::string_view) {
    if (nfd.getDecomposition(static_cast<UChar32>(c), parts) == 0) parts.setTo(static_cast<UChar32>(c));
    for (std::int32_t i = 0; i < parts.length(); i = parts.moveIndex32(i, 1)) {
      const UChar32 part = parts.char32At(i);
      const std::uint8_t of = u_getCombiningClass(part);
      if (of == 0) flush();
      append_utf8(static_cast<char32_t>(part), of == 0 ? out : marks[of]);
      pending = pending || of != 0;
    }
  });
  flush();
  return out;
}

using GetForm = const icu::Normalizer2* (*)(UErrorCode&);

template <GetForm get>
const icu::Normalizer2& form() {
  static const icu::Normalizer2* const found = [] {
    UErrorCode error = U_ZERO_ERROR;
    const icu::Normalizer2* wanted = get(error);
    check(error);
    return wanted;
  }();
  return *found;
}

template <GetForm get>
std::string in_form(std::string_view text) {
  std::string sorted;
  if (has_many_marks(text)) text = sorted = decomposed_and_sorted(text, form<icu::Normalizer2::getNFDInstance>());
  std::string out;
  icu::StringByteSink<std::string> sink(&out);
  UErrorCode error = U_ZERO_ERROR;
  form<get>().normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())), sink, nullptr,
                            error);
  check(error);
  return out;
}

}  // namespace

bool is_letter(char32_t c) { return (category(c) & U_GC_L_MASK) != 0; }
bool is_number(char32_t c) { return (category(c) & U_GC_N_MASK) != 0; }
bool is_punctuation(char32_t c) { return (category(c) & U_GC_P_MASK) != 0; }
bool is_other(char32_t c) { return (category(c) & U_GC_C_MASK) != 0; }
bool is_unassigned(char32_t c) { return (category(c) & U_GC_CN_MASK) != 0; }
bool is_space_mark(char32_t c) { return (category(c) & U_GC_ZS_MASK) != 0; }
bool is_accent(char32_t c) { return (category(c) & U_GC_MN_MASK) != 0; }
bool is_mark(char32_t c) { return (category(c) & U_GC_M_MASK) != 0; }
bool is_combining(char32_t c) { return u_getCombiningClass(static_cast<UChar32>(c)) != 0; }
bool is_white_space(char32_t c) { return u_isUWhiteSpace(static_cast<UChar32>(c)) != 0; }
bool is_python_space(char32_t c) { return is_white_space(c) || (c >= 0x1C && c <= 0x1F); }

bool is_digit(char32_t c) {
  const auto type = u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_NUMERIC_TYPE);
  return type == U_NT_DECIMAL || type == U_NT_DIGIT;
}

bool is_word_character(char32_t c) {
  return u_isUAlphabetic(static_cast<UChar32>(c)) != 0 ||
         (category(c) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0 || c == 0x200C || c == 0x200D;
}

bool is_cjk(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B820 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

std::string to_lower(std::string_view text) {
  std::string out;
  icu::StringByteSink<std::string> sink(&out);
  UErrorCode error = U_ZERO_ERROR;
  icu::CaseMap::utf8ToLower("", 0, icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())), sink, nullptr,
                            error);
  check(error);
  return out;
}

std::string to_lower_each(std::string_view text) {
  std::string out;
  for_each_code(text, [&](char32_t c, std::string_view bytes) {
    if (c < 0x80) {
      out += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    } else {
      out += to_lower(bytes);
    }
  });
  return out;
}

std::string to_nfc(std::string_view text) { return in_form<icu::Normalizer2::getNFCInstance>(text); }
std::string to_nfd(std::string_view text) { return in_form<icu::Normalizer2::getNFDInstance>(text); }
std::string to_nfkc(std::string_view text) { return in_form<icu::Normalizer2::getNFKCInstance>(text); }
std::string to_nfkd(std::string_view text) { return in_form<icu::Normalizer2::getNFKDInstance>(text); }

std::string without(std::string_view text, bool (*is_dropped)(char32_t)) {
  std::string kept;
  for_each_code(text, [&](char32_t c, std::string_view bytes) {
    if (!is_dropped(c)) kept += bytes;
  });
  return kept;
}

void for_each_grapheme(std::string_view text, const std::function<void(std::string_view)>& f) {
  UErrorCode error = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> breaks(icu::BreakIterator::createCharacterInstance("", error));
  check(error);
  UText bytes = UTEXT_INITIALIZER;
  utext_openUTF8(&bytes, text.data(), static_cast<std::int64_t>(text.size()), &error);
  check(error);
  breaks->setText(&bytes, error);
  check(error);
  std::size_t first = 0;
  for (auto end = breaks->next(); end != icu::BreakIterator::DONE; end = breaks->next()) {
    f(text.substr(first, static_cast<std::size_t>(end) - first));
    first = static_cast<std::size_t>(end);
  }
  utext_close(&bytes);
}

void append_utf8(char32_t c, std::string& out) {
  const auto byte = [&](char32_t bits) { out += static_cast<char>(static_cast<unsigned char>(bits)); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0 | (c >> 6));
    byte(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    byte(0xE0 | (c >> 12));
    byte(0x80 | ((c >> 6) & 0x3F));
    byte(0x80 | (c & 0x3F));
  } else {
    byte(0xF0 | (c >> 18));
    byte(0x80 | ((c >> 12) & 0x3F));
    byte(0x80 | ((c >> 6) & 0x3F));
    byte(0x80 | (c & 0x3F));
  }
}

}  // namespace rankfall
