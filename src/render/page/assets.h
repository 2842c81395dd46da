#pragma once

#include <string_view>

namespace rankfall {

// The page's parts as the build made them: web/page.html, web/page.css and the bundle of web/src. Empty where the
// library was built without node.
struct PageAssets {
  std::string_view html, css, script;
};
PageAssets page_assets();

}  // namespace rankfall
