#include "network/config.h"

#include <algorithm>
#include <utility>

namespace rankfall {
namespace {

// What a value looks like, cut short: config files may be hostile.
std::string shown(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

}  // namespace

Config::Config(nlohmann::json values, std::string where, ErrorKind kind)
    : Config(std::make_shared<const nlohmann::json>(std::move(values)), std::move(where), kind) {}

Config::Config(std::shared_ptr<const nlohmann::json> values, std::string where, ErrorKind kind)
    : values_(std::move(values)), where_(std::move(where)), kind_(kind) {
  if (!values_->is_object()) fail("found {}, expected a JSON object", shown(*values_));
}

Config Config::part(const nlohmann::json& values, const std::string& name) const {
  return {std::shared_ptr<const nlohmann::json>(values_, &values), where_ + ": " + name, kind_};
}

void Config::fail(const std::string& problem) const { throw Error(kind_, where_ + ": " + problem); }

const nlohmann::json* Config::find(std::string_view key) const {
  const auto found = values_->find(std::string(key));
  return found == values_->end() || found->is_null() ? nullptr : &*found;
}

bool Config::has(std::string_view key) const { return find(key) != nullptr; }

bool Config::mentions(std::string_view key) const { return values_->contains(std::string(key)); }

Index Config::integer(std::string_view key, Index low, Index high) const {
  const nlohmann::json* value = find(key);
  if (!value) fail("'{}' is missing, expected a whole number from {} to {}", key, low, high);
  const bool fits =
      value->is_number_unsigned() ? std::in_range<Index>(value->get<std::uint64_t>()) : value->is_number_integer();
  if (!fits || value->get<Index>() < low || value->get<Index>() > high) {
    fail("'{}' is {}, expected a whole number from {} to {}", key, shown(*value), low, high);
  }
  return value->get<Index>();
}

Index Config::integer(std::string_view key, Index low, Index high, Index fallback) const {
  return has(key) ? integer(key, low, high) : fallback;
}

Index Config::side(std::string_view key, Index low, Index high, Index fallback) const {
  const nlohmann::json* value = find(key);
  if (!value || !value->is_array()) return integer(key, low, high, fallback);
  if (value->size() != 2 || (*value)[0] != (*value)[1]) {
    fail("'{}' is {}, expected a number or two equal ones", key, shown(*value));
  }
  return Config({{std::string(key), (*value)[0]}}, where_, kind_).integer(key, low, high);
}

double Config::number(std::string_view key, double low, double high, double fallback) const {
  const nlohmann::json* value = find(key);
  if (!value) return fallback;
  if (!value->is_number() || !(value->get<double>() >= low && value->get<double>() <= high)) {
    fail("'{}' is {}, expected a number from {} to {}", key, shown(*value), low, high);
  }
  return value->get<double>();
}

bool Config::flag(std::string_view key, bool fallback) const {
  const nlohmann::json* value = find(key);
  if (!value) return fallback;
  if (!value->is_boolean()) fail("'{}' is {}, expected true or false", key, shown(*value));
  return value->get<bool>();
}

std::string Config::text(std::string_view key) const {
  if (!has(key)) fail("'{}' is missing, expected a text", key);
  return text(key, "");
}

std::string Config::text(std::string_view key, std::string_view fallback) const {
  const nlohmann::json* value = find(key);
  if (!value) return std::string(fallback);
  if (!value->is_string()) fail("'{}' is {}, expected a text", key, shown(*value));
  return value->get<std::string>();
}

std::string Config::plain_text(std::string_view key, std::string_view fallback) const {
  const nlohmann::json* value = find(key);
  return value && value->is_object() ? object(key)->text("content", fallback) : text(key, fallback);
}

std::vector<std::string> Config::keys() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : values_->items()) names.push_back(name);
  return names;
}

bool Config::is_object(std::string_view key) const {
  const nlohmann::json* value = find(key);
  return value && value->is_object();
}

std::array<double, 3> Config::triple(std::string_view key, const std::array<double, 3>& fallback) const {
  const nlohmann::json* value = find(key);
  if (!value) return fallback;
  const auto is_number = [](const nlohmann::json& entry) { return entry.is_number(); };
  if (!value->is_array() || value->size() != 3 || !std::ranges::all_of(*value, is_number)) {
    fail("'{}' is {}, expected three numbers", key, shown(*value));
  }
  return value->get<std::array<double, 3>>();
}

std::vector<double> Config::numbers(std::string_view key, std::size_t count, double low, double high) const {
  const nlohmann::json& list = at(key);
  const auto fits = [&](const nlohmann::json& entry) {
    return entry.is_number() && entry.get<double>() >= low && entry.get<double>() <= high;
  };
  if (!list.is_array() || list.size() != count || !std::ranges::all_of(list, fits)) {
    fail("'{}' is {}, expected {} numbers from {} to {}", key, shown(list), count, low, high);
  }
  return list.get<std::vector<double>>();
}

std::vector<std::string> Config::texts(std::string_view key, std::size_t count) const {
  const nlohmann::json* list = find(key);
  if (!list) return {};
  const auto is_text = [](const nlohmann::json& entry) { return entry.is_string(); };
  if (!list->is_array() || !std::ranges::all_of(*list, is_text)) {
    fail("'{}' is {}, expected a list of texts", key, shown(*list));
  }
  if (list->size() != count) fail("'{}' has {} entries, expected {}", key, list->size(), count);
  return list->get<std::vector<std::string>>();
}

std::optional<Config> Config::object(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (!value) return std::nullopt;
  return part(*value, fmt::format("'{}'", key));
}

Config Config::child(std::string_view key) const { return part(at(key), fmt::format("'{}'", key)); }

std::vector<Config> Config::list(std::string_view key, std::size_t most) const {
  const nlohmann::json& items = at(key);
  if (!items.is_array() || items.size() > most) {
    fail("'{}' is {}, expected a list of at most {}", key, shown(items), most);
  }
  std::vector<Config> parts;
  for (std::size_t i = 0; i < items.size(); ++i) parts.push_back(part(items[i], fmt::format("'{}'[{}]", key, i)));
  return parts;
}

const nlohmann::json& Config::at(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (!value) fail("'{}' is missing", key);
  return *value;
}

}  // namespace rankfall
