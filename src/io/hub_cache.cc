#include "io/hub_cache.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <vector>

#include <fmt/format.h>

namespace rankfall {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Nothing that leads out of a folder.
bool is_component(std::string_view text) {
  const auto is_fine = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  return !text.empty() && text.size() <= 128 && text != "." && text != ".." && std::ranges::all_of(text, is_fine);
}

// What refs/REVISION says: the name of a folder in snapshots.
std::string commit_of(const fs::path& repository, const std::string& revision) {
  std::ifstream file(repository / "refs" / revision);
  std::string line;
  line.reserve(64);
  for (char c = 0; line.size() < 64 && file.get(c) && c != '\n';) line += c;
  return is_component(line) ? line : "";
}

std::vector<std::string> snapshots_of(const fs::path& repository) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(repository / "snapshots", error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

fs::path hub_cache() {
  if (const std::string cache = environment("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const std::string home = environment("HF_HOME"); !home.empty()) return fs::path(home) / "hub";
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty()) {
    return fs::path(cache) / "huggingface" / "hub";
  }
  const std::string home = environment("HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".cache" / "huggingface" / "hub";
}

std::optional<HubName> hub_name(std::string_view text) {
  const auto at = text.find('@');
  const std::string_view repository = text.substr(0, at);
  const std::string_view revision = at == std::string_view::npos ? "" : text.substr(at + 1);
  const auto slash = repository.find('/');
  const bool named = slash == std::string_view::npos
                         ? is_component(repository)
                         : is_component(repository.substr(0, slash)) && is_component(repository.substr(slash + 1));
  if (!named || (at != std::string_view::npos && !is_component(revision))) return std::nullopt;
  return HubName{std::string(repository), std::string(revision)};
}

HubSnapshot find_snapshot(const HubName& name) {
  const fs::path cache = hub_cache();
  if (cache.empty()) return {{}, "there is no hub cache: HF_HUB_CACHE, HF_HOME and HOME are not set"};
  std::string folder = "models--" + name.repository;
  if (const auto slash = folder.find('/'); slash != std::string::npos) folder.replace(slash, 1, "--");
  const fs::path repository = cache / folder;
  const std::vector<std::string> commits = snapshots_of(repository);
  if (commits.empty()) return {{}, fmt::format("not in the hub cache {}", cache.string())};

  const std::string revision = name.revision.empty() ? "main" : name.revision;
  std::string commit = commit_of(repository, revision);
  if (commit.empty() && name.revision.empty() && commits.size() == 1) commit = commits.front();
  if (commit.empty() && !name.revision.empty()) {
    const auto begins = [&](const std::string& other) { return other.starts_with(revision); };
    if (std::ranges::count_if(commits, begins) == 1) commit = *std::ranges::find_if(commits, begins);
  }
  if (std::ranges::find(commits, commit) == commits.end()) {
    return {{},
            fmt::format("{} has no revision {}; found {}", repository.string(), revision, fmt::join(commits, ", "))};
  }
  return {repository / "snapshots" / commit, ""};
}

}  // namespace rankfall
