#include "engine/split_oracle.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "engine/networks.h"
#include <rankfall/variants.h>

namespace rankfall {
namespace {

// Variants without attention skip; those that differ in the MLP only if there is one.
std::vector<std::string> without_skip(const Network& network, std::vector<std::string> parts) {
  const auto is_mlp = [](const SubLayer& layer) { return layer.with<Mlp>() != nullptr; };
  if (std::ranges::none_of(network.layers, is_mlp)) {
    std::erase_if(parts, [](const std::string& names) { return names.find("mlp_skip") != std::string::npos; });
  }
  return parts;
}

// Padding in front and, where the model takes it there, between tokens; with ALiBi behind.
std::vector<std::uint8_t> padding_for(const Network& network) {
  const Attention* attention = network.layers[0].attention();
  const bool alibi = attention && std::holds_alternative<AlibiPositions>(attention->positions);
  return alibi ? std::vector<std::uint8_t>{0, 1, 1, 1, 0} : std::vector<std::uint8_t>{0, 1, 1, 0, 1};
}

class SplitOracle : public testing::TestWithParam<std::string> {};

TEST_P(SplitOracle, NineBlocksOfEveryVariant) {
  for (const std::uint64_t seed : {3U, 4U}) {
    const Model model = open_small(GetParam(), seed);
    for (const std::string& parts : without_skip(
             model.network, {"attn_skip,mlp", "attn_skip,mlp_skip", "attn_skip,mlp,norm", "attn_skip,mlp_skip,norm"})) {
      const Variant variant = variant_without(parts);
      const Network network = repeat(apply(variant, model.network), 3);
      Sample sample = random_samples(network, seed + 5, 1, 5)[0];
      if (seed == 4) sample.valid = padding_for(network);
      compare(1000, network, *model.weights, sample, variant.name);
    }
  }
}

// Without norms the mean shrinks as well: both leave the range of double.
TEST_P(SplitOracle, BelowTheRangeOfDouble) {
  std::string text = GetParam();
  for (const std::string wide : {"std=0.3", "std=0.5", "initializer_range\": 0.2", "init_std\": 0.2"}) {
    if (const auto at = text.find(wide); at != std::string::npos) text.replace(at + wide.size() - 3, 3, "0.1");
  }
  const Model model = open_small(text, 7);
  for (const std::string& parts : without_skip(model.network, {"attn_skip,mlp,norm", "attn_skip,mlp_skip,norm"})) {
    Network network = apply(variant_without(parts), model.network);
    network = repeat(network, 400 / network.sizes.n_blocks);
    const Sample sample = random_samples(network, 8, 1, 4)[0];
    const Depth depth = compare(1000, network, *model.weights, sample, parts);
    EXPECT_LT(depth.residual, -300) << parts;
    EXPECT_LT(depth.relative, -0.5) << parts;
  }
}

TEST_P(SplitOracle, SixtyBlocksWithSkips) {
  const Model model = open_small(GetParam(), 9);
  for (const char* name : {"full", "san+skip"}) {
    Network network = apply(variant_named(name), model.network);
    network = repeat(network, 60 / network.sizes.n_blocks);
    const Sample sample = random_samples(network, 10, 1, 5)[0];
    compare(60, network, *model.weights, sample, name);
  }
}

// The published ALBERT without MLP keeps its activation, with the MLP's skip and norm.
TEST(SplitOracleOf, ActivationsAlone) {
  const Model model = open_small(
      R"({"model_type": "albert", "hidden_size": 12, "num_hidden_layers": 3, "num_attention_heads": 3, "intermediate_size": 20,
          "embedding_size": 6, "vocab_size": 50, "max_position_embeddings": 16, "hidden_act": "gelu_new",
          "initializer_range": 0.3})",
      3);
  for (const PaperVariant variant : {PaperVariant::kSan, PaperVariant::kSanSkip}) {
    const Network network = repeat(as_published(model.network, variant), 3);
    ASSERT_TRUE(std::ranges::any_of(network.layers,
                                    [](const SubLayer& layer) { return layer.with<Elementwise>() != nullptr; }));
    const Depth depth = compare(1000, network, *model.weights, random_samples(network, 4, 1, 5)[0], "albert");
    EXPECT_LT(depth.relative, variant == PaperVariant::kSan ? -50 : 0);
  }
}

TEST(SplitOracleOf, SegmentsOfXlnet) {
  const Model model = open_model("san:layers=3,heads=2,dim=8,std=0.4,vocab=50,norm=post,relative=xlnet", 3);
  for (const char* name : {"san", "full"}) {
    const Network network = repeat(apply(variant_named(name), model.network), 3);
    Sample sample = random_samples(network, 5, 1, 6)[0];
    sample.segments = {0, 0, 1, 1, 0, 1};
    compare(400, network, *model.weights, sample, name);
    sample.valid = {0, 1, 1, 1, 1, 0};
    compare(400, network, *model.weights, sample, name);
  }
}

INSTANTIATE_TEST_SUITE_P(Small, SplitOracle, testing::ValuesIn(all_small_networks()),
                         [](const auto& test) { return std::to_string(test.index); });

}  // namespace
}  // namespace rankfall
