#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <rankfall/index.h>
#include <rankfall/path.h>
#include <rankfall/prose.h>
#include <rankfall/status.h>

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
  std::optional<Origin> origin;
  std::optional<Heads> path;
  std::optional<Index> step;
  std::string kind, claim;
  std::optional<Index> tokens, k;
  Basis basis = Basis::kNone;
  Status status = Status::kNone;  // what became of it
  Reason reason = Reason::kNone;  // why it does not apply
  std::string text;               // a piece of a text
  Prose verdict;                  // the same in words, for people only
  std::string exact;              // a decimal string, for integers above 2^53
};

using ManifestValue = std::variant<std::string, std::int64_t, double, bool, std::vector<std::string>>;

// How a result was made. Keys are in the order they were added.
struct Manifest {
  std::vector<std::pair<std::string, ManifestValue>> entries;
};

// The version of what results are made of, in their JSON: columns and the meaning of their values. 1: version 0.1,
// without it; 2: status, reason, basis and text are columns of their own. Older ones are read.
constexpr int kResultSchema = 2;

// What every command returns and every writer takes.
struct Result {
  std::string command;
  Manifest manifest;
  std::vector<Row> rows;
};

}  // namespace rankfall
