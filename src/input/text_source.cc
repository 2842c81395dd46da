#include "input/text_source.h"

#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/errors.h"
#include "io/file_error.h"
#include "io/json_limits.h"
#include "io/mapped_file.h"
#include "io/utf8.h"

namespace rankfall {
namespace {

// Standard input can be read once: every user of it in this process gets the same.
const std::string& standard_input() {
  static const std::string text = [] {
    std::string all;
    std::vector<char> block(1 << 16);
    for (;;) {
      const ssize_t n = ::read(STDIN_FILENO, block.data(), block.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw file_error("standard input", "cannot be read", errno);
      if (n == 0) return all;
      all.append(block.data(), static_cast<std::size_t>(n));
      if (all.size() > kMaxStandardInput) {
        throw input_error("standard input: more than {} bytes; give a file", kMaxStandardInput);
      }
    }
  }();
  return text;
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r\n\v\f") == line.npos; }

}  // namespace

TextSource::TextSource(const InputOptions& options) : paragraphs_(options.paragraphs), field_(options.field) {
  if (paragraphs_ && !field_.empty()) {
    throw usage_error("InputOptions::paragraphs and InputOptions::field: JSON lines have no paragraphs");
  }
  if (!options.texts.empty()) {
    if (paragraphs_ || !field_.empty()) {
      throw usage_error(
          "InputOptions::paragraphs and InputOptions::field are about a file; each given text is a sample");
    }
    where_ = "the given texts";
    texts_ = options.texts;
    return;
  }
  if (options.text == "-") {
    where_ = "standard input";
    rest_ = standard_input();
  } else {
    where_ = options.text;
    const auto file = MappedFile::open(options.text);
    keep_ = file;
    rest_ = {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
  }
  if (rest_.empty()) throw input_error("{}: is empty, expected a text", where_);
  if (rest_.starts_with("\xFF\xFE") || rest_.starts_with("\xFE\xFF")) {
    throw input_error("{}: is UTF-16, expected UTF-8; `iconv -f UTF-16 -t UTF-8` converts it", where_);
  }
  if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
}

std::string_view TextSource::next_line() {
  const std::size_t end = rest_.find('\n');
  std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++line_;
  return line;
}

std::string TextSource::field_of(std::string_view line) const {
  const std::string where = fmt::format("{}: line {}", where_, line_);
  const nlohmann::json object = parse_json(line, where);
  const auto found = object.is_object() ? object.find(field_) : object.end();
  if (!object.is_object() || found == object.end() || !found->is_string()) {
    throw input_error("{}: found no text {}, expected a JSON object with one (InputOptions::field)", where,
                      in_quotes(field_));
  }
  return found->get<std::string>();
}

std::string_view shortened(std::string_view text, std::size_t n) {
  constexpr std::size_t kNear = 4096;
  if (text.size() <= n) return text;
  text = text.substr(0, n);
  const std::size_t space = text.find_last_of(" \t\n");
  if (space != text.npos && space > 0 && space + kNear >= n) return text.substr(0, space);
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.remove_suffix(1);
  return text.substr(0, text.size() - 1);
}

std::optional<TextSource::Item> TextSource::next() {
  while (line_ < texts_.size()) {
    const std::string& text = texts_[line_++];
    if (is_blank(text)) continue;
    ++n_items_;
    return Item{text, line_};
  }
  std::string block;
  std::size_t first = 0;
  while (!rest_.empty()) {
    const std::string_view line = next_line();
    const bool blank = is_blank(line);
    if (!paragraphs_) {
      if (blank) continue;
      std::string text = field_.empty() ? std::string(line) : field_of(line);
      if (is_blank(text)) continue;
      ++n_items_;
      return Item{std::move(text), line_};
    }
    if (blank && !block.empty()) break;
    if (blank) continue;
    if (block.empty()) first = line_;
    if (!block.empty()) block += '\n';
    block += line;
  }
  if (block.empty()) return std::nullopt;
  ++n_items_;
  return Item{std::move(block), first};
}

}  // namespace rankfall
