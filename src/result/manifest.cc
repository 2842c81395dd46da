#include "result/manifest.h"

#include <fstream>

#include <rankfall/version.h>

namespace rankfall {
namespace {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto first = line.find_first_not_of(" \t", colon + 1);
    if (first == std::string::npos) continue;
    return line.substr(first, line.find_last_not_of(" \t") - first + 1);
  }
  return "unknown";
}

}  // namespace

void add(Manifest& manifest, std::string_view key, ManifestValue value) {
  for (auto& [name, old] : manifest.entries) {
    if (name == key) {
      old = std::move(value);
      return;
    }
  }
  manifest.entries.emplace_back(key, std::move(value));
}

const ManifestValue* find(const Manifest& manifest, std::string_view key) {
  for (const auto& [name, value] : manifest.entries) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::string text_of(const Manifest& manifest, std::string_view key) {
  const ManifestValue* value = find(manifest, key);
  const auto* text = value ? std::get_if<std::string>(value) : nullptr;
  return text ? *text : "";
}

Manifest base_manifest() {
  Manifest manifest;
  add(manifest, "rankfall", RANKFALL_VERSION);
  add(manifest, "cpu", cpu_name());
  return manifest;
}

}  // namespace rankfall
