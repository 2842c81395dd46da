// array_metrics.h: metrics of states that any program computed; no model is needed.
#include <cstdio>

#include <rankfall/array_metrics.h>

int main() {
  // Two samples of four tokens with three channels: one of tokens that differ, one of tokens that are nearly alike.
  rankfall::Matrix<float> apart(4, 3), alike(4, 3);
  apart << 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1;
  alike.setOnes();
  alike(0, 0) = 1.001F;
  const rankfall::ArrayBatch<float> batch{{apart, alike}};
  const rankfall::ArrayMetrics metrics =
      rankfall::state_metrics(batch, {"relative_residual.composite", "cosine.mean", "rank.effective"});
  for (std::size_t m = 0; m < metrics.names.size(); ++m) {
    const auto column = static_cast<rankfall::Index>(m);
    std::printf("%-28s %.4g %.4g\n", metrics.names[m].c_str(), metrics.values(0, column), metrics.values(1, column));
  }
}
