#include "text/json_stages.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "io/base64.h"
#include "io/utf8.h"
#include "text/bert_words.h"
#include "text/byte_pair.h"
#include "text/regex.h"
#include "text/unicode.h"
#include "text/unsupported.h"

namespace rankfall {
namespace {

using Splitter = std::function<void(std::string_view text, bool first, TextBudget& budget, Words& out)>;

constexpr std::string_view kMetaspace = "\xE2\x96\x81";
constexpr std::size_t kMaxInserted = 1024;  // bytes that a stage may put in
constexpr std::uint64_t kWorkPerByte = 8;   // of a stage without a pattern

// Counts what opens a character class: [ and \p, inside others as well.
void count_classes(std::string_view pattern, const Config& node, std::size_t& n_classes) {
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool property = pattern[i] == '\\' && i + 1 < pattern.size() && (pattern[i + 1] | 0x20) == 'p';
    if (pattern[i] == '[' || property) ++n_classes;
  }
  if (n_classes > kMaxClasses) {
    node.fail("the patterns up to here have {} character classes, expected at most {}", n_classes, kMaxClasses);
  }
}

// A pattern is {"String": ...} or {"Regex": ...}.
Regex pattern_of(const Config& node, std::size_t& n_classes) {
  const Config pattern = node.child("pattern");
  if (pattern.has("Regex")) {
    count_classes(pattern.text("Regex"), pattern, n_classes);
    return {pattern.text("Regex"), pattern.where()};
  }
  std::string quoted = "\\Q";  // literally, whatever it says
  for (const char& c : pattern.text("String")) quoted += c == '\\' ? "\\E\\\\\\Q" : std::string_view(&c, 1);
  return {quoted + "\\E", pattern.where()};
}

std::string replaced(const Regex& pattern, const std::string& content, std::string_view text, TextBudget& budget) {
  std::string out;
  std::size_t last = 0;
  for (const auto& [first, end] : pattern.find_all(text, budget)) {
    budget.hold(out.size() + content.size());
    out += text.substr(last, first - last);
    out += content;
    last = end;
  }
  out += text.substr(last);
  return out;
}

std::string stripped(std::string_view text, bool left, bool right) {
  std::size_t first = text.size();
  std::size_t end = 0;
  std::size_t at = 0;
  for_each_code(text, [&](char32_t c, std::string_view bytes) {
    if (!is_white_space(c)) {
      first = std::min(first, at);
      end = at + bytes.size();
    }
    at += bytes.size();
  });
  if (!left) first = 0;
  if (!right) end = text.size();
  return std::string(first < end ? text.substr(first, end - first) : std::string_view());
}

std::string short_text(const Config& node, const char* key) {
  std::string text = node.text(key);
  if (text.size() > kMaxInserted) node.fail("'{}' has {} bytes, expected at most {}", key, text.size(), kMaxInserted);
  return text;
}

// Applies a splitter to every word so far.
void refine(const Splitter& splitter, bool first, TextBudget& budget, Words& words) {
  Words out;
  std::size_t n_counted = 0;
  std::size_t n_bytes = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    budget.work(16 + kWorkPerByte * words[i].size());
    splitter(words[i], first && i == 0, budget, out);
    std::string().swap(words[i]);
    for (; n_counted < out.size(); ++n_counted) n_bytes += out[n_counted].size();
    budget.hold(n_bytes);
  }
  words = std::move(out);
}

// Cuts a text at the matches of a pattern. Isolated: matches are words of their own; otherwise they go.
Splitter split_at(const std::shared_ptr<const Regex>& pattern, bool isolated, bool invert) {
  return [=](std::string_view text, bool, TextBudget& budget, Words& out) {
    const auto add = [&](std::size_t first, std::size_t end, bool match) {
      if (first < end && (isolated || match == invert)) out.emplace_back(text.substr(first, end - first));
    };
    std::size_t last = 0;
    for (const auto& [first, end] : pattern->find_all(text, budget)) {
      add(last, first, false);
      add(first, end, true);
      last = end;
    }
    add(last, text.size(), false);
  };
}

void add_metaspace(const Config& node, PreTokenization& out) {
  if (const std::string mark = node.text("replacement", "\xE2\x96\x81"); mark != kMetaspace) {
    fail_unsupported(node, "the space {} (expected U+2581)", in_quotes(mark));
  }
  const std::string scheme = node.text("prepend_scheme", node.flag("add_prefix_space", true) ? "always" : "never");
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    fail_unsupported(node, "the scheme {}", in_quotes(scheme));
  }
  const bool split = node.flag("split", true);
  out.steps.emplace_back([=](std::string_view text, bool first_word, TextBudget&, Words& words) {
    const bool prefix = scheme == "always" || (scheme == "first" && first_word);
    std::string marked;
    for (const char& c : text) marked += c == ' ' ? kMetaspace : std::string_view(&c, 1);
    if (prefix && !marked.starts_with(kMetaspace)) marked.insert(0, kMetaspace);
    if (!split) {
      words.push_back(marked);
      return;
    }
    std::size_t first = 0;
    for (std::size_t at = marked.find(kMetaspace, 1); at != marked.npos; at = marked.find(kMetaspace, at + 1)) {
      words.push_back(marked.substr(first, at - first));
      first = at;
    }
    words.push_back(marked.substr(first));
  });
}

}  // namespace

std::string Normalization::operator()(std::string text, TextBudget& budget) const {
  for (const auto& step : steps) {
    budget.work(kWorkPerByte * text.size());
    text = step(std::move(text), budget);
    budget.hold(text.size());
  }
  return text;
}

