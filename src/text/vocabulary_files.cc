#include "text/vocabulary_files.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "io/file_signature.h"
#include "io/json_limits.h"
#include "io/mapped_file.h"
#include "io/utf8.h"

namespace rankfall {
namespace {

// Calls f(line, its number from 1), without line ends; a last line need not have one.
template <class F>
void for_each_line(std::string_view text, const F& f) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    f(line, number);
  }
}

void check_utf8(std::string_view line, std::string_view where, std::size_t number) {
  if (const std::size_t bad = utf8_first_error(line); bad != line.size()) {
    throw input_error("{}: line {}: byte {} is not UTF-8; it may be another kind of file", where, number, bad + 1);
  }
}

}  // namespace

std::string read_text(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  if (const std::string_view kind = describe_signature(bytes);
      kind.starts_with("is a Git LFS") || kind.starts_with("is an HTML")) {
    throw input_error("{}: {}", path.string(), std::string(kind));
  }
  if (bytes.size() > kMaxVocabularyBytes) {
    throw input_error("{}: {} bytes, expected at most {}", path.string(), bytes.size(), kMaxVocabularyBytes);
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Vocabulary read_vocabulary_lines(std::string_view text, std::string_view where) {
  std::vector<std::string_view> lines;
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    check_utf8(line, where, number);
    if (number > static_cast<std::size_t>(kMaxTokenId))
      throw input_error("{}: more lines than a vocabulary can have", where);
    lines.push_back(line);
  });
  Vocabulary vocabulary;
  for (std::size_t i = lines.size(); i-- > 0;) vocabulary.add(lines[i], static_cast<std::int32_t>(i));
  if (vocabulary.size() == 0) throw input_error("{}: no pieces", where);
  return vocabulary;
}

Vocabulary read_vocabulary_json(std::string_view text, std::string_view where) {
  return vocabulary_of(parse_json(text, where), where);
}

Vocabulary vocabulary_of(const nlohmann::json& pieces, std::string_view where) {
  if (!pieces.is_object()) throw input_error("{}: found a {}, expected an object", where, pieces.type_name());
  Vocabulary vocabulary;
  for (const auto& [piece, id] : pieces.items()) {
    vocabulary.add(piece, token_id(id, fmt::format("piece {}", in_quotes(piece)), where));
  }
  if (vocabulary.size() == 0) throw input_error("{}: no pieces", where);
  return vocabulary;
}

std::int32_t token_id(const nlohmann::json& id, std::string_view what, std::string_view where) {
  if (!id.is_number_integer() || id.get<double>() < 0 || id.get<double>() > kMaxTokenId) {
    throw input_error("{}: {} has the number {}, expected a whole one from 0 to {}", where, what, printable(id.dump()),
                      kMaxTokenId);
  }
  return id.get<std::int32_t>();
}

std::vector<BytePair::Merge> read_merges(std::string_view text, std::string_view where) {
  std::vector<BytePair::Merge> merges;
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    check_utf8(line, where, number);
    if (line.empty() || (number == 1 && line.starts_with("#version"))) return;
    const std::size_t space = line.find(' ');
    if (space == line.npos || space == 0 || space + 1 == line.size() || line.find(' ', space + 1) != line.npos) {
      throw input_error("{}: line {}: found {}, expected two pieces with a space between", where, number,
                        in_quotes(line));
    }
    merges.push_back({std::string(line.substr(0, space)), std::string(line.substr(space + 1))});
  });
  return merges;
}

}  // namespace rankfall
