#include "render/page/assets.h"

#ifdef RANKFALL_PAGE

// The files' bytes, put into the object by the assembler.
#define RANKFALL_EMBED(name, file)              \
  asm(".section .rodata\n"                      \
      ".global rankfall_page_" #name            \
      "\n"                                      \
      ".hidden rankfall_page_" #name            \
      "\n"                                      \
      "rankfall_page_" #name                    \
      ":\n"                                     \
      ".incbin \"" file                         \
      "\"\n"                                    \
      ".global rankfall_page_" #name            \
      "_end\n"                                  \
      ".hidden rankfall_page_" #name            \
      "_end\n"                                  \
      "rankfall_page_" #name                    \
      "_end:\n"                                 \
      ".byte 0\n"                               \
      ".text\n");                               \
  extern "C" const char rankfall_page_##name[]; \
  extern "C" const char rankfall_page_##name##_end[]

RANKFALL_EMBED(html, RANKFALL_PAGE_HTML);
RANKFALL_EMBED(css, RANKFALL_PAGE_CSS);
RANKFALL_EMBED(script, RANKFALL_PAGE_SCRIPT);

#endif

namespace rankfall {

PageAssets page_assets() {
#ifdef RANKFALL_PAGE
  const auto text = [](const char* begin, const char* end) {
    return std::string_view(begin, static_cast<std::size_t>(end - begin));
  };
  return {text(rankfall_page_html, rankfall_page_html_end), text(rankfall_page_css, rankfall_page_css_end),
          text(rankfall_page_script, rankfall_page_script_end)};
#else
  return {};
#endif
}

}  // namespace rankfall
