#include "text/regex.h"

#include <cctype>

#include <fmt/format.h>
#include <unicode/regex.h>
#include <unicode/utext.h>

#include "base/errors.h"
#include "io/utf8.h"

namespace rankfall {
namespace {

constexpr std::size_t kMaxPattern = 10'000;
constexpr std::int32_t kStackLimit = 64 * (1 << 20);  // bytes
// In units of the budget. ICU calls back after 10,000 steps of some 40 ns each, and at every place where it tries a
// match.
constexpr std::uint64_t kWorkPerCall = 40'000;
constexpr std::uint64_t kWorkPerPlace = 64;
constexpr std::uint64_t kWorkPerMatcher = 32;  // to set one up
constexpr std::size_t kHeldPerMatch = 8;       // bytes of a text that a match counts as

// ICU hands contexts on as pointers to const; this one leads to a budget that is not.
TextBudget& budget_of(const void* context) { return **static_cast<TextBudget* const*>(context); }
UBool spend_steps(const void* context, std::int32_t) {
  return static_cast<UBool>(budget_of(context).try_long_work(kWorkPerCall));
}
// One step may go over the whole text (a*+), so steps alone do not tell the time.
UBool spend_place(const void* context, std::int64_t) {
  return static_cast<UBool>(budget_of(context).try_work(kWorkPerPlace));
}

// Oniguruma's \w: the Unicode definition without joiners, and the superscripts and fractions of Latin-1.
constexpr std::string_view kWordSet = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\u00B2\\u00B3\\u00B9\\u00BC-\\u00BE";
constexpr std::string_view kHexSet = "0-9a-fA-F";

std::string escape_for_icu(char c, bool in_set) {
  // Between a word and what is not one, with this \w; in a set \b is a backspace.
  if (!in_set && c == 'b') return fmt::format("(?:(?<=[{0}])(?![{0}])|(?<![{0}])(?=[{0}]))", kWordSet);
  if (!in_set && c == 'B') return fmt::format("(?:(?<=[{0}])(?=[{0}])|(?<![{0}])(?![{0}]))", kWordSet);
  switch (c) {
    case 'w':
      return fmt::format("[{}]", kWordSet);
    case 'W':
      return fmt::format("[^{}]", kWordSet);
    case 'h':
      return fmt::format("[{}]", kHexSet);
    case 'H':
      return fmt::format("[^{}]", kHexSet);
    case 'v':
      return "\\x0B";
    default:
      return {'\\', c};
  }
}

// The length of {n}, {n,} or {n,m} at the beginning of a pattern; 0 if there is none.
std::size_t interval_length(std::string_view pattern) {
  if (!pattern.starts_with('{')) return 0;
  std::size_t i = 1;
  while (i < pattern.size() && (std::isdigit(static_cast<unsigned char>(pattern[i])) != 0 || pattern[i] == ',')) ++i;
  return i > 1 && i < pattern.size() && pattern[i] == '}' ? i + 1 : 0;
}

// The length of the letters of (?imx) or (?i-m: behind "(?"; 0 if they are not flags.
std::size_t flags_length(std::string_view behind) {
  std::size_t i = 0;
  while (i < behind.size() && (std::isalpha(static_cast<unsigned char>(behind[i])) != 0 || behind[i] == '-')) ++i;
  return i < behind.size() && (behind[i] == ':' || behind[i] == ')') ? i : 0;
}

}  // namespace

std::string from_oniguruma(std::string_view pattern, std::string_view where) {
  const auto fail = [&](std::string_view what) -> Error {
    return input_error(
        "{}: pattern {}: {} is not supported; token ids from another tokenizer can be given instead "
        "(InputOptions::ids)",
        where, in_quotes(pattern), what);
  };
  std::string out;
  std::size_t depth = 0;  // of sets in sets
  for (std::size_t i = 0; i < pattern.size();) {
    const std::string_view rest = pattern.substr(i);
    if (rest[0] == '\\' && rest.size() > 1) {
      out += escape_for_icu(rest[1], depth > 0);
      i += 2;
      continue;
    }
    if (depth > 0 && rest.starts_with("[:")) {  // [:alpha:]
      const std::size_t end = rest.find(":]");
      if (end == rest.npos) throw fail("'[:' without ':]'");
      const std::string_view name = rest.substr(0, end + 2);
      out += name == "[:punct:]" ? std::string_view("\\p{P}\\p{S}") : name;
      i += name.size();
      continue;
    }
    if (depth > 0 && rest.starts_with("--")) {  // a difference of sets in ICU
      out += "\\-\\-";
      i += 2;
      continue;
    }
    if (rest[0] == '[') ++depth;
    if (rest[0] == ']' && depth > 0) --depth;
    if (depth == 0) {
      if (const std::size_t n = interval_length(rest); n > 0 && n < rest.size() && rest[n] == '+') {
        throw fail("a possessive interval such as {1,3}+");
      }
      if (rest.starts_with("(?")) {
        const std::string_view flags = rest.substr(2, flags_length(rest.substr(2)));
        if (flags.find_first_not_of("imx-") != flags.npos) throw fail("a flag other than i, m and x");
        out += "(?";
        for (const char flag : flags) out += flag == 'm' ? 's' : flag;
        i += 2 + flags.size();
        continue;
      }
    }
    out += rest[0];
    ++i;
  }
  return out;
}

struct Regex::Impl {
  std::unique_ptr<icu::RegexPattern> pattern;
  std::string where;

