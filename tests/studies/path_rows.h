#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "engine/path_networks.h"
#include <rankfall/model.h>
#include <rankfall/result.h>

namespace rankfall {

inline Model toy(const std::string& rest = "") {
  return with_biases(open_model("san:layers=4,heads=3,dim=12,vocab=30,std=0.5,mlp=8,norm=post" + rest, 4), 4);
}

struct Key {
  std::string metric;
  std::optional<Index> layer = {}, length = {};
  std::string origin = "", kind = "";
  std::optional<Index> k = {};
};

inline std::vector<const Row*> all(const Result& result, const Key& key) {
  std::vector<const Row*> rows;
  for (const Row& row : result.rows) {
    if (row.metric == key.metric && row.layer == key.layer && row.length == key.length &&
        (row.origin ? to_string(*row.origin) : "") == key.origin && row.kind == key.kind && row.k == key.k) {
      rows.push_back(&row);
    }
  }
  return rows;
}
inline double value(const Result& result, const Key& key) {
  const auto rows = all(result, key);
  if (rows.size() != 1) throw std::runtime_error(fmt::format("{} rows {}", rows.size(), key.metric));
  return rows[0]->mean.value();
}

}  // namespace rankfall
