#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankfall {

// Texts with numbers, both ways. A hash table with open addressing over one block of text: looked up once or twice per
// word of text, it decides how fast tokenizing is. The hash is keyed: a file cannot make its entries collide.
class Vocabulary {
 public:
  // False, and nothing changes, if the text has a number already.
  bool add(std::string_view text, std::int32_t id);
  std::optional<std::int32_t> find(std::string_view text) const;
  // The text of a number; empty if there is none.
  std::string_view text(std::int32_t id) const;

  std::size_t size() const { return entries_.size(); }
  std::size_t longest() const { return longest_; }  // bytes

 private:
  struct Entry {
    std::uint64_t hash;
    std::uint32_t first, size;
    std::int32_t id;
  };
  std::string_view text_of(const Entry& entry) const { return {block_.data() + entry.first, entry.size}; }
  void grow();
  void place(std::uint32_t index);  // of an entry, from 1

  std::string block_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // 1 + index in entries_; 0: free
  std::vector<std::uint32_t> by_id_;  // 1 + index in entries_
  std::size_t longest_ = 0;
};

}  // namespace rankfall