  void check(UErrorCode error, const char* what) const {
    if (U_FAILURE(error)) throw input_error("{}: {}: {}", where, what, u_errorName(error));
  }
};

Regex::Regex(std::string_view pattern, std::string_view where) : impl_(std::make_unique<Impl>()) {
  impl_->where = std::string(where);
  if (pattern.size() > kMaxPattern) {
    throw input_error("{}: a pattern of {} bytes, expected at most {}", where, pattern.size(), kMaxPattern);
  }
  UErrorCode error = U_ZERO_ERROR;
  UParseError place;
  const auto text =
      icu::UnicodeString::fromUTF8(icu::StringPiece(pattern.data(), static_cast<std::int32_t>(pattern.size())));
  impl_->pattern.reset(icu::RegexPattern::compile(text, UREGEX_MULTILINE | UREGEX_UNIX_LINES, place, error));
  impl_->check(error, fmt::format("pattern {}", in_quotes(pattern)).c_str());
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

std::vector<std::pair<std::size_t, std::size_t>> Regex::find_all(std::string_view text, TextBudget& budget) const {
  budget.work(kWorkPerMatcher + 4 * text.size());
  TextBudget* const spending = &budget;
  std::vector<std::pair<std::size_t, std::size_t>> found;
  UErrorCode error = U_ZERO_ERROR;
  UText bytes = UTEXT_INITIALIZER;
  utext_openUTF8(&bytes, text.data(), static_cast<std::int64_t>(text.size()), &error);
  {
    const std::unique_ptr<icu::RegexMatcher> matcher(impl_->pattern->matcher(error));
    impl_->check(error, "matching");
    matcher->setMatchCallback(spend_steps, &spending, error);
    matcher->setFindProgressCallback(spend_place, &spending, error);
    matcher->setStackLimit(kStackLimit, error);
    matcher->reset(&bytes);
    while (U_SUCCESS(error) && matcher->find(error)) {
      const auto first = static_cast<std::size_t>(matcher->start64(error));
      const auto end = static_cast<std::size_t>(matcher->end64(error));
      const bool behind_last = !found.empty() && found.back().second == first;
      if (end > first || !behind_last) found.emplace_back(first, end);
      budget.hold(kHeldPerMatch * found.size());
    }
  }
  utext_close(&bytes);
  if (error == U_REGEX_STOPPED_BY_CALLER) budget.fail_work();
  impl_->check(error, "matching");
  return found;
}

}  // namespace rankfall
