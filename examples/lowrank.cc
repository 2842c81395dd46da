// lowrank.h: how near to rank one every attention matrix is.
#include <cstdio>
#include <string>
#include <vector>

#include <rankfall/lowrank.h>

int main() {
  const std::vector<std::string> models = {"bert-tiny@init"};
  rankfall::LowrankOptions options;
  options.scaling = options.sketches = options.kinds = false;  // singular values alone
  options.input.n_samples = 2;
  options.input.n_tokens = 32;
  for (const rankfall::Row& row : rankfall::lowrank(models, options).rows) {
    if (row.metric == "attention.gap" && row.layer && row.head && row.mean) {
      std::printf("layer %ld, head %ld: 1 - sigma2 / sigma1 = %.4f\n", static_cast<long>(*row.layer),
                  static_cast<long>(*row.head), *row.mean);
    }
  }
}
