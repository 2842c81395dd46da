// input.h: say where samples come from; the studies open them. Here: ids drawn as in text, and ids from a file.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <rankfall/measure.h>

namespace {

void print_last_residual(const rankfall::InputOptions& input) {
  rankfall::MeasureOptions options;
  options.variants = {rankfall::variant_named("full")};
  options.input = input;
  const std::vector<std::string> models = {"bert-tiny@init"};
  const rankfall::Result result = rankfall::measure(models, options);
  for (const auto& row : result.rows) {
    if (row.metric == "relative_residual.composite" && row.layer == 2) std::printf("%.4f\n", row.mean.value_or(0));
  }
}

}  // namespace

int main() {
  rankfall::InputOptions drawn;
  drawn.n_samples = 2;
  drawn.n_tokens = 12;
  drawn.token_law = rankfall::TokenLaw::kZipf;
  print_last_residual(drawn);

  std::ofstream("ids.json") << R"({"input_ids": [[101, 7592, 2088, 102], [101, 2748, 102]]})";
  rankfall::InputOptions file;
  file.ids = "ids.json";
  print_last_residual(file);
}
