#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

namespace rankfall {

// "san:layers=12,heads=12,dim=768" as the config.json it stands for. Throws Error(kUsage).
nlohmann::json san_config(std::string_view spec);

}  // namespace rankfall
