// process.h: threads, progress, and what happens when a mapped file is cut off while it is read.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <rankfall/measure.h>
#include <rankfall/process.h>

int main() {
  rankfall::set_threads(2);        // results are the same bits for any number
  rankfall::guard_mapped_files();  // takes SIGBUS: such a file is an Error then
  const std::vector<std::string> models = {"bert-tiny@init"};
  rankfall::MeasureOptions options;
  options.input.n_samples = 2;
  options.input.n_tokens = 16;
  options.progress = [](double done, double total, std::string_view what) {
    std::printf("%3.0f %%  %.*s\n", 100 * done / total, static_cast<int>(what.size()), what.data());
  };
  rankfall::measure(models, options);
}
