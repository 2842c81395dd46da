// variants.h: the same network without some of its parts, with other attention, or deeper.
#include <cstdio>
#include <string>
#include <vector>

#include <rankfall/measure.h>

int main() {
  const rankfall::Model model = rankfall::open_model("bert-tiny@init", 0);
  const rankfall::Network deeper = rankfall::repeat(model.network, 3);  // the same blocks three times over
  std::printf("%ld blocks, %ld after repeating\n", static_cast<long>(model.network.sizes.n_blocks),
              static_cast<long>(deeper.sizes.n_blocks));

  rankfall::MeasureOptions options;
  options.variants =
      rankfall::with_attentions({rankfall::variant_named("full"), rankfall::variant_without("attn_skip")},
                                {rankfall::attention_named("full"), rankfall::attention_named("window:w=4")});
  options.input.n_samples = 2;
  options.input.n_tokens = 16;
  const std::vector<std::string> models = {"bert-tiny@init"};
  for (const rankfall::Row& row : rankfall::measure(models, options).rows) {
    if (row.metric == "relative_residual.composite" && row.layer == 2 && row.mean) {
      std::printf("%-24s %.4f\n", row.variant.c_str(), *row.mean);
    }
  }
}
