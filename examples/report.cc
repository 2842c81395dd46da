// report.h: one result as a table, CSV, JSON and a page.
#include <cstdio>
#include <string>
#include <vector>

#include <rankfall/measure.h>
#include <rankfall/report.h>

int main() {
  const std::vector<std::string> models = {"bert-tiny@init"};
  rankfall::MeasureOptions options;
  options.input.n_samples = 2;
  options.input.n_tokens = 16;
  const rankfall::Result result = rankfall::measure(models, options);

  std::fputs(rankfall::to_table(result, {.width = 80}).c_str(), stdout);
  rankfall::save(result, "report_example.csv", rankfall::Format::kCsv);  // and report_example.manifest.json
  rankfall::save(result, "report_example.json", rankfall::Format::kJson);
  const rankfall::NamedResult again = rankfall::read_result("report_example.json");
  try {
    rankfall::save(rankfall::make_page({again}), "report_example.html", "");
  } catch (const std::exception& error) {  // a library that was built without node
    std::printf("no page: %s\n", error.what());
  }
  return again.result.rows.size() == result.rows.size() ? 0 : 1;
}
