#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// A second reader of safetensors, written from the format's description and RFC 8259 alone: slow, plain, and without
// any code of ours or of a JSON library. The two must accept the same files and find the same tensors in them.

namespace rankfall::plain {

struct Field;

struct Value {
  enum class Kind { kOther, kText, kNatural, kArray, kObject } kind = Kind::kOther;
  std::string text;
  std::uint64_t number = 0;
  std::vector<Value> items;
  std::vector<Field> fields;  // of an object; twins too
};

struct Field {
  std::string name;
  Value value;
};

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  std::optional<Value> document() {
    Value value;
    space();
    if (!read(value, 0)) return std::nullopt;
    space();
    return at_ == text_.size() ? std::optional(value) : std::nullopt;
  }

 private:
  static constexpr int kMaxDepth = 8;

  void space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    return true;
  }
  bool digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }

  bool read(Value& value, int depth) {
    if (at_ == text_.size()) return false;
    switch (text_[at_]) {
      case '"':
        value.kind = Value::Kind::kText;
        return string(value.text);
      case '[':
        return depth < kMaxDepth && array(value, depth + 1);
      case '{':
        return depth < kMaxDepth && object(value, depth + 1);
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number(value);
    }
  }

  bool array(Value& value, int depth) {
    value.kind = Value::Kind::kArray;
    ++at_;
    space();
    if (word("]")) return true;
    do {
      space();
      if (!read(value.items.emplace_back(), depth)) return false;
      space();
    } while (word(","));
    return word("]");
  }

  bool object(Value& value, int depth) {
    value.kind = Value::Kind::kObject;
    ++at_;
    space();
    if (word("}")) return true;
    do {
      space();
      auto& [name, field] = value.fields.emplace_back();
      if (!string(name)) return false;
      space();
      if (!word(":")) return false;
      space();
      if (!read(field, depth)) return false;
      space();
    } while (word(","));
    return word("}");
  }

  bool number(Value& value) {
    const std::size_t begin = at_;
    word("-");
    if (!digit()) return false;
    if (!word("0")) {
      while (digit()) ++at_;
    }
    bool whole = text_[begin] != '-';
    if (word(".")) {
      whole = false;
      if (!digit()) return false;
      while (digit()) ++at_;
    }
    if (word("e") || word("E")) {
      whole = false;
      if (!word("+")) word("-");
      if (!digit()) return false;
      while (digit()) ++at_;
    }
    const std::string digits(text_.substr(begin, at_ - begin));
    // No JSON number is infinite: what no double holds is refused.
    const double real = std::strtod(digits.c_str(), nullptr);
    if (real > 1.7976931348623157e308 || real < -1.7976931348623157e308) return false;
    if (!whole || digits.size() > 20 || (digits.size() == 20 && digits > "18446744073709551615")) return true;
    value.kind = Value::Kind::kNatural;
    value.number = std::stoull(digits);
    return true;
  }

  bool hex(unsigned& code) {
    code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_ == text_.size()) return false;
      const char c = text_[at_];
      const int value = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (value < 0) return false;
      code = code * 16 + static_cast<unsigned>(value);
    }
    return true;
  }

  static void append(unsigned code, std::string& out) {
    const auto put = [&](unsigned byte) { out += static_cast<char>(byte); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xC0 | code >> 6), put(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
      put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
    } else {
      put(0xF0 | code >> 18), put(0x80 | (code >> 12 & 0x3F)), put(0x80 | (code >> 6 & 0x3F)),
          put(0x80 | (code & 0x3F));
    }
  }

  bool escape(std::string& out) {
    static const std::map<char, char> simple = {{'"', '"'},  {'\\', '\\'}, {'/', '/'},  {'b', '\b'},
                                                {'f', '\f'}, {'n', '\n'},  {'r', '\r'}, {'t', '\t'}};
    if (at_ == text_.size()) return false;
    const char c = text_[at_++];
    if (const auto found = simple.find(c); found != simple.end()) {
      out += found->second;
      return true;
    }
    unsigned code = 0;
    unsigned low = 0;
    if (c != 'u' || !hex(code)) return false;
    if (code >= 0xDC00 && code <= 0xDFFF) return false;
    if (code >= 0xD800 && code <= 0xDBFF) {
      if (!word("\\u") || !hex(low) || low < 0xDC00 || low > 0xDFFF) return false;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    append(code, out);
    return true;
  }

  bool string(std::string& out) {
    if (!word("\"")) return false;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') {
        out += c;
      } else if (!escape(out)) {
        return false;
      }
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// Unicode's table of well-formed byte sequences.
inline bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t k) { return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0U; };
    const auto follows = [&](std::size_t k, unsigned low = 0x80, unsigned high = 0xBF) {
      return byte(k) >= low && byte(k) <= high;
    };
    const unsigned c = byte(0);
    if (c < 0x80) {
      i += 1;
    } else if (c >= 0xC2 && c <= 0xDF && follows(1)) {
      i += 2;
    } else if (c >= 0xE0 && c <= 0xEF && follows(1, c == 0xE0 ? 0xA0 : 0x80, c == 0xED ? 0x9F : 0xBF) && follows(2)) {
      i += 3;
    } else if (c >= 0xF0 && c <= 0xF4 && follows(1, c == 0xF0 ? 0x90 : 0x80, c == 0xF4 ? 0x8F : 0xBF) && follows(2) &&
               follows(3)) {
      i += 4;
    } else {
      return false;
    }
  }
  return true;
}

