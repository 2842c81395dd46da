#include "view/model_names.h"

#include <gmock/gmock.h>

namespace rankfall {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(ModelNames, PathsAreTheirLastFolder) {
  EXPECT_THAT(short_model_names({"/data/models/gpt2-capp", "./run/", "/data/models/gpt2-capp@init"}),
              ElementsAre(Pair("./run/", "run"), Pair("/data/models/gpt2-capp", "gpt2-capp"),
                          Pair("/data/models/gpt2-capp@init", "gpt2-capp@init")));
}

TEST(ModelNames, EqualFoldersAreToldApartByTheirParents) {
  EXPECT_THAT(
      short_model_names({"/a/x/model", "/b/x/model", "/c/y/model"}),
      ElementsAre(Pair("/a/x/model", "a/x/model"), Pair("/b/x/model", "b/x/model"), Pair("/c/y/model", "y/model")));
  EXPECT_THAT(short_model_names({"/models/m", "m/"}), ElementsAre(Pair("/models/m", "models/m")));
}

TEST(ModelNames, OthersStay) {
  EXPECT_THAT(short_model_names({"bert-tiny@init", "san:layers=2,heads=1,dim=8", "openai-community/gpt2", "gpt2", "..",
                                 "../..", "/", ""}),
              IsEmpty());
}

TEST(ModelNames, RowsOfSeveralResultsAgree) {
  Result one{"measure", {}, {Row{}, Row{}}}, other{"collapse", {}, {Row{}}};
  one.rows[0].model = "/a/m";
  one.rows[1].model = "bert-tiny@init";
  other.rows[0].model = "/b/m";
  shorten_model_names({&one, &other});
  EXPECT_EQ(one.rows[0].model, "a/m");
  EXPECT_EQ(one.rows[1].model, "bert-tiny@init");
  EXPECT_EQ(other.rows[0].model, "b/m");
}

}  // namespace
}  // namespace rankfall
