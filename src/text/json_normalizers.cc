#include <algorithm>
#include <utility>

#include "io/base64.h"
#include "io/utf8.h"
#include "text/bert_words.h"
#include "text/byte_pair.h"
#include "text/json_stages.h"
#include "text/replacement_table.h"
#include "text/unicode.h"
#include "text/unsupported.h"

namespace rankfall {
namespace {

constexpr std::size_t kMaxInserted = 1024;      // bytes that a stage may put in
constexpr std::uint64_t kWorkPerGrapheme = 32;  // to find where it ends

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
  if (end == 0) return left || right ? std::string() : std::string(text);  // nothing but white space
  if (!left) first = 0;
  if (!right) end = text.size();
  return std::string(text.substr(first, end - first));
}

// Control characters are dropped, and what looks like a space becomes one, as SentencePiece's nmt rules do.
std::string nmt_normalized(std::string_view text) {
  std::string out;
  for_each_code(text, [&](char32_t c, std::string_view bytes) {
    const bool dropped =
        (c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
    const bool space = c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
                       c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
    if (!dropped) out += space ? std::string_view(" ") : bytes;
  });
  return out;
}

std::string short_text(const Config& node, const char* key) {
  std::string text = node.text(key);
  if (text.size() > kMaxInserted) node.fail("'{}' has {} bytes, expected at most {}", key, text.size(), kMaxInserted);
  return text;
}

// The normalizers without options.
std::string (*plain_normalizer(std::string_view type))(std::string_view) {
  if (type == "NFC") return to_nfc;
  if (type == "NFD") return to_nfd;
  if (type == "NFKC") return to_nfkc;
  if (type == "NFKD") return to_nfkd;
  if (type == "Lowercase") return to_lower_each;
  if (type == "StripAccents") return +[](std::string_view text) { return without(text, is_mark); };
  if (type == "Nmt") return nmt_normalized;
  if (type == "ByteLevel") return bytes_as_characters;
  return nullptr;
}

}  // namespace

std::shared_ptr<const Regex> pattern_of(const Config& node, std::size_t& n_classes) {
  const Config pattern = node.child("pattern");
  if (pattern.has("Regex")) {
    const std::string translated = from_oniguruma(pattern.text("Regex"), pattern.where());
    count_classes(translated, pattern, n_classes);
    return std::make_shared<const Regex>(translated, pattern.where());
  }
  std::string quoted = "\\Q";  // literally, whatever it says
  for (const char& c : pattern.text("String")) quoted += c == '\\' ? "\\E\\\\\\Q" : std::string_view(&c, 1);
  return std::make_shared<const Regex>(quoted + "\\E", pattern.where());
}

std::string Normalization::operator()(std::string text, TextBudget& budget) const {
  for (const auto& step : steps) {
    budget.work(kWorkPerStageByte * text.size());
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
  } else if (auto* const normalizer = plain_normalizer(type)) {
    out.steps.emplace_back([normalizer](const std::string& text, TextBudget&) { return normalizer(text); });
  } else if (type == "BertNormalizer") {
    BertWords::Options options;
    options.clean = node.flag("clean_text", true);
    options.cjk = node.flag("handle_chinese_chars", true);
    options.lower = node.flag("lowercase", true);
    options.strip_accents = node.flag("strip_accents", options.lower);
    options.fast = true;
    out.steps.emplace_back(
        [words = BertWords(options)](const std::string& text, TextBudget&) { return words.normalized(text); });
  } else if (type == "Strip") {
    out.steps.emplace_back([left = node.flag("strip_left", true), right = node.flag("strip_right", true)](
                               const std::string& text, TextBudget&) { return stripped(text, left, right); });
  } else if (type == "Prepend") {
    out.steps.emplace_back([front = short_text(node, "prepend")](const std::string& text, TextBudget&) {
      return text.empty() ? text : front + text;
    });
  } else if (type == "Replace") {
    out.steps.emplace_back(
        [pattern = pattern_of(node, out.n_classes), content = short_text(node, "content")](
            const std::string& text, TextBudget& budget) { return replaced(*pattern, content, text, budget); });
  } else if (type == "Precompiled") {
    const auto table = decode_base64(node.text("precompiled_charsmap"));
    if (!table) node.fail("'precompiled_charsmap' is not base64");
    if (out.for_sentencepiece) {
      out.replacements = *table;
    } else if (!table->empty()) {
      const auto fail = [&](const std::string& problem) { node.fail(problem); };
      out.steps.emplace_back([replacements = std::make_shared<const ReplacementTable>(*table, fail)](
                                 const std::string& text, TextBudget& budget) {
        budget.work(kWorkPerGrapheme * text.size());
        budget.hold(replacements->grown(text));
        return replacements->replaced(text);
      });
    }
  } else {
    fail_unsupported(node, "the normalizer {}", in_quotes(type));
  }
}

}  // namespace rankfall
