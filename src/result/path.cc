#include <charconv>

#include <fmt/format.h>

#include <rankfall/path.h>

namespace rankfall {
namespace {

constexpr std::string_view kBetween = " > ";
constexpr std::string_view kSkipsOnly = "skips only";
constexpr Index kMost = 10'000'000;  // blocks or heads

// Takes a number off the front.
std::optional<Index> number(std::string_view& text) {
  Index value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value < 0 || value >= kMost) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string_view kind_word(Origin::Kind kind) {
  constexpr std::string_view kWords[] = {"embedding", "mlp", "bias", "all"};
  return kWords[static_cast<std::size_t>(kind)];
}

}  // namespace

std::string to_string(const Origin& origin) {
  const std::string_view kind = kind_word(origin.kind);
  return origin.block ? fmt::format("{}.{}", kind, *origin.block) : std::string(kind);
}

std::optional<Origin> origin_from(std::string_view text) {
  for (const auto kind : {Origin::Kind::kEmbedding, Origin::Kind::kMlp, Origin::Kind::kBias, Origin::Kind::kAll}) {
    std::string_view rest = text;
    if (!take(rest, kind_word(kind))) continue;
    if (rest.empty()) return Origin{kind, std::nullopt};
    if (!take(rest, ".")) continue;
    const auto block = number(rest);
    if (block && rest.empty()) return Origin{kind, block};
  }
  return std::nullopt;
}

std::string to_string(const Heads& heads) {
  std::string text;
  for (const Head& head : heads) {
    text += fmt::format("{}L{}H{}", text.empty() ? std::string_view() : kBetween, head.block, head.head);
  }
  return text.empty() ? std::string(kSkipsOnly) : text;
}

std::optional<Heads> heads_from(std::string_view text) {
  Heads heads;
  if (text == kSkipsOnly) return heads;
  do {
    if (!take(text, "L")) return std::nullopt;
    const auto block = number(text);
    if (!block || !take(text, "H")) return std::nullopt;
    const auto head = number(text);
    if (!head) return std::nullopt;
    heads.push_back({*block, *head});
  } while (take(text, kBetween));
  if (!text.empty()) return std::nullopt;
  return heads;
}

std::string to_string(const Path& path) { return to_string(path.heads); }

}  // namespace rankfall
