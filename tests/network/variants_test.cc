#include <gtest/gtest.h>

#include <rankfall/error.h>
#include <rankfall/model.h>
#include <rankfall/variants.h>

namespace rankfall {
namespace {

Network bert() { return open_model("bert-tiny@init", 0).network; }

TEST(Variants, FullIsTheIdentity) {
  const Network network = bert();
  const Network full = apply(variant_named("full"), network);
  EXPECT_EQ(full.layers.size(), network.layers.size());
  for (const SubLayer& layer : full.layers) EXPECT_EQ(layer.skip, 1);
}

TEST(Variants, PartsAreRemovedIndependently) {
  const Network network = bert();
  for (int bits = 0; bits < 16; ++bits) {
    const Parts parts{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0};
    const Network out = without(network, parts);
    EXPECT_EQ(out.layers.size(), parts.mlp ? 2u : 4u);
    for (const SubLayer& layer : out.layers) {
      const bool attention = layer.attention() != nullptr;
      EXPECT_EQ(layer.skip, (attention ? parts.attn_skip : parts.mlp_skip) ? 0 : 1);
      EXPECT_EQ(layer.post.has_value(), !parts.norm);
    }
    EXPECT_EQ(out.input.stages.size(), network.input.stages.size()) << "the embedding norm stays";
    EXPECT_EQ(out.tensors.size(), network.tensors.size()) << "variants share one draw of the weights";
  }
}

TEST(Variants, SanMlpAsLabelledHasNoSkipAtAllAsPublishedKeepsTheMlps) {
  const Network labelled = apply(variant_named("san+mlp"), bert());
  const Network published = as_published(bert(), PaperVariant::kSanMlp);
  EXPECT_EQ(labelled.layers[0].skip, 0);
  EXPECT_EQ(labelled.layers[1].skip, 0);
  EXPECT_EQ(published.layers[0].skip, 0);
  EXPECT_EQ(published.layers[1].skip, 1);
}

TEST(Variants, PublishedAlbertKeepsActivationSkipAndNormOfTheRemovedMlp) {
  const Network albert = open_model("albert-base@init", 0).network;
  const Network san = as_published(albert, PaperVariant::kSan);
  ASSERT_EQ(san.layers.size(), albert.layers.size());
  EXPECT_EQ(san.layers[0].skip, 0);
  ASSERT_TRUE(std::holds_alternative<Elementwise>(san.layers[1].branches[0].f));
  EXPECT_EQ(std::get<Elementwise>(san.layers[1].branches[0].f).act, Activation::kGeluTanh);
  EXPECT_EQ(san.layers[1].skip, 1);
  EXPECT_TRUE(san.layers[1].post.has_value());
  EXPECT_TRUE(std::holds_alternative<Mlp>(as_published(albert, PaperVariant::kSanMlp).layers[1].branches[0].f));
}

TEST(Variants, AsPublishedKnowsThreeFamilies) {
  EXPECT_NO_THROW(as_published(open_model("xlnet-base@init", 0).network, PaperVariant::kSan));
  EXPECT_THROW(as_published(open_model("distilbert@init", 0).network, PaperVariant::kSan), Error);
}

TEST(Variants, NamesAndSpellings) {
  EXPECT_EQ(variant_without("attn_skip,mlp").name, "-attn_skip,-mlp");
  EXPECT_EQ(variant_without("mlp,attn_skip").name, "-attn_skip,-mlp") << "one name for one variant";
  EXPECT_EQ(variant_without("attn_skip,mlp").removed, variant_named("san").removed);
  for (const char* bad : {"", "attn", "mlp,", "mlp,mlp", " mlp"}) EXPECT_THROW(variant_without(bad), Error) << bad;
  for (const char* bad : {"", "SAN", "san+"}) EXPECT_THROW(variant_named(bad), Error) << bad;
  EXPECT_EQ(paper_variants(false).size(), 4u);
}

TEST(Variants, AblationsRemoveEachPartThatThereIs) {
  const auto names = [](const Parts& parts) {
    std::vector<std::string> out;
    for (const Variant& variant : ablations(parts)) out.push_back(variant.name);
    return out;
  };
  EXPECT_EQ(names({.attn_skip = true, .mlp = true, .mlp_skip = true, .norm = true}),
            (std::vector<std::string>{"full", "-attn_skip", "-mlp", "-mlp_skip", "-norm", "-attn_skip,-mlp,-norm"}));
  EXPECT_EQ(names({.attn_skip = true}), (std::vector<std::string>{"full", "-attn_skip"}));
  EXPECT_EQ(names({}), std::vector<std::string>{"full"});
  const Network network = bert();
  EXPECT_EQ(parts_of(network), (Parts{true, true, true, true}));
  EXPECT_EQ(parts_of(without(network, {.mlp = true, .norm = true})), (Parts{.attn_skip = true}));
}

TEST(Variants, WithDepthRepeatsAndCuts) {
  const Index before = bert().sizes.n_blocks;
  for (const Index n : {Index{1}, before, before + 1, 3 * before + 2}) {
    const Network deep = with_depth(bert(), n);
    EXPECT_EQ(deep.sizes.n_blocks, n);
    EXPECT_EQ(deep.layers.back().block, n - 1);
    EXPECT_EQ(static_cast<Index>(deep.layers.size()) * before, n * static_cast<Index>(bert().layers.size()));
  }
}

TEST(Variants, RepeatNumbersTheBlocksOn) {
  const Network three = repeat(bert(), 3);
  EXPECT_EQ(three.sizes.n_blocks, 6);
  EXPECT_EQ(three.layers.size(), 12u);
  EXPECT_EQ(three.layers.back().block, 5);
}

}  // namespace
}  // namespace rankfall
