#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/random.h"

namespace rankfall {

// A stream of normal numbers.
class Normals {
 public:
  Normals(std::uint64_t seed, std::string_view name) : key_(random_key(seed, name)) {}
  double next() {
    if (at_ == buffer_.size()) {
      fill_normal(key_, position_, buffer_, 1);
      position_ += std::ssize(buffer_);
      at_ = 0;
    }
    return double{buffer_[at_++]};
  }

 private:
  RandomKey key_;
  Index position_ = 0;
  std::array<float, 1024> buffer_{};
  std::size_t at_ = buffer_.size();
};

}  // namespace rankfall
