#include "engine/split/jitter.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"

namespace rankfall {

RowVector<double> Jitter::factors(Index n) {
  std::vector<float> noise(static_cast<std::size_t>(n));
  fill_normal(random_key(draw_, fmt::format("jitter {}", stream_)), next_, noise, 1);
  next_ += n;
  return (1 + size_ * Eigen::Map<const RowVector<float>>(noise.data(), n).cast<double>().array()).matrix();
}

template <class M>
void Jitter::operator()(Scaled<M>& x) {
  if (size_ == 0 || x.is_zero()) return;
  const RowVector<double> each = factors(x.value.size());
  for (Index i = 0; i < x.value.size(); ++i) x.value.data()[i] *= each(i);
  if (x.value.rows() > 1) {
    x.value.array().colwise() *= factors(x.value.rows()).transpose().array();
    x.value.array().rowwise() *= factors(x.value.cols()).array();
  }
  x.log += (factors(1)(0) - 1) * std::max(1.0, std::abs(x.log));
}
template void Jitter::operator()(ScaledRow&);
template void Jitter::operator()(ScaledMatrix&);

void Jitter::operator()(SplitState& x) {
  (*this)(x.mean);
  (*this)(x.residual);
}

Jitter Jitter::fork(Index job) const {
  Jitter out(size_, draw_);
  out.stream_ = static_cast<std::uint64_t>(job) + 1;
  out.next_ = next_;
  return out;
}

}  // namespace rankfall
