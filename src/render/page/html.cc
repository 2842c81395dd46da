#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "io/atomic_file.h"
#include "io/base64.h"
#include "io/sha256.h"
#include "render/page/assets.h"
#include "render/page/panels.h"
#include <rankfall/error.h>
#include <rankfall/report.h>
#include <rankfall/version.h>

namespace rankfall {
namespace {

// For the text of an element or an attribute in double quotes.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// JSON for a script element: without `<` nothing in it can end or comment out the element.
std::string script_json(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

// As a content-security policy names an inline script or style.
std::string policy_hash(std::string_view text) {
  return fmt::format("'sha256-{}'", encode_base64(sha256_bytes(std::as_bytes(std::span(text.data(), text.size())))));
}

// Each placeholder once, in one pass, so that what is put in is not looked at again.
std::string filled(std::string_view html, std::span<const std::pair<std::string_view, std::string>> values) {
  std::string out;
  while (!html.empty()) {
    const auto open = html.find("{{");
    out += html.substr(0, open);
    if (open == std::string_view::npos) break;
    html.remove_prefix(open);
    bool found = false;
    for (const auto& [name, value] : values) {
      const std::string placeholder = fmt::format("{{{{{}}}}}", name);
      if (!html.starts_with(placeholder)) continue;
      out += value;
      html.remove_prefix(placeholder.size());
      found = true;
      break;
    }
    if (!found) {
      out += "{{";
      html.remove_prefix(2);
    }
  }
  return out;
}

std::string file_name(const std::string& id) { return id + ".vl.json"; }

}  // namespace

Page page_of(const PageContent& content) {
  const PageAssets assets = page_assets();
  if (assets.script.empty()) {
    throw Error(
        ErrorKind::kUsage,
        "this rankfall was built without its report page: the build found no node and npm (Debian's packages nodejs "
        "and npm); install these and build again");
  }
  const std::string policy = fmt::format(
      "default-src 'none'; script-src {}; style-src {}; img-src data: blob:; base-uri 'none'; form-action 'none'",
      policy_hash(assets.script), policy_hash(assets.css));
  const std::array<std::pair<std::string_view, std::string>, 5> values = {{
      {"policy", policy},
      {"title", escaped(content.title)},
      {"style", std::string(assets.css)},
      {"data", script_json(to_page_json(content))},
      {"script", std::string(assets.script)},
  }};
  Page page;
  page.html = filled(assets.html, values);
  for (const Section& section : content.sections) {
    for (const Figure& figure : section.figures) {
      const std::vector<Panel> panels = panels_of(figure);
      for (std::size_t i = 0; i < panels.size(); ++i) {
        page.charts.emplace_back(
            file_name(panel_id(figure, i, panels.size())),
            standalone_spec(panels[i], figure).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
      }
    }
  }
  return page;
}

void save(const Page& page, const std::filesystem::path& file, const std::filesystem::path& charts) {
  if (!charts.empty()) {
    std::error_code error;
    if (std::filesystem::is_symlink(charts, error)) {
      throw Error(ErrorKind::kInput, fmt::format("{}: is a link, expected a folder of its own", charts.string()));
    }
    const bool new_folder = std::filesystem::create_directories(charts, error);
    if (error) throw Error(ErrorKind::kInput, fmt::format("{}: {}", charts.string(), error.message()));
    std::vector<std::filesystem::path> made;  // what was not there before
    try {
      for (const auto& [name, text] : page.charts) {
        const bool is_new = !std::filesystem::exists(charts / name, error);
        write_file_atomically(without_link(charts / name), text);
        if (is_new) made.push_back(charts / name);
      }
      write_file_atomically(file, page.html);
    } catch (...) {  // a full disk: no folder with half of the charts
      for (const auto& chart : made) std::filesystem::remove(chart, error);
      if (new_folder) std::filesystem::remove(charts, error);
      throw;
    }
    return;
  }
  write_file_atomically(file, page.html);
}

}  // namespace rankfall
