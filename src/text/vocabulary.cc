#include "text/vocabulary.h"

#include <algorithm>
#include <limits>

#include "base/dcheck.h"
#include "base/keyed_hash.h"

namespace rankfall {

bool Vocabulary::add(std::string_view text, std::int32_t id) {
  RANKFALL_DCHECK(id >= 0 && block_.size() + text.size() <= std::numeric_limits<std::uint32_t>::max());
  if (find(text)) return false;
  if (2 * (entries_.size() + 1) > slots_.size()) grow();
  entries_.push_back(
      {keyed_hash(text), static_cast<std::uint32_t>(block_.size()), static_cast<std::uint32_t>(text.size()), id});
  block_ += text;
  longest_ = std::max(longest_, text.size());
  const auto index = static_cast<std::uint32_t>(entries_.size());
  place(index);
  if (by_id_.size() <= static_cast<std::size_t>(id)) by_id_.resize(static_cast<std::size_t>(id) + 1, 0);
  if (by_id_[static_cast<std::size_t>(id)] == 0) by_id_[static_cast<std::size_t>(id)] = index;
  return true;
}

void Vocabulary::place(std::uint32_t index) {
  std::size_t slot = entries_[index - 1].hash & (slots_.size() - 1);
  while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
  slots_[slot] = index;
}

void Vocabulary::grow() {
  slots_.assign(std::max<std::size_t>(64, 2 * slots_.size()), 0);
  for (std::uint32_t i = 1; i <= entries_.size(); ++i) place(i);
}

std::optional<std::int32_t> Vocabulary::find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint64_t hash = keyed_hash(text);
  for (std::size_t slot = hash & (slots_.size() - 1); slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    const Entry& entry = entries_[slots_[slot] - 1];
    if (entry.hash == hash && text_of(entry) == text) return entry.id;
  }
  return std::nullopt;
}

std::string_view Vocabulary::text(std::int32_t id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= by_id_.size()) return {};
  const std::uint32_t index = by_id_[static_cast<std::size_t>(id)];
  return index == 0 ? std::string_view() : text_of(entries_[index - 1]);
}

}  // namespace rankfall
