// bounds.h: every theorem against the measurement of one network.
#include <cstdio>
#include <string>
#include <vector>

#include <rankfall/bounds.h>

int main() {
  const std::vector<std::string> models = {"san:layers=3,heads=2,dim=16"};
  rankfall::BoundsOptions options;
  options.variants = {rankfall::variant_named("san")};
  options.input.n_samples = 2;
  options.input.n_tokens = 8;
  const rankfall::Result result = rankfall::bounds(models, options);
  for (const rankfall::Row& row : result.rows) {
    if (row.metric == "theorem") std::printf("%-16s %s\n", row.claim.c_str(), word(row.status).data());
  }
  return rankfall::violated_bounds(result).empty() ? 0 : 1;
}
