#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/index.h>
#include <rankfall/network.h>

namespace rankfall {

enum class DType { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU8, kBool };

// Bytes of some rows of a tensor; `keep` holds them alive, whether they lie in a mapped file or in a buffer.
struct TensorData {
  DType dtype = DType::kF32;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> keep;
};

// Where weights come from: a mapped checkpoint or a seeded initialisation. Thread-safe: read-only for its users.
class RANKFALL_API WeightSource {
 public:
  virtual ~WeightSource() = default;

  // Rows [first, first + count) of tensor number `tensor` of Network::tensors, seen as a matrix; dense, row-major.
  virtual TensorData rows(int tensor, Index first, Index count) const = 0;

  // Says that these rows will be asked for soon; a hint that costs nothing.
  virtual void prefetch(int /*tensor*/, Index /*first*/, Index /*count*/) const {}

  // Throws Error kInput if a file is no longer what it was when it was opened: what was read since may be anything.
  virtual void check() const {}

  // SHA-256 of the files (docs/formats.md), which reads all of them; empty when there are none, and when files above 1
  // GB hold mostly what is not used.
  virtual std::string digest() const { return {}; }
};

// A network with its weights.
struct Model {
  std::string name;
  std::string directory;  // of config.json and perhaps a tokenizer; empty for presets and specifications
  Network network;
  std::shared_ptr<const WeightSource> weights;
  bool drawn = false;              // weights are a seeded random initialisation
  std::vector<std::string> notes;  // what a person should know, e.g. layers of the file that config.json leaves out
};

struct OpenOptions {
  // Another number of blocks, 1 to 10,000: drawn weights are drawn for as many, those of a checkpoint are used again
  // and again (with_depth in variants.h).
  std::optional<Index> n_blocks;
  // A checkpoint with tensors inside its layers that its family does not use is opened, with a note. Otherwise that is
  // an error: the numbers would be those of another network.
  bool ignore_unused = false;
};

// `spec` is a directory with config.json and model.safetensors (or its parts and their index), a preset or the network
// of a directory's config.json at random initialisation, `bert-base@init`, `path/to/model@init`, or a specification,
// `san:layers=12,heads=12,dim=768` (docs/formats.md). Weights of the latter are drawn when they are needed, from
// `seed`. Throws Error: kUsage on an impossible specification, kInput on files that cannot be read or do not fit.
RANKFALL_API Model open_model(std::string_view spec, std::uint64_t seed, const OpenOptions& options = {});

// Names that open_model takes with "@init".
RANKFALL_API std::vector<std::string> preset_names();

// A family of models, by the model_type in config.json, and the other entries of it that have no default.
struct FamilyInfo {
  std::string model_type;
  std::vector<std::string> config;
};
RANKFALL_API std::vector<FamilyInfo> family_infos();

// The network that a config.json describes; `where` names it in errors. Throws Error(kInput).
RANKFALL_API Network network_from_config(std::string_view json, std::string_view where);

// Weights drawn as Network::tensors says, each value from (seed, tensor name, element index) alone. Tensors are kept
// after their first use while all kept ones stay below keep_bytes, so that variants of one call share one draw; beyond
// it they are drawn again each time.
RANKFALL_API std::shared_ptr<const WeightSource> draw_weights(std::vector<TensorSpec> tensors, std::uint64_t seed,
                                                              std::uint64_t keep_bytes = std::uint64_t{4} << 30);

}  // namespace rankfall
