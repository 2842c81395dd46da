#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <rankfall/index.h>

namespace rankfall {

// One value of a result; tidy data. Absent fields are null in JSON and empty in CSV. An empty string is absent.
struct Row {
  std::string model, variant;
  std::optional<Index> layer;  // hidden state 0..L; with `head`, the block 0..L-1
  std::optional<Index> head;
  std::string metric;
  std::optional<double> mean;  // absent when there is no finite value
  std::optional<double> std;   // unbiased; absent for n = 1
  std::optional<Index> n;
  std::optional<std::uint64_t> seed;
  std::optional<Index> sample, length;
  std::string origin, path;
  std::optional<Index> step;
  std::string kind, claim;
  std::optional<Index> tokens, k;
  std::string verdict;
  std::string exact;  // a decimal string, for integers above 2^53
};

using ManifestValue = std::variant<std::string, std::int64_t, double, bool, std::vector<std::string>>;

// How a result was made. Keys are in the order they were added.
struct Manifest {
  std::vector<std::pair<std::string, ManifestValue>> entries;
};

// What every command returns and every writer takes.
struct Result {
  std::string command;
  Manifest manifest;
  std::vector<Row> rows;
};

}  // namespace rankfall
