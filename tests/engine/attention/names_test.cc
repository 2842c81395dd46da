#include <gmock/gmock.h>

#include <rankfall/error.h>
#include <rankfall/variants.h>

namespace rankfall::attention_kinds {
namespace {

using testing::HasSubstr;

TEST(AttentionKinds, NamesAreRead) {
  EXPECT_EQ(std::get<LinformerWeights>(*attention_named("linformer:k=7,pooled=1,seed=3").weights).k, 7);
  EXPECT_EQ(std::get<FeatureWeights>(*attention_named("performer:seed=3").weights).features, 256);
  EXPECT_EQ(attention_named("bigbird:random=0").mask->window, 96);
  EXPECT_FALSE(attention_named("full").weights || attention_named("full").mask);
  for (const std::string& name : attention_names()) EXPECT_EQ(attention_named(name).name, name);
  for (const char* wrong : {"",
                            "linear",
                            "full:",
                            "full:k=1",
                            "linformer:",
                            "linformer:k",
                            "linformer:k=",
                            "linformer:k=0",
                            "linformer:k=1.5",
                            "linformer:k=1,k=2",
                            "linformer:m=3",
                            "linformer:k=99999999999999999999",
                            "performer:m=-1",
                            "bigbird:random=65",
                            "bigbird:block=1",
                            "bigbird:block=24",
                            "bigbird:block=2048",
                            "linformer:pooled=2",
                            "window:w=0",
                            "window:w=1,"}) {
    try {
      attention_named(wrong);
      ADD_FAILURE() << wrong;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kUsage) << wrong;
      EXPECT_THAT(e.what(), HasSubstr("attention '")) << wrong;
    }
  }
  const auto variants =
      with_attentions(paper_variants(false), {attention_named("full"), attention_named("nystrom:m=8")});
  ASSERT_EQ(variants.size(), 8U);
  EXPECT_EQ(variants[1].name, "san");
  EXPECT_EQ(variants[5].name, "san nystrom:m=8");
  const auto same = [](const char* a, const char* b) {
    try {
      with_attentions({variant_named("san")}, {attention_named("full"), attention_named(a), attention_named(b)});
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kUsage);
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(same("nystrom", "nystrom"), "attention nystrom is given twice");
  EXPECT_EQ(same("nystrom", "nystrom:m=64"), "attention nystrom:m=64 is the same as nystrom");
  EXPECT_EQ(same("bigbird:seed=0,w=96", "bigbird"), "attention bigbird is the same as bigbird:seed=0,w=96");
  EXPECT_EQ(same("gaussian", "full"), "attention full is given twice");
  EXPECT_EQ(same("performer", "performer:seed=1"), "");
  EXPECT_EQ(same("window:w=96,global=128", "bigbird"), "");
}

}  // namespace
}  // namespace rankfall::attention_kinds
