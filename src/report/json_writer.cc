#include <cmath>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/utf8.h"
#include "report/row_text.h"
#include "result/row.h"
#include <rankfall/report.h>
#include <rankfall/version.h>

namespace rankfall {
namespace {

std::string json_text(std::string_view text) { return nlohmann::json(valid_utf8(text)).dump(); }

struct JsonValue {
  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& text) const { return json_text(text); }
  std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
  std::string operator()(std::uint64_t number) const { return fmt::format("{}", number); }
  // The shortest text that reads back to the same bits, and reads back as a floating-point number: 1.0, not 1.
  std::string operator()(double number) const {
    if (!std::isfinite(number)) return "null";
    std::string out = fmt::format("{}", number);
    return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
  }
  std::string operator()(const std::vector<std::string>& texts) const {
    std::string out = "[";
    for (const std::string& text : texts) out += (out.size() > 1 ? ", " : "") + json_text(text);
    return out + "]";
  }
};

// Without the closing brace.
std::string json_head(const Result& result) {
  std::string version = RANKFALL_VERSION, manifest;
  for (const auto& [key, value] : result.manifest.entries) {
    if (const auto* text = std::get_if<std::string>(&value); key == "rankfall" && text) {
      version = *text;
      continue;
    }
    manifest +=
        fmt::format("{}\n    {}: {}", manifest.empty() ? "" : ",", json_text(key), std::visit(JsonValue(), value));
  }
  return fmt::format("{{\n  \"rankfall\": {},\n  \"schema\": {},\n  \"command\": {},\n  \"manifest\": {{{}{}}}",
                     json_text(version), kResultSchema, json_text(result.command), manifest,
                     manifest.empty() ? "" : "\n  ");
}

}  // namespace

std::string json_begin(const Result& result) { return json_head(result) + ",\n  \"rows\": ["; }

std::string manifest_json(const Result& result) { return json_head(result) + "\n}\n"; }

std::string json_row(const Row& row, bool is_first_row) {
  std::string out = is_first_row ? "\n    {" : ",\n    {";
  bool is_first = true;
  for (const Column& column : columns()) {
    out += fmt::format("{}\"{}\": {}", is_first ? "" : ", ", column.name, std::visit(JsonValue(), column.get(row)));
    is_first = false;
  }
  return out + '}';
}

std::string json_end(bool any_row) { return any_row ? "\n  ]\n}\n" : "]\n}\n"; }

std::string to_json(const Result& result) {
  std::string out = json_begin(result);
  for (const Row& row : result.rows) out += json_row(row, &row == result.rows.data());
  return out + json_end(!result.rows.empty());
}

}  // namespace rankfall
