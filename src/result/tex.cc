#include "result/tex.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <utility>

namespace rankfall {
namespace {

using Sign = std::pair<std::string_view, std::string_view>;

constexpr std::array kSigns = {
    Sign{"···", "\\cdots "}, Sign{"·", "\\cdot "},  Sign{"−", "-"},
    Sign{"≠", "\\ne "},      Sign{"≤", "\\le "},    Sign{"½", "\\tfrac{1}{2}"},
    Sign{"Σ", "\\sum "},     Sign{"σ", "\\sigma "}, Sign{"λ", "\\lambda "},
    Sign{"γ", "\\gamma "},   Sign{"δ", "\\delta "}, Sign{"π", "\\pi "},
    Sign{"²", "^2"},         Sign{"³", "^3"},       Sign{"...", "\\dots "},
    Sign{" > ", " \\gt "},
};
constexpr std::array kSubscripts = {
    Sign{"₀", "0"}, Sign{"₁", "1"}, Sign{"₂", "2"}, Sign{"ᵢ", "i"}, Sign{"ⱼ", "j"},
    Sign{"ₖ", "k"}, Sign{"ₕ", "h"}, Sign{"ₜ", "t"}, Sign{"₊", "+"}, Sign{"∞", "\\infty "},
};
// Not \operatorname, which GitHub refuses.
constexpr std::array kWords = {
    Sign{"log", "\\log "},         Sign{"ln", "\\ln "},        Sign{"exp", "\\exp "},        Sign{"max", "\\max "},
    Sign{"min", "\\min "},         Sign{"tanh", "\\tanh "},    Sign{"eps", "\\varepsilon "}, Sign{"beta", "\\beta "},
    Sign{"res", "\\mathrm{res} "}, Sign{"LN", "\\mathrm{LN}"},
};

const Sign* find_sign(const auto& signs, std::string_view text) {
  const auto* found = std::ranges::find_if(signs, [&](const Sign& sign) { return text.starts_with(sign.first); });
  return found == signs.end() ? nullptr : found;
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Commands that end in a letter have a space behind them, for the case that a letter follows.
std::string without_double_spaces(std::string_view tex) {
  std::string out;
  for (std::size_t i = 0; i < tex.size(); ++i) {
    constexpr std::string_view kNeedNone = " _^),";
    const bool superfluous = tex[i] == ' ' && (i + 1 == tex.size() || kNeedNone.find(tex[i + 1]) != kNeedNone.npos);
    if (!superfluous) out += tex[i];
  }
  return out;
}

class TexWriter {
 public:
  explicit TexWriter(std::string_view formula) : formula_(formula), rest_(formula) {}

  std::string write() {
    while (!rest_.empty()) next();
    flush();
    return has_signs_ || !has_words_ ? without_double_spaces(out_) : "";
  }

 private:
  void next() {
    if (rest_.starts_with("‖")) return bar("‖", "Vert", norm_open_);
    if (rest_.starts_with("|")) return bar("|", "vert", bar_open_);
    if (rest_.starts_with("√(")) {
      rest_.remove_prefix(std::string_view("√").size());
      return put("\\sqrt{" + inside() + "}");
    }
    if (rest_.starts_with("^(")) {
      rest_.remove_prefix(1);
      return put("^{" + inside() + "}");
    }
    if (rest_.starts_with("C(L,k)")) return replace("C(L,k)", "\\binom{L}{k}");
    if (rest_.starts_with("log10")) {
      rest_.remove_prefix(std::string_view("log10").size());
      return put_word("\\log_{10} ");
    }
    if (const Sign* sign = find_sign(kSigns, rest_)) return replace(sign->first, sign->second);
    if (find_sign(kSubscripts, rest_)) return subscripts();
    const char c = rest_[0];
    if ((c == '_' || c == '^') && rest_.size() > 1 && is_word(rest_[1])) return index(c);
    if (c == '<') return replace("<", "\\langle ");
    if (c == '>') return replace(">", " \\rangle ");
    if (is_letter(c)) return word();
    rest_.remove_prefix(1);
    if (c == ' ' || c == ',' || c == ';') {  // of the words around it, if there are any
      (text_.empty() ? out_ : text_) += c;
    } else {
      flush();
      out_ += c;
    }
  }

  // A word that TeX knows; a sentence may have it, too.
  void put_word(std::string_view tex) {
    flush();
    out_ += tex;
  }

  void put(std::string_view tex) {
    put_word(tex);
    has_signs_ = true;
  }

  void replace(std::string_view sign, std::string_view tex) {
    rest_.remove_prefix(sign.size());
    put(tex);
  }

  // Of a pair, the first or the second.
  void bar(std::string_view sign, std::string_view name, bool& open) {
    replace(sign, std::string(open ? "\\r" : "\\l") + std::string(name) + ' ');
    open = !open;
  }

  // The text between the parentheses that rest_ begins with.
  std::string inside() {
    int depth = 0;
    std::size_t end = 0;
    do {
      depth += rest_[end] == '(' ? 1 : rest_[end] == ')' ? -1 : 0;
    } while (++end < rest_.size() && depth > 0);
    const std::string_view text = rest_.substr(1, end - 2);
    rest_.remove_prefix(end);
    return TexWriter(text).write();
  }

  void subscripts() {
    std::string all;
    while (const Sign* sign = find_sign(kSubscripts, rest_)) {
      all += sign->second;
      rest_.remove_prefix(sign->first.size());
    }
    put("_{" + all + "}");
  }

  void index(char c) {
    rest_.remove_prefix(1);
    const std::string name = taken();
    put(std::string(1, c) + (name.size() > 2 ? "{\\mathrm{" + name + "}}" : "{" + name + "}"));
  }

  std::string taken() {
    const auto end = std::ranges::find_if_not(rest_, is_word) - rest_.begin();
    std::string name(rest_.substr(0, static_cast<std::size_t>(end)));
    rest_.remove_prefix(name.size());
    return name;
  }

  void word() {
    const auto at = formula_.size() - rest_.size();
    const std::string name = taken();
    const auto* known = std::ranges::find(kWords, name, &Sign::first);
    if (known != kWords.end()) return put_word(known->second);
    const bool article = name == "a" && rest_.size() > 2 && rest_[0] == ' ' && is_letter(rest_[2]);
    if (name.size() == 1 && !article) {
      flush();
      out_ += name;
      return;
    }
    has_words_ = true;
    if (text_.empty() && at > 0 && formula_[at - 1] == ' ') text_ = " ";
    text_ += name;
    if (!rest_.starts_with('\'')) return;
    rest_.remove_prefix(1);
    text_ += '\'' + taken();  // path's
  }

  void flush() {
    if (!text_.empty()) out_ += "\\text{" + text_ + "}";
    text_.clear();
  }

  std::string_view formula_, rest_;
  std::string out_, text_;  // text_: words that are not written yet
  bool norm_open_ = false, bar_open_ = false, has_signs_ = false, has_words_ = false;
};

}  // namespace

std::string to_tex(std::string_view formula) { return TexWriter(formula).write(); }

}  // namespace rankfall
