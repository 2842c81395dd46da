#include "view/model_names.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace rankfall {
namespace {

// "org/name" is a hub name or a short relative path: both are fine as they are.
bool is_long_path(std::string_view model) {
  if (model.starts_with("san:")) return false;
  const auto n_slashes = std::ranges::count(model, '/');
  const bool rooted =
      model.starts_with('/') || model.starts_with("./") || model.starts_with("../") || model.starts_with("~/");
  return n_slashes > 1 || (n_slashes == 1 && (rooted || model.ends_with('/')));
}

// Folders from the last to the first; without "." and empty ones.
std::vector<std::string> folders_of(std::string_view path) {
  std::vector<std::string> folders;
  while (!path.empty()) {
    const auto slash = path.find('/');
    const std::string_view folder = path.substr(0, slash);
    if (!folder.empty() && folder != ".") folders.emplace_back(folder);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  std::ranges::reverse(folders);
  return folders;
}

struct ShownModel {
  std::string given;
  std::vector<std::string> folders;  // empty: shown as given
  std::size_t n_shown = 1;

  std::string text() const {
    if (folders.empty()) return given;
    std::string out = folders[0];
    for (std::size_t i = 1; i < n_shown; ++i) out.insert(0, folders[i] + "/");
    return out;
  }
};

}  // namespace

std::map<std::string, std::string> short_model_names(const std::vector<std::string>& models) {
  std::vector<ShownModel> shown;
  for (const std::string& model : std::set<std::string>(models.begin(), models.end())) {
    ShownModel& one = shown.emplace_back();
    one.given = model;
    if (!is_long_path(model)) continue;
    one.folders = folders_of(model);
    // ".." alone names nothing.
    if (!one.folders.empty() && one.folders[0] == "..") one.folders.clear();
  }
  for (bool changed = true; changed;) {
    changed = false;
    std::map<std::string, int> uses;
    for (const ShownModel& one : shown) ++uses[one.text()];
    for (ShownModel& one : shown) {
      if (one.folders.empty() || uses[one.text()] == 1) continue;
      changed = true;
      if (one.n_shown < one.folders.size()) {
        ++one.n_shown;
      } else {
        one.folders.clear();
      }
    }
  }
  std::map<std::string, std::string> names;
  for (const ShownModel& one : shown) {
    if (one.text() != one.given) names.emplace(one.given, one.text());
  }
  return names;
}

void shorten_model_names(const std::vector<Result*>& results) {
  std::set<std::string> models;
  for (const Result* result : results) {
    for (const Row& row : result->rows) models.insert(row.model);
  }
  const auto names = short_model_names({models.begin(), models.end()});
  if (names.empty()) return;
  for (Result* result : results) {
    for (Row& row : result->rows) {
      if (const auto name = names.find(row.model); name != names.end()) row.model = name->second;
    }
  }
}

}  // namespace rankfall
