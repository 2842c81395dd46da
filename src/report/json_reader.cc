#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/utf8.h"
#include "result/legacy.h"
#include "result/manifest.h"
#include "result/row.h"
#include <rankfall/error.h>
#include <rankfall/report.h>

namespace rankfall {
namespace {

using ResultJson = nlohmann::ordered_json;

// A result is rows of plain values, so anything deeper or wider than these is something else. An ordered_json object
// finds its keys one by one: without a limit a hostile file costs quadratic time.
constexpr int kMaxDepth = 4;
constexpr std::size_t kMaxKeys = 1000;

class ResultReader {
 public:
  explicit ResultReader(std::string_view where) : where_(where) {}

  Result read(std::string_view text) {
    const ResultJson json = parse(text);
    if (!json.is_object()) fail(fmt::format("{}, expected the object that rankfall writes", json.type_name()));
    Result result;
    add(result.manifest, "rankfall", member(json, "rankfall", ResultJson::value_t::string).get<std::string>());
    result.command = member(json, "command", ResultJson::value_t::string).get<std::string>();
    const std::int64_t schema = schema_of(json);
    for (const auto& [key, value] : member(json, "manifest", ResultJson::value_t::object).items()) {
      if (!value.is_null()) add(result.manifest, key, manifest_value(key, value));
    }
    const ResultJson& rows = member(json, "rows", ResultJson::value_t::array);
    result.rows.reserve(rows.size());
    for (const ResultJson& json_row : rows) {
      result.rows.push_back(schema == 1 ? old_row(json_row, result.rows.size(), result.command)
                                        : row(json_row, result.rows.size()));
    }
    return result;
  }

 private:
  [[noreturn]] void fail(std::string_view why) const {
    throw Error(ErrorKind::kInput, fmt::format("{}: {}", printable(where_), why));
  }

  ResultJson parse(std::string_view text) const {
    std::array<std::set<std::string>, kMaxDepth + 1> keys;  // of the open objects, by depth
    const auto check = [&](int depth, ResultJson::parse_event_t event, ResultJson& value) {
      if (depth > kMaxDepth) fail(fmt::format("nested deeper than {} levels; not a result of rankfall", kMaxDepth));
      if (event == ResultJson::parse_event_t::object_start) keys[static_cast<std::size_t>(depth)].clear();
      if (event != ResultJson::parse_event_t::key) return true;
      auto& siblings = keys[static_cast<std::size_t>(depth - 1)];  // a key counts as one level below its object
      const auto& key = value.get_ref<const std::string&>();
      if (!siblings.insert(key).second) fail(fmt::format("key {} twice in one object", in_quotes(key)));
      if (siblings.size() > kMaxKeys) {
        fail(fmt::format("an object with more than {} keys; not a result of rankfall", kMaxKeys));
      }
      return true;
    };
    try {
      return ResultJson::parse(text.begin(), text.end(), check);
    } catch (const ResultJson::exception& error) {
      fail(fmt::format("not JSON: {}", printable(error.what())));
    }
  }

  const ResultJson& member(const ResultJson& json, const char* key, ResultJson::value_t type) const {
    const auto it = json.find(key);
    if (it == json.end()) fail(fmt::format("no '{}'; is it a result that rankfall wrote with --format json?", key));
    if (it->type() != type) {
      fail(fmt::format("'{}' is {}, expected {}", key, it->type_name(), ResultJson(type).type_name()));
    }
    return *it;
  }

  ManifestValue manifest_value(const std::string& key, const ResultJson& value) const {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number_float()) return value.get<double>();
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return value.dump();
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (value.is_array() && std::ranges::all_of(value, [](const ResultJson& item) { return item.is_string(); })) {
      return value.get<std::vector<std::string>>();
    }
    fail(fmt::format("manifest: {} is {}, expected a value or a list of texts", in_quotes(key), value.type_name()));
  }

  // Results of 0.1 have none: 1.
  std::int64_t schema_of(const ResultJson& json) const {
    const auto found = json.find("schema");
    if (found == json.end()) return 1;
    const bool fits = found->is_number_integer() && *found >= 1 && *found <= kResultSchema;
    if (!fits) {
      fail(fmt::format("'schema' is {}, expected a number from 1 to {}; written by a later version of rankfall?",
                       printable(shown(*found), 60), kResultSchema));
    }
    return found->get<std::int64_t>();
  }

  // Of schema 1: a token's piece was its path, a bound's basis its origin, and statuses were words.
  Row old_row(ResultJson json, std::size_t index, const std::string& command) const {
    const auto move = [&](const char* from, const char* to) {
      const auto found = json.is_object() ? json.find(from) : json.end();
      if (found == json.end()) return;
      json[to] = *found;
      json.erase(from);
    };
    if (command == "tokens") move("path", "text");
    if (command == "bounds") move("origin", "basis");
    Row made = row(json, index);
    const auto verdict = json.find("verdict");
    upgrade_row(command, verdict != json.end() && verdict->is_string() ? verdict->get<std::string>() : "", made);
    return made;
  }

  Row row(const ResultJson& json, std::size_t index) const {
    if (!json.is_object()) fail(fmt::format("row {}: {}, expected an object", index, json.type_name()));
    Row row;
    for (const auto& [key, value] : json.items()) {
      const Column* column = find_column(key);
      if (!column) {
        fail(fmt::format("row {}: unknown column {}; written by a later version of rankfall?", index, in_quotes(key)));
      }
      if (value.is_structured() || value.is_boolean() || !column->set(row, cell(value))) {
        fail(fmt::format("row {}: '{}' is {}, expected {}", index, key, printable(shown(value), 60), column->expected));
      }
    }
    return row;
  }

  static std::string shown(const ResultJson& value) {
    return value.is_structured() ? value.type_name() : value.dump(-1, ' ', false, ResultJson::error_handler_t::replace);
  }

  static CellValue cell(const ResultJson& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_float()) return value.get<double>();
    if (value.is_number_unsigned()) return value.get<std::uint64_t>();
    if (value.is_number_integer()) return value.get<std::int64_t>();
    return {};
  }

  std::string_view where_;
};

}  // namespace

Result from_json(std::string_view text, std::string_view where) { return ResultReader(where).read(text); }

}  // namespace rankfall
