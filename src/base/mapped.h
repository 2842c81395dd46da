#pragma once

#include <functional>
#include <iterator>
#include <vector>

namespace rankfall {

// f of each element, in order, as a vector of T. f may be a pointer to a member.
template <class T>
std::vector<T> mapped(auto&& range, const auto& f) {
  std::vector<T> out;
  out.reserve(std::size(range));
  for (auto&& element : range) out.push_back(T(std::invoke(f, element)));
  return out;
}

}  // namespace rankfall
