#include "studies/audit/witness.h"

#include <cmath>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "io/json_limits.h"

namespace rankfall {
namespace {

constexpr Index kMostEntries = 10'000;
// Tokens squared are evaluated with a hundred digits.
constexpr Index kMostRows = 200;
constexpr std::int64_t kLargestGroup = 1'000'000'000'000;

class Reader {
 public:
  explicit Reader(std::string_view where) : where_(where) {}

  [[noreturn]] void fail(const std::string& text) const {
    throw input_error("{}: {}; expected a witness that `rankfall audit` wrote", where_, text);
  }

  Matrix<double> matrix(const std::string& name, const nlohmann::json& rows) {
    if (!rows.is_array() || rows.empty()) fail(fmt::format("matrix '{}' is no list of rows", name));
    if (std::ssize(rows) > kMostRows) {
      fail(fmt::format("matrix '{}' has {} rows, at most {} are allowed", name, rows.size(), kMostRows));
    }
    Matrix<double> m;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!rows[i].is_array() || rows[i].empty()) fail(fmt::format("row {} of matrix '{}' is no list", i, name));
      const auto cols = std::ssize(rows[i]);
      if (i == 0) {
        n_entries_ += std::ssize(rows) * cols;
        if (n_entries_ > kMostEntries) fail(fmt::format("more than {} numbers", kMostEntries));
        m.resize(std::ssize(rows), cols);
      }
      if (cols != m.cols()) fail(fmt::format("rows of matrix '{}' differ in length", name));
      for (std::size_t j = 0; j < rows[i].size(); ++j) {
        const auto& entry = rows[i][j];
        if (!entry.is_number() || !std::isfinite(entry.get<double>())) {
          fail(fmt::format("entry ({}, {}) of matrix '{}' is no finite number", i, j, name));
        }
        m(static_cast<Index>(i), static_cast<Index>(j)) = entry.get<double>();
      }
    }
    return m;
  }

  std::vector<Index> channels(const nlohmann::json& sizes) const {
    if (!sizes.is_array() || sizes.empty()) fail("\"channels\" is no list of sizes");
    if (std::ssize(sizes) > kMostEntries) fail(fmt::format("more than {} groups of channels", kMostEntries));
    std::vector<Index> out;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      // An integer above 2^63 is unsigned and would wrap.
      const bool fits = sizes[i].is_number_unsigned() && sizes[i].get<std::uint64_t>() >= 1 &&
                        sizes[i].get<std::uint64_t>() <= std::uint64_t{kLargestGroup};
      if (!fits) fail(fmt::format("the size of group {} of the channels is no integer from 1 to {}", i, kLargestGroup));
      out.push_back(sizes[i].get<Index>());
    }
    return out;
  }

 private:
  std::string_view where_;
  Index n_entries_ = 0;
};

}  // namespace

std::string to_json(const Witness& witness) {
  const bool grouped = !witness.channels.empty();
  std::string out = fmt::format("{{\n  \"rankfall_witness\": {},\n  \"claim\": {},\n", grouped ? 2 : 1,
                                nlohmann::json(witness.claim).dump());
  if (grouped) out += fmt::format("  \"channels\": [{}],\n", fmt::join(witness.channels, ", "));
  out += "  \"matrices\": {";
  bool is_first = true;
  for (const auto& [name, m] : witness.matrices) {
    out += fmt::format("{}\n    {}: [", is_first ? "" : ",", nlohmann::json(name).dump());
    is_first = false;
    for (Index i = 0; i < m.rows(); ++i) {
      out += i == 0 ? "[" : ", [";
      for (Index j = 0; j < m.cols(); ++j) out += fmt::format("{}{}", j == 0 ? "" : ", ", m(i, j));
      out += "]";
    }
    out += "]";
  }
  return out + "\n  }\n}\n";
}

Witness witness_from_json(std::string_view text, std::string_view where) {
  Reader reader(where);
  const nlohmann::json json = parse_json(text, where);
  if (!json.is_object() || !json.contains("rankfall_witness") ||
      (json["rankfall_witness"] != 1 && json["rankfall_witness"] != 2)) {
    reader.fail("no \"rankfall_witness\": 1 or 2");
  }
  const bool grouped = json["rankfall_witness"] == 2;
  if (grouped != json.contains("channels")) {
    reader.fail(grouped ? "no \"channels\"" : "\"channels\" need \"rankfall_witness\": 2");
  }
  if (!json.contains("claim") || !json["claim"].is_string()) reader.fail("no \"claim\"");
  if (!json.contains("matrices") || !json["matrices"].is_object()) reader.fail("no \"matrices\"");
  Witness witness{json["claim"].get<std::string>(), {}, {}};
  if (grouped) witness.channels = reader.channels(json["channels"]);
  for (const auto& [name, rows] : json["matrices"].items()) witness.matrices[name] = reader.matrix(name, rows);
  return witness;
}

}  // namespace rankfall
