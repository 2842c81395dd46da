#include "model/sinusoid.h"

#include <cmath>
#include <vector>

#include <sleef.h>

#include "base/parallel.h"

namespace rankfall {

Matrix<float> xlnet_sinusoid(Index n, Index d) {
  const Index half = d / 2;
  std::vector<float> frequencies(static_cast<std::size_t>(half));
  for (Index i = 0; i < half; ++i) {
    frequencies[static_cast<std::size_t>(i)] =
        1.0F / std::pow(10000.0F, static_cast<float>(2 * i) / static_cast<float>(d));
  }
  Matrix<float> table(2 * n - 1, d);
  parallel_for(table.rows(), [&](Index t) {
    const auto m = static_cast<float>(n - 1 - t);
    for (Index i = 0; i < half; ++i) {
      const float angle = m * frequencies[static_cast<std::size_t>(i)];
      table(t, i) = Sleef_sinf_u10(angle);
      table(t, half + i) = Sleef_cosf_u10(angle);
    }
  });
  return table;
}

}  // namespace rankfall
