#include <gmock/gmock.h>

#include <rankfall/model.h>
#include <rankfall/network.h>
#include <rankfall/variants.h>

namespace rankfall {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Network network_of(const char* spec) { return open_model(spec, 0).network; }

TEST(Describe, FormulasFollowTheNetwork) {
  const Network bert = network_of("bert-tiny@init");
  EXPECT_EQ(formula(bert.layers[0]), "y = LayerNorm(x + attention(x))");
  EXPECT_EQ(formula(bert.layers[1]), "y = LayerNorm(x + mlp(x))");
  EXPECT_EQ(formula(without(bert, {.attn_skip = true}).layers[0]), "y = LayerNorm(attention(x))");
  EXPECT_EQ(formula(network_of("pythia-70m@init").layers[0]), "y = x + attention(LayerNorm(x)) + mlp(LayerNorm(x))");
  EXPECT_EQ(formula(network_of("gemma-3-270m@init").layers[0]), "y = x + RMSNorm(attention(RMSNorm(x)))");
  SubLayer scaled = bert.layers[0];
  scaled.skip = 0.5;
  scaled.branches[0].scale = -2;
  scaled.post.reset();
  EXPECT_EQ(formula(scaled), "y = 0.5 x - 2 attention(x)");
  scaled.branches.clear();
  scaled.skip = 0;
  EXPECT_EQ(formula(scaled), "y = 0");
}

TEST(Describe, AlikeBlocksAreDescribedOnce) {
  const std::string bert = describe(network_of("bert-base@init"));
  EXPECT_THAT(bert, StartsWith("bert: 12 blocks, 12 heads, width 768, vocabulary 28996, at most 512 tokens\n"
                               "input: tokens + positions + segments, LayerNorm\nblocks 0 to 11\n"));
  EXPECT_THAT(bert, HasSubstr("12 heads of 64, all keys"));
  EXPECT_THAT(bert, HasSubstr("gelu, 3072 wide"));
  const std::string gemma = describe(network_of("gemma-3-270m@init"));  // windows in all blocks but every sixth
  EXPECT_THAT(gemma, HasSubstr("blocks 0 to 4\n"));
  EXPECT_THAT(gemma, HasSubstr("block 5\n"));
  EXPECT_THAT(gemma, HasSubstr("queries and keys normed"));
}

TEST(Describe, EveryPresetHasWords) {
  for (const std::string& preset : preset_names()) {
    const std::string text = describe(open_model(preset + "@init", 0).network);
    EXPECT_THAT(text, HasSubstr("attention(")) << preset;
    EXPECT_THAT(text, HasSubstr("input: ")) << preset;
  }
}

}  // namespace
}  // namespace rankfall
