// paths.h: how many paths there are of each length, and how much of the output each length carries.
#include <cstdio>
#include <string>
#include <vector>

#include <rankfall/paths.h>

int main() {
  const std::vector<rankfall::Architecture> bert = {{"BERT base", 12, 12}};
  for (const rankfall::Row& row : rankfall::counts(bert).rows) {
    if (row.metric == "paths.total") std::printf("BERT base has %s paths\n", row.exact.c_str());
  }

  const std::vector<std::string> models = {"bert-tiny@init"};
  rankfall::PathsOptions options;
  options.input.n_samples = 2;
  options.input.n_tokens = 16;
  const rankfall::Result result = rankfall::paths(models, options);
  for (const rankfall::Row& row : result.rows) {
    const bool of_all_origins = row.origin && row.origin->kind == rankfall::Origin::Kind::kAll;
    if (row.metric == "paths.share.projection" && row.layer == 2 && row.length && row.mean && of_all_origins) {
      std::printf("paths through %ld heads: %5.1f %% of the output\n", static_cast<long>(*row.length), 100 * *row.mean);
    }
  }
  const auto error = rankfall::largest_reconstruction_error(result);
  return error && *error <= rankfall::kReconstructionLimit ? 0 : 1;
}
