// result.h: rows as data. A status says what became of a value, so that no program reads sentences.
#include <cstdio>
#include <map>
#include <string>

#include <rankfall/measure.h>

int main() {
  rankfall::MeasureOptions options;
  options.variants = {rankfall::variant_named("san")};
  options.input.n_samples = 2;
  options.input.n_tokens = 16;
  const std::vector<std::string> models = {"san:layers=6,heads=2,dim=32"};
  const rankfall::Result result = rankfall::measure(models, options);

  std::map<std::string, int> by_status;
  for (const rankfall::Row& row : result.rows) ++by_status[std::string(word(row.status))];
  for (const auto& [status, n] : by_status) std::printf("%4d %s\n", n, status.empty() ? "(values)" : status.c_str());
  std::printf("%s, made with %zu settings in its manifest\n", result.command.c_str(), result.manifest.entries.size());
}
