#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/index.h>
#include <rankfall/path.h>

namespace rankfall {

// What became of a value, a bound, a claim, a curve: as types, so that programs need not read sentences. In JSON and
// CSV each is a word (rounding_floor, not_applicable); the terminal and the page choose marks, colours and sentences by
// them.

enum class Status {
  kNone,  // an ordinary value, of which there is nothing to say

  // A value.
  kRoundingFloor,  // the compute precision cannot tell it from zero
  kBelowFloat32,   // exact, but float32 would show rounding in its place
  kBelowFloat64,   // exact, but float64 would show rounding in its place
  kExactlyZero,
  kOutOfRange,  // no double can hold it; of a log10 metric: not even its logarithm
  kNotCarried,  // double precision does not carry it
  kAtLeast,     // a lower bound of the quantity
  kEstimate,    // an estimate without a guarantee
  kNoSaving,    // a sketch of so many columns saves nothing: k >= n
  kNotFound,    // a search ended at its limit, `k`
  kNotReached,  // what was waited for did not happen in any layer
  kRefused,     // this network does not take it
  kFailed,      // the computation ended in NaN or infinity; of a check: it did not pass
  kPassed,      // of a check
  kWarning,     // works, but may surprise

  // A bound or a claim.
  kHolds,
  kViolated,          // the condition is met and the inequality does not hold; of a claim: a counterexample exists
  kVacuous,           // holds, but allows more than what enters
  kNotApplicable,     // a condition is not met: Row::reason
  kNoCounterexample,  // searched for, none found
  kMeasured,          // holds wherever it was measured

  // A comparison with published numbers.
  kAgrees,
  kDiffers,
  kMissing,  // there is nothing to compare

  // How a curve falls with depth.
  kDoublyExponential,
  kExponential,
  kIrregular,
  kNoCollapse,
  kTooFewLayers,
};

// Why a theorem does not apply to a network or a sample.
enum class Reason {
  kNone,
  kDifferentKeys,  // tokens see different keys: a mask that differs between rows
  kPositions,      // positions in the logits
  kLogitRange,     // logits of a row differ by more than the theorem allows
  kSkip,           // a skip connection is present
  kNorm,           // a norm is present
  kMlp,            // an MLP is present
  kNoMlp,          // there is no MLP
  kSeveralHeads,   // more than one head
  kGatedMlp,       // gated MLPs are not Lipschitz
  kSkipMayCancel,  // attention may undo the skip
  kHeadNorm,       // queries and keys are normed
  kSoftCap,        // logits are capped
  kParallelMlp,    // an MLP stands beside attention
  kSharedWeights,  // sub-layers around which a skip goes share their weights
  kNoWeights,      // an activation acts on the hidden state itself
  kNoSkip,         // there is no skip connection
  kFixedWeights,   // weights do not have a mean of zero
  kLowRank,        // P is a product of thin matrices
};

// What a bound is made of, or what a claim rests on.
enum class Basis {
  kNone,
  kWeights,
  kData,
  kDefinition,  // true by definition: a trial checks the implementation, not the claim
};

// "rounding_floor"; empty for kNone.
RANKFALL_API std::string_view word(Status status);
RANKFALL_API std::string_view word(Reason reason);
RANKFALL_API std::string_view word(Basis basis);

// The value of that word; nothing for a word that is none.
template <class T>
std::optional<T> from_word(std::string_view word) = delete;
template <>
RANKFALL_API std::optional<Status> from_word<Status>(std::string_view word);
template <>
RANKFALL_API std::optional<Reason> from_word<Reason>(std::string_view word);
template <>
RANKFALL_API std::optional<Basis> from_word<Basis>(std::string_view word);

// A sentence for people. It can be made and printed, and nothing else: there is no way to compare it, search it or take
// it apart, so that nothing can come to depend on its wording. What programs need to know is beside it as data (Status,
// Reason, numbers).
class Prose {
 public:
  Prose() = default;
  Prose(std::string text) : text_(std::move(text)) {}  // NOLINT(google-explicit-constructor): sentences are assigned
  Prose(const char* text) : text_(text) {}             // NOLINT(google-explicit-constructor)

  bool empty() const { return text_.empty(); }

  // Appends it to what is being written.
  void print(std::string& out) const { out += text_; }
  RANKFALL_API friend std::ostream& operator<<(std::ostream& out, const Prose& prose);

 private:
  std::string text_;
};

// One value of a result; tidy data. Absent fields are null in JSON and empty in CSV. An empty string is absent.
struct Row {
  std::string model = {}, variant = {};
  std::optional<Index> layer = {};  // hidden state 0..L; with `head`, the block 0..L-1
  std::optional<Index> head = {};
  std::string metric = {};
  std::optional<double> mean = {};  // absent when there is no finite value
  std::optional<double> std = {};   // unbiased; absent for n = 1
  std::optional<Index> n = {};
  std::optional<std::uint64_t> seed = {};
  std::optional<Index> sample = {}, length = {};
  std::optional<Origin> origin = {};
  std::optional<Heads> path = {};
  std::optional<Index> step = {};
  std::string kind = {}, claim = {};
  std::optional<Index> tokens = {}, k = {};
  Basis basis = Basis::kNone;
  Status status = Status::kNone;  // what became of it
  Reason reason = Reason::kNone;  // why it does not apply
  std::string text = {};          // a piece of a text
  Prose verdict = {};             // the same in words, for people only
  std::string exact = {};         // a decimal string, for integers above 2^53
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
