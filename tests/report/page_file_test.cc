#include <string>
#include <string_view>

#include <gmock/gmock.h>

#include "io/base64.h"
#include "io/sha256.h"
#include "render/page/assets.h"
#include "report/page_content.h"
#include "report/page_samples.h"
#include <rankfall/error.h>
#include <rankfall/report.h>

namespace rankfall {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t n = 0;
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

std::string between(const std::string& text, std::string_view begin, std::string_view end) {
  const auto from = text.find(begin);
  if (from == std::string::npos) return "";
  return text.substr(from + begin.size(), text.find(end, from + begin.size()) - from - begin.size());
}

class PageFile : public testing::Test {
 protected:
  void SetUp() override {
    if (page_assets().script.empty()) GTEST_SKIP() << "built without node";
  }
};

TEST_F(PageFile, HostileNamesStayData) {
  const std::string name = "</script><script>alert(1)</script>{{style}}<!-- \"'& \xff";
  const Page page = make_page({{name, measured(name, {name}, 2)}}, {name, name});
  const Page harmless = make_page({{"a", measured("a", {"a"}, 2)}}, {"a", "a"});
  for (const char* word : {"<script", "</script", "<style", "<!--"}) {
    EXPECT_EQ(count(page.html, word), count(harmless.html, word)) << word;
  }
  EXPECT_THAT(page.html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(between(page.html, "<title>", "</title>"), HasSubstr("&lt;/script&gt;"));
  const Json data = Json::parse(between(page.html, "id=\"page\">", "</script>"));
  EXPECT_THAT(data["title"].get<std::string>(), HasSubstr("</script><script>alert(1)</script>{{style}}"));
}

TEST_F(PageFile, ThePolicyNamesExactlyItsScriptAndItsStyle) {
  const Page page = make_page({{"a", measured("a", {"full"}, 2)}}, {});
  const std::string policy = between(page.html, "Content-Security-Policy\" content=\"", "\"");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(policy, Not(HasSubstr("http")));
  const auto hash = [](const std::string& text) {
    return "'sha256-" + encode_base64(sha256_bytes(std::as_bytes(std::span(text.data(), text.size())))) + "'";
  };
  EXPECT_THAT(policy, HasSubstr("style-src " + hash(between(page.html, "<style>", "</style>"))));
  EXPECT_THAT(policy, HasSubstr("script-src " + hash(between(page.html, "<script>", "</script>"))));
}

TEST_F(PageFile, ChartsStandAloneWithTheirData) {
  const Page page = make_page(all_results(), {});
  ASSERT_GT(page.charts.size(), 10U);
  std::set<std::string> names;
  for (const auto& [name, text] : page.charts) {
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_THAT(name, testing::MatchesRegex("[a-z0-9-]+\\.vl\\.json"));
    const Json spec = Json::parse(text);
    EXPECT_FALSE(spec["data"]["values"].empty()) << name;
    EXPECT_TRUE(spec["width"].is_number()) << name;
  }
}

TEST_F(PageFile, TwoHundredLayersOfSixteenVariantsAreBelowTenMegabytes) {
  Result result;
  result.command = "measure";
  for (int v = 0; v < 16; ++v) {
    for (int m = 0; m < 8; ++m) {
      for (Index layer = 0; layer <= 200; ++layer) {
        Row one = row("deep", "variant-" + std::to_string(v), "metric-" + std::to_string(m), 1.0 / 3);
        one.layer = layer;
        one.std = 0.123456789012345;
        one.n = 32;
        result.rows.push_back(one);
      }
    }
  }
  EXPECT_LT(make_page({{"deep", result}}, {}).html.size(), 10U << 20);
}

TEST_F(PageFile, NothingToShowIsAnError) {
  EXPECT_THROW(make_page({}, {}), Error);
  EXPECT_NO_THROW(make_page({{"empty", {}}}, {}));
}

}  // namespace
}  // namespace rankfall
