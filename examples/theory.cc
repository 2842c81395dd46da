// theory.h: what the description of a network says about its collapse, before a weight is drawn.
#include <cstdio>
#include <string>
#include <vector>

#include <rankfall/theory.h>

int main() {
  const std::vector<std::string> models = {"san:layers=6,heads=4,dim=256"};
  rankfall::TheoryOptions options;
  options.variants = {rankfall::variant_named("san")};
  options.input.n_samples = 1;
  options.input.n_tokens = 16;
  for (const rankfall::Row& row : rankfall::theory(models, options).rows) {
    if (row.metric == "log10_relative_residual.frobenius" && row.layer && row.mean) {
      std::printf("layer %ld  10^%.2f  (%s)\n", static_cast<long>(*row.layer), *row.mean, row.kind.c_str());
    }
    if (row.metric == "decay") std::printf("decay: %s\n", word(row.status).data());
  }
}