void add_normalizer(const Config& node, Normalization& out) {
  const std::string type = node.text("type");
  if (out.steps.size() > kMaxStages) node.fail("more stages than anybody needs");
  const bool harmless_behind = type == "Replace" || type == "Strip" || type == "Sequence";
  if (!out.replacements.empty() && !harmless_behind) fail_unsupported(node, "{} behind 'Precompiled'", in_quotes(type));
  if (type == "Sequence") {
    for (const Config& step : node.list("normalizers", kMaxStages)) add_normalizer(step, out);
  } else if (type == "BertNormalizer") {
    BertWords::Options options;
    options.clean = node.flag("clean_text", true);
    options.cjk = node.flag("handle_chinese_chars", true);
    options.lower = node.flag("lowercase", true);
    options.strip_accents = node.flag("strip_accents", options.lower);
    options.lower_each = true;
    out.steps.emplace_back(
        [words = BertWords(options)](const std::string& text, TextBudget&) { return words.normalized(text); });
  } else if (type == "Lowercase") {
    out.steps.emplace_back([](const std::string& text, TextBudget&) { return to_lower_each(text); });
  } else if (type == "NFC") {
    out.steps.emplace_back([](const std::string& text, TextBudget&) { return to_nfc(text); });
  } else if (type == "NFD") {
    out.steps.emplace_back([](const std::string& text, TextBudget&) { return to_nfd(text); });
  } else if (type == "NFKC") {
    out.steps.emplace_back([](const std::string& text, TextBudget&) { return to_nfkc(text); });
  } else if (type == "NFKD") {
    out.steps.emplace_back([](const std::string& text, TextBudget&) { return to_nfkd(text); });
  } else if (type == "StripAccents") {
    out.steps.emplace_back([](const std::string& text, TextBudget&) { return without(text, is_mark); });
  } else if (type == "Strip") {
    out.steps.emplace_back([left = node.flag("strip_left", true), right = node.flag("strip_right", true)](
                               const std::string& text, TextBudget&) { return stripped(text, left, right); });
  } else if (type == "Prepend") {
    out.steps.emplace_back([front = short_text(node, "prepend")](const std::string& text, TextBudget&) {
      return text.empty() ? text : front + text;
    });
  } else if (type == "Replace") {
    out.steps.emplace_back(
        [pattern = std::make_shared<Regex>(pattern_of(node, out.n_classes)), content = short_text(node, "content")](
            const std::string& text, TextBudget& budget) { return replaced(*pattern, content, text, budget); });
  } else if (type == "Precompiled") {
    const auto table = decode_base64(node.text("precompiled_charsmap"));
    if (!table) node.fail("'precompiled_charsmap' is not base64");
    out.replacements = *table;
  } else {
    fail_unsupported(node, "the normalizer {}", in_quotes(type));
  }
}

Words PreTokenization::operator()(std::string text, bool first, TextBudget& budget) const {
  Words words = {std::move(text)};
  for (const Splitter& step : steps) refine(step, first, budget, words);
  return words;
}

void add_pre_tokenizer(const Config& node, PreTokenization& out) {
  const std::string type = node.text("type");
  if (type != "Sequence") {
    if (out.byte_level) fail_unsupported(node, "{} behind 'ByteLevel'", in_quotes(type));
    if (out.types.size() >= kMaxStages) node.fail("more stages than anybody needs");
    out.types.push_back(type);
  }
  const auto regex = [&](const char* pattern) { return std::make_shared<const Regex>(pattern, node.where()); };
  if (type == "Sequence") {
    for (const Config& step : node.list("pretokenizers", kMaxStages)) add_pre_tokenizer(step, out);
  } else if (type == "BertPreTokenizer") {
    out.steps.emplace_back([words = BertWords({.clean = false, .cjk = false, .lower = false, .strip_accents = false})](
                               std::string_view text, bool, TextBudget&, Words& found) {
      words.split(text, [&](std::string_view word) { found.emplace_back(word); });
    });
  } else if (type == "ByteLevel") {
    const bool prefix = node.flag("add_prefix_space", true);
    const bool use_regex = node.flag("use_regex", true);
    out.byte_level = true;
    out.steps.emplace_back([=](std::string_view text, bool, TextBudget&, Words& words) {
      std::string spaced = prefix && !text.starts_with(' ') ? " " + std::string(text) : std::string(text);
      if (!use_regex) {
        words.push_back(std::move(spaced));
        return;
      }
      split_gpt2(spaced, [&](std::string_view word) { words.emplace_back(word); });
    });
  } else if (type == "Metaspace") {
    add_metaspace(node, out);
  } else if (type == "Whitespace") {
    out.steps.push_back(split_at(regex("\\w+|[^\\w\\s]+"), false, true));
  } else if (type == "WhitespaceSplit") {
    out.steps.push_back(split_at(regex("\\s+"), false, false));
  } else if (type == "Digits") {
    out.steps.push_back(split_at(regex(node.flag("individual_digits", false) ? "\\p{N}" : "\\p{N}+"), true, false));
  } else if (type == "Punctuation") {
    if (const std::string behavior = node.text("behavior", "Isolated"); behavior != "Isolated") {
      fail_unsupported(node, "the behavior {}", in_quotes(behavior));
    }
    out.steps.push_back(split_at(regex("[!-/:-@\\[-`{-~\\p{P}]"), true, false));
  } else if (type == "Split") {
    const std::string behavior = node.text("behavior");
    if (behavior != "Isolated" && behavior != "Removed") fail_unsupported(node, "the behavior {}", in_quotes(behavior));
    out.steps.push_back(split_at(std::make_shared<const Regex>(pattern_of(node, out.n_classes)), behavior == "Isolated",
                                 node.flag("invert", false)));
  } else {
    fail_unsupported(node, "the pre-tokenizer {}", in_quotes(type));
  }
}

}  // namespace rankfall
