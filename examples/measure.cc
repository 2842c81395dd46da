// measure.h: the relative residual of every layer, with and without skip connections; the result as a file.
#include <cstdio>
#include <string>
#include <vector>

#include <rankfall/error.h>
#include <rankfall/measure.h>
#include <rankfall/report.h>

int main(int argc, char** argv) {
  const std::vector<std::string> models = {argc > 1 ? argv[1] : "bert-tiny@init"};
  rankfall::MeasureOptions options;
  options.variants = {rankfall::variant_named("full"), rankfall::variant_named("san")};
  options.metrics = {"rank.stable"};
  options.input.n_samples = 4;
  options.input.n_tokens = 32;
  try {
    const rankfall::Result result = rankfall::measure(models, options);
    for (const rankfall::Row& row : result.rows) {
      if (row.metric != "relative_residual.composite" || !row.layer || !row.mean) continue;
      std::printf("%-5s layer %2ld  %.3g%s\n", row.variant.c_str(), static_cast<long>(*row.layer), *row.mean,
                  row.status == rankfall::Status::kRoundingFloor ? "  (rounding)" : "");
    }
    rankfall::save(result, "measured.json", rankfall::Format::kJson);  // `rankfall report measured.json` shows it
  } catch (const rankfall::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.kind());
  }
  return 0;
}