struct Tensor {
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;  // in the data

  bool operator==(const Tensor&) const = default;
};
using Tensors = std::map<std::string, Tensor>;

// The tensors of a sound file; nothing if it is not sound.
inline std::optional<Tensors> read_safetensors(std::string_view file) {
  static const std::map<std::string, unsigned> bits = {
      {"F64", 64},    {"F32", 32},    {"F16", 16},        {"BF16", 16},      {"I64", 64},    {"I32", 32},
      {"I16", 16},    {"I8", 8},      {"U8", 8},          {"BOOL", 8},       {"U16", 16},    {"U32", 32},
      {"U64", 64},    {"C64", 64},    {"F4", 4},          {"F8_E4M3", 8},    {"F8_E5M2", 8}, {"F8_E8M0", 8},
      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}};
  if (file.size() < 9) return std::nullopt;
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(file[static_cast<std::size_t>(i)]);
  if (length == 0 || length > 100'000'000 || length > file.size() - 8 || file[8] != '{') return std::nullopt;
  const std::string_view header = file.substr(8, length);
  const std::uint64_t n_data = file.size() - 8 - length;
  if (!is_utf8(header) || header.find('\0') != header.npos) return std::nullopt;
  const auto top = JsonReader(header).document();
  if (!top || top->kind != Value::Kind::kObject) return std::nullopt;

  Tensors tensors;
  bool metadata = false;
  for (const auto& [name, value] : top->fields) {
    if (value.kind != Value::Kind::kObject) return std::nullopt;
    if (name == "__metadata__") {
      std::set<std::string> keys;
      for (const auto& [key, entry] : value.fields) {
        if (entry.kind != Value::Kind::kText || !keys.insert(key).second) return std::nullopt;
      }
      if (metadata) return std::nullopt;
      metadata = true;
      continue;
    }
    Tensor tensor;
    int seen = 0;
    for (const auto& [key, entry] : value.fields) {
      if (key == "dtype") {
        if (entry.kind != Value::Kind::kText) return std::nullopt;
        tensor.dtype = entry.text;
        seen += 1;
      } else if (key == "shape" || key == "data_offsets") {
        if (entry.kind != Value::Kind::kArray) return std::nullopt;
        std::vector<std::uint64_t> numbers;
        for (const Value& item : entry.items) {
          if (item.kind != Value::Kind::kNatural) return std::nullopt;
          numbers.push_back(item.number);
        }
        seen += key == "shape" ? 10 : 100;
        if (key == "shape") {
          tensor.shape = numbers;
        } else if (numbers.size() == 2) {
          tensor.begin = numbers[0];
          tensor.end = numbers[1];
        } else {
          return std::nullopt;
        }
      }
    }
    const auto width = bits.find(tensor.dtype);
    if (seen != 111 || width == bits.end() || tensor.shape.size() > 64) return std::nullopt;
    std::uint64_t n = 1;
    bool empty = false;
    for (const std::uint64_t size : tensor.shape) {
      if (size == 0) {
        empty = true;
        continue;
      }
      if (n > std::uint64_t{INT64_MAX} / size) return std::nullopt;
      n *= size;
    }
    if (empty) n = 0;
    if (n > std::uint64_t{INT64_MAX} / width->second) return std::nullopt;
    n *= width->second;
    if (n % 8 != 0) return std::nullopt;
    if (tensor.begin > tensor.end || tensor.end > n_data || tensor.end - tensor.begin != n / 8) return std::nullopt;
    if (!tensors.emplace(name, tensor).second) return std::nullopt;
  }
  // Every byte belongs to exactly one tensor, and empty ones lie between others.
  std::multiset<std::pair<std::uint64_t, std::uint64_t>> parts;
  for (const auto& [name, tensor] : tensors) parts.emplace(tensor.begin, tensor.end);
  std::uint64_t position = 0;
  for (const auto& [begin, end] : parts) {
    if (begin != position) return std::nullopt;
    position = end;
  }
  if (position != n_data) return std::nullopt;
  return tensors;
}

}  // namespace rankfall::plain
