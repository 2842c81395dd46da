// collapse.h: the exact residual of attention alone, far below what float64 can show.
#include <cstdio>
#include <string>
#include <vector>

#include <rankfall/collapse.h>

int main() {
  const std::vector<std::string> models = {"bert-tiny@init"};
  rankfall::CollapseOptions options;
  options.variants = {rankfall::variant_named("san")};
  options.depth = 8;
  options.each_sample = false;
  options.floats = false;
  options.input.n_samples = 2;
  options.input.n_tokens = 16;
  for (const rankfall::Row& row : rankfall::collapse(models, options).rows) {
    if (row.metric == "log10_relative_residual.composite" && row.layer && row.mean) {
      std::printf("layer %ld  10^%.2f\n", static_cast<long>(*row.layer), *row.mean);
    }
    if (row.metric == "decay") std::printf("decay: %s\n", word(row.status).data());
  }
}
