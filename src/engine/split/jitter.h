#pragma once

#include <cstdint>

#include <rankfall/matrix.h>
#include <rankfall/split.h>

namespace rankfall {

// Random changes by a share `size`, none if 0: of each number, and, since roundings of a factor change many numbers
// alike, of each row, of each column, and of the scale and its logarithm. Depends on the draw and on the number of
// values changed so far only.
class Jitter {
 public:
  Jitter(double size, std::uint64_t draw) : size_(size), draw_(draw) {}

  template <class M>
  void operator()(Scaled<M>& x);
  void operator()(SplitState& x);

  // One for each of many jobs in parallel, each with numbers of its own.
  Jitter fork(Index job) const;

 private:
  RowVector<double> factors(Index n);

  double size_;
  std::uint64_t draw_;
  std::uint64_t stream_ = 0;
  Index next_ = 0;
};

}  // namespace rankfall
