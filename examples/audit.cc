// audit.h: try one claim of the theory, here that the composite norm obeys the triangle inequality. It does not.
#include <iostream>

#include <rankfall/audit.h>

int main() {
  rankfall::AuditOptions options;
  options.claims = {4};
  options.n_trials = 20'000;
  const rankfall::Result result = rankfall::audit(options);
  for (const rankfall::Row& row : result.rows) {
    if (row.metric != "audit.statement" && row.metric != "audit.verdict") continue;
    std::cout << row.claim << ": " << row.verdict << '\n';
  }
  return rankfall::unexpected_verdicts(result).empty() ? 0 : 1;
}
