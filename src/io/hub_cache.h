#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

// Models that other programs have downloaded from the Hugging Face hub, found where these keep them. Nothing is ever
// downloaded.

namespace rankfall {

// HF_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub: the first whose variable is
// set. Empty if none is.
std::filesystem::path hub_cache();

// "org/name", "org/name@revision" or "name": a hub name, made of letters, digits, - _ and dots.
struct HubName {
  std::string repository, revision;  // revision: a branch, a tag or the beginning of a commit; empty: main
};
std::optional<HubName> hub_name(std::string_view text);

// The directory of a cached snapshot. `problem` says why there is none: what was looked for, and where.
struct HubSnapshot {
  std::filesystem::path directory;
  std::string problem;
};
HubSnapshot find_snapshot(const HubName& name);

}  // namespace rankfall
