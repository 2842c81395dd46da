#include <algorithm>
#include <utility>

#include <unicode/uscript.h>

#include "io/utf8.h"
#include "text/byte_pair.h"
#include "text/json_stages.h"
#include "text/splitting.h"
#include "text/unicode.h"
#include "text/unsupported.h"

namespace rankfall {
namespace {

using Splitter = std::function<void(const Word& word, TextBudget& budget, Words& out)>;

void add_parts(const Word& word, const Ranges& ranges, Words& out) {
  for (const auto& [first, end] : ranges) {
    out.push_back({word.text.substr(first, end - first), word.at_start && first == 0});
  }
}

Splitter split_at(std::shared_ptr<const Regex> pattern, SplitBehavior behavior, bool invert = false) {
  return [pattern = std::move(pattern), behavior, invert](const Word& word, TextBudget& budget, Words& out) {
    add_parts(word, split_ranges(word.text.size(), pattern->find_all(word.text, budget), behavior, invert), out);
  };
}

// Every code point for which `is_match` holds is a match of its own.
template <class IsMatch>
Ranges matches_of(std::string_view text, const IsMatch& is_match, TextBudget& budget) {
  Ranges matches;
  std::size_t at = 0;
  for_each_code(text, [&](char32_t c, std::string_view bytes) {
    if (is_match(c)) {
      matches.emplace_back(at, at + bytes.size());
      budget.hold(kHeldPerWord * matches.size());
    }
    at += bytes.size();
  });
  return matches;
}

template <class IsMatch>
Splitter split_at_each(IsMatch is_match, SplitBehavior behavior) {
  return [=](const Word& word, TextBudget& budget, Words& out) {
    add_parts(word, split_ranges(word.text.size(), matches_of(word.text, is_match, budget), behavior, false), out);
  };
}

bool is_any_punctuation(char32_t c) {
  const bool ascii = (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  return ascii || is_punctuation(c);
}

// Applies a splitter to every word so far.
void refine(const Splitter& splitter, TextBudget& budget, Words& words) {
  Words out;
  std::size_t n_counted = 0;
  std::size_t n_bytes = 0;
  for (Word& word : words) {
    budget.work(16 + kWorkPerStageByte * word.text.size());
    splitter(word, budget, out);
    std::string().swap(word.text);
    for (; n_counted < out.size(); ++n_counted) n_bytes += kHeldPerWord + out[n_counted].text.size();
    budget.hold(n_bytes);
  }
  words = std::move(out);
}

SplitBehavior behavior_of(const Config& node, std::string_view fallback) {
  const std::string name = fallback.empty() ? node.text("behavior") : node.text("behavior", fallback);
  const auto behavior = split_behavior(name);
  if (!behavior) fail_unsupported(node, "the behavior {}", in_quotes(name));
  return *behavior;
}

// A setting that is one character.
char32_t character_of(const Config& node, std::string_view key, std::string_view fallback) {
  const std::string text = fallback.empty() ? node.text(key) : node.text(key, fallback);
  const Utf8Unit unit = utf8_decode(text);
  if (text.empty() || !unit.valid || unit.length != text.size()) {
    node.fail("'{}' is {}, expected one character", key, in_quotes(text));
  }
  return unit.code;
}

void add_metaspace(const Config& node, PreTokenization& out) {
  std::string mark;
  const char32_t mark_code = character_of(node, "replacement", "\xE2\x96\x81");
  append_utf8(mark_code, mark);
  std::string scheme = node.text("prepend_scheme", "always");
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    fail_unsupported(node, "the scheme {}", in_quotes(scheme));
  }
  if (!node.flag("add_prefix_space", true)) {  // older files have nothing else
    if (node.has("prepend_scheme") && scheme == "always") {
      node.fail("'add_prefix_space' is false, but 'prepend_scheme' is 'always'");
    }
    scheme = "never";
  }
  const bool split = node.flag("split", true);
  out.steps.emplace_back([=](const Word& word, TextBudget& budget, Words& words) {
    const bool prefix = scheme == "always" || (scheme == "first" && word.at_start);
    Word marked{.text = {}, .at_start = word.at_start};
    for (const char& c : word.text) marked.text += c == ' ' ? std::string_view(mark) : std::string_view(&c, 1);
    if (prefix && !marked.text.starts_with(mark)) marked.text.insert(0, mark);
    if (!split) {
      words.push_back(std::move(marked));
      return;
    }
    const auto matches = matches_of(
        marked.text, [&](char32_t c) { return c == mark_code; }, budget);
    add_parts(marked, split_ranges(marked.text.size(), matches, SplitBehavior::kMergedWithNext, false), words);
  });
}

void add_byte_level(const Config& node, PreTokenization& out) {
  out.byte_level = true;
  out.steps.emplace_back([prefix = node.flag("add_prefix_space", true), use_regex = node.flag("use_regex", true)](
                             const Word& word, TextBudget&, Words& words) {
    const std::string spaced = prefix && !word.text.starts_with(' ') ? " " + word.text : word.text;
    if (!use_regex) {
      words.push_back({spaced, word.at_start});
      return;
    }
    bool at_start = word.at_start;
    split_gpt2(spaced, [&](std::string_view part) {
      words.push_back({std::string(part), at_start});
      at_start = false;
    });
  });
}

// Japanese syllables count as Han; a space belongs to the script before it, and at the beginning of a text is dropped.
void split_at_scripts(const Word& word, TextBudget&, Words& out) {
  constexpr auto kAny = static_cast<std::int32_t>(USCRIPT_INVALID_CODE);
  const auto script_of = [](char32_t c) -> std::int32_t {
    if (c == ' ') return kAny;
    if (c == 0x30FC) return USCRIPT_HAN;
    UErrorCode error = U_ZERO_ERROR;
    const UScriptCode script = uscript_getScript(static_cast<UChar32>(c), &error);
    if (U_FAILURE(error) || script == USCRIPT_UNKNOWN) return kAny;
    return script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA ? USCRIPT_HAN : script;
  };
  Ranges ranges;
  std::int32_t last = kAny;
  std::size_t at = 0;
  for_each_code(word.text, [&](char32_t c, std::string_view bytes) {
    const std::int32_t script = script_of(c);
    if (script != kAny && script != last) {
      if (!ranges.empty()) ranges.back().second = at;
      ranges.emplace_back(at, word.text.size());
    }
    if (script != kAny) last = script;
    at += bytes.size();
  });
  add_parts(word, ranges, out);
}

void add_fixed_length(const Config& node, PreTokenization& out) {
  const auto length = static_cast<std::size_t>(node.integer("length", 1, 1 << 20, 5));
  out.steps.emplace_back([length](const Word& word, TextBudget&, Words& words) {
    Ranges ranges;
    std::size_t at = 0;
    std::size_t n = 0;  // code points so far
    for_each_code(word.text, [&](char32_t, std::string_view bytes) {
      if (n++ % length == 0) ranges.emplace_back(at, at);
      ranges.back().second = at += bytes.size();
    });
    add_parts(word, ranges, words);
  });
}

}  // namespace

Words PreTokenization::operator()(std::string text, bool at_start, TextBudget& budget) const {
  Words words;
  if (text.empty()) return words;
  words.push_back({std::move(text), at_start});
  for (const Splitter& step : steps) refine(step, budget, words);
  return words;
}

void PreTokenization::spell_bytes() {
  if (!byte_level) return;
  byte_level = false;
  steps.emplace_back([](const Word& word, TextBudget&, Words& words) {
    words.push_back({bytes_as_characters(word.text), word.at_start});
  });
}

void add_pre_tokenizer(const Config& node, PreTokenization& out) {
  const std::string type = node.text("type");
  if (type == "Sequence") {
    for (const Config& step : node.list("pretokenizers", kMaxStages)) add_pre_tokenizer(step, out);
    return;
  }
  if (out.types.size() >= kMaxStages) node.fail("more stages than anybody needs");
  out.types.push_back(type);
  out.spell_bytes();
  if (type == "BertPreTokenizer") {
    out.steps.push_back(split_at_each(is_white_space, SplitBehavior::kRemoved));
    out.steps.push_back(split_at_each(is_any_punctuation, SplitBehavior::kIsolated));
  } else if (type == "ByteLevel") {
    add_byte_level(node, out);
  } else if (type == "Metaspace") {
    add_metaspace(node, out);
  } else if (type == "Whitespace") {
    out.steps.push_back(split_at(std::make_shared<const Regex>("\\w+|[^\\w\\s]+", node.where()),
                                 SplitBehavior::kRemoved, /*invert=*/true));
  } else if (type == "WhitespaceSplit") {
    out.steps.push_back(split_at_each(is_white_space, SplitBehavior::kRemoved));
  } else if (type == "Digits") {
    out.steps.push_back(split_at_each(
        is_number, node.flag("individual_digits", false) ? SplitBehavior::kIsolated : SplitBehavior::kContiguous));
  } else if (type == "Punctuation") {
    out.steps.push_back(split_at_each(is_any_punctuation, behavior_of(node, "Isolated")));
  } else if (type == "CharDelimiterSplit") {
    const char32_t delimiter = character_of(node, "delimiter", "");
    out.steps.push_back(split_at_each([delimiter](char32_t c) { return c == delimiter; }, SplitBehavior::kRemoved));
  } else if (type == "UnicodeScripts") {
    out.steps.emplace_back(split_at_scripts);
  } else if (type == "FixedLength") {
    add_fixed_length(node, out);
  } else if (type == "Split") {
    const SplitBehavior behavior = behavior_of(node, "");
    out.steps.push_back(split_at(pattern_of(node, out.n_classes), behavior, node.flag("invert", false)));
  } else {
    fail_unsupported(node, "the pre-tokenizer {}", in_quotes(type));
  }
}

}  // namespace rankfall
