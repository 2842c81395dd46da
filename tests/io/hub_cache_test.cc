#include "io/hub_cache.h"

#include <cstdlib>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

namespace rankfall {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(HubName, IsOrganisationAndNameWithARevision) {
  EXPECT_EQ(hub_name("openai-community/gpt2")->repository, "openai-community/gpt2");
  EXPECT_EQ(hub_name("EleutherAI/pythia-70m@step1000")->revision, "step1000");
  EXPECT_EQ(hub_name("gpt2")->repository, "gpt2");
  for (const char* text : {"", "/", "a/", "/b", "../b", "a/..", "a/b/c", "a/b@", "a/b@..", "a/b@c/d", "a b/c", "~/x",
                           "a/b@c@d", "./x", "\x1b[31m/x"}) {
    EXPECT_FALSE(hub_name(text)) << text;
  }
}

class HubCache : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(repository_ / "refs");
    for (const char* variable : {"HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"}) unsetenv(variable);
    setenv("HF_HUB_CACHE", root_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("HF_HUB_CACHE");
    fs::remove_all(root_);
  }
  void snapshot(const std::string& commit) { fs::create_directories(repository_ / "snapshots" / commit); }
  void ref(const std::string& name, const std::string& text) { std::ofstream(repository_ / "refs" / name) << text; }

  fs::path root_ = fs::path(testing::TempDir()) / fmt::format("rankfall_hub_{}", getpid());  // tests run side by side
  fs::path repository_ = root_ / "models--org--name";
};

TEST_F(HubCache, IsFoundWhereOtherProgramsPutIt) {
  EXPECT_EQ(hub_cache(), root_);
  unsetenv("HF_HUB_CACHE");
  setenv("HF_HOME", "/home/hf", 1);
  EXPECT_EQ(hub_cache(), "/home/hf/hub");
  unsetenv("HF_HOME");
  setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(hub_cache(), "/cache/huggingface/hub");
  unsetenv("XDG_CACHE_HOME");
}

TEST_F(HubCache, ARevisionIsABranchATagOrACommit) {
  snapshot("aaa111");
  EXPECT_EQ(find_snapshot({"org/name", ""}).directory.filename(), "aaa111");  // the only one, without refs
  snapshot("bbb222");
  EXPECT_THAT(find_snapshot({"org/name", ""}).problem, HasSubstr("has no revision main; found aaa111, bbb222"));
  ref("main", "bbb222");
  ref("v1", "aaa111\n");
  EXPECT_EQ(find_snapshot({"org/name", ""}).directory.filename(), "bbb222");
  EXPECT_EQ(find_snapshot({"org/name", "v1"}).directory.filename(), "aaa111");
  EXPECT_EQ(find_snapshot({"org/name", "aaa"}).directory.filename(), "aaa111");
  EXPECT_THAT(find_snapshot({"org/name", "v2"}).problem, HasSubstr("no revision v2"));
  EXPECT_THAT(find_snapshot({"org/other", ""}).problem, HasSubstr("not in the hub cache"));
}

TEST_F(HubCache, ARefLeadsNowhereElse) {
  snapshot("aaa111");
  snapshot("bbb222");
  ref("main", "../../../etc");
  EXPECT_TRUE(find_snapshot({"org/name", ""}).directory.empty());
  ref("main", std::string(1 << 20, 'a'));
  EXPECT_TRUE(find_snapshot({"org/name", ""}).directory.empty());
}

}  // namespace
}  // namespace rankfall
