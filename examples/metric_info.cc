// metric_info.h: what a metric means, in words and as a formula.
#include <cstdio>

#include <rankfall/metric_info.h>

int main() {
  const auto info = rankfall::find_metric("relative_residual.composite");
  if (!info) return 1;
  std::printf("%s\n%s\n%s\n", info->words.c_str(), info->formula.c_str(), info->tex.c_str());
  std::printf("`bounds` writes %zu kinds of metrics\n", rankfall::metrics_of("bounds").size());
}
