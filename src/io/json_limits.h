#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "io/file_limits.h"

namespace rankfall {

// Parses a JSON text from outside. Stricter than nlohmann::json::parse: limits on size, number of values and depth, no
// NUL, no comments, and a key that appears twice in one object is an error (it would silently hide one of the values).
// Throws Error (kInput), "WHERE: line L, column C: problem"; `where` is the file's name.
nlohmann::json parse_json(std::string_view text, std::string_view where);

// A list, or an object of lists by key, of which the first entries are kept.
struct JsonLists {
  nlohmann::json root;
  std::map<std::string, std::size_t> n_skipped;  // entries by key; "": of the root, if it is a list
};

// The same for lists that may be very long. Of a list at the root, or of an entry of an object there, that has more
// than `rank` levels (by its first entries), only `n_kept` entries are kept (0: all), though all of the text is read
// and counted.
JsonLists parse_json_lists(std::string_view text, std::string_view where, std::size_t rank, std::size_t n_kept);

}  // namespace rankfall
