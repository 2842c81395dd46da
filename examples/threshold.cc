// threshold.h: a condition that must not hold, for tests of one's own.
#include <cstdio>
#include <string>
#include <vector>

#include <rankfall/measure.h>
#include <rankfall/threshold.h>

int main() {
  const rankfall::Threshold collapsed = rankfall::parse_threshold("full:relative_residual.composite@last<1e-3");
  rankfall::check_decidable(collapsed, "measure", {"full"});  // before anything is computed
  rankfall::MeasureOptions options;
  options.variants = {rankfall::variant_named("full")};
  options.input.n_samples = 2;
  options.input.n_tokens = 16;
  const std::vector<std::string> models = {"bert-tiny@init"};
  const std::vector<rankfall::Row> found = rankfall::violations(collapsed, rankfall::measure(models, options));
  std::printf("%s: %zu rows\n", rankfall::to_string(collapsed).c_str(), found.size());
  return found.empty() ? 0 : 1;
}
