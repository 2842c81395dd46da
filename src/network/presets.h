#pragma once

#include <optional>
#include <string_view>

#include <rankfall/model.h>

namespace rankfall {

// The config.json of a preset, or nothing.
std::optional<std::string_view> preset_config(std::string_view name);

// The name on the Hugging Face hub of the trained model whose config.json a preset is, or nothing.
std::optional<std::string_view> preset_hub_name(std::string_view name);

}  // namespace rankfall
