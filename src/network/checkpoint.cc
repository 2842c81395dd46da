#include "network/checkpoint.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/errors.h"
#include "base/mapped.h"
#include "base/suggestion.h"
#include "io/checkpoint_files.h"
#include "io/dtype.h"
#include "io/json_file.h"
#include "io/utf8.h"
#include "network/families/families.h"

namespace rankfall {
namespace {

namespace fs = std::filesystem;

class CheckpointWeights final : public WeightSource {
 public:
  CheckpointWeights(std::shared_ptr<const CheckpointFiles> files, std::vector<CheckpointFiles::Entry> tensors)
      : files_(std::move(files)), tensors_(std::move(tensors)), release_(files_->n_bytes() > kReleaseAbove) {}

  TensorData rows(int tensor, Index first, Index count) const override {
    const CheckpointFiles::Entry& entry = tensors_[static_cast<std::size_t>(tensor)];
    const auto bytes = bytes_of(entry, first, count);
    return {entry.tensor->dtype, bytes, keep(entry, bytes)};
  }

  void prefetch(int tensor, Index first, Index count) const override {
    const CheckpointFiles::Entry& entry = tensors_[static_cast<std::size_t>(tensor)];
    entry.file->file()->prefetch(bytes_of(entry, first, count));
  }

  void check() const override { files_->check(); }

  std::string digest() const override { return is_mostly_unused() ? std::string() : files_->digest(); }

  // Files of which the network uses little are not hashed: a tensor that nobody asked for can be of any size.
  bool is_mostly_unused() const {
    constexpr std::uint64_t kSmall = std::uint64_t{1} << 30;
    std::uint64_t used = 0;
    for (const CheckpointFiles::Entry& entry : tensors_) used += entry.tensor->bytes.size();
    return files_->n_bytes() > kSmall && files_->n_bytes() / 4 > used;
  }

 private:
  static std::span<const std::byte> bytes_of(const CheckpointFiles::Entry& entry, Index first, Index count) {
    const std::vector<Index>& shape = entry.tensor->shape;
    const std::size_t n_rows = shape.size() < 2 ? 1 : static_cast<std::size_t>(shape[0]);
    const std::size_t row_bytes = entry.tensor->bytes.size() / n_rows;
    RANKFALL_DCHECK(first >= 0 && count >= 0 && static_cast<std::size_t>(first + count) <= n_rows);
    return entry.tensor->bytes.subspan(static_cast<std::size_t>(first) * row_bytes,
                                       static_cast<std::size_t>(count) * row_bytes);
  }

  std::shared_ptr<const void> keep(const CheckpointFiles::Entry& entry, std::span<const std::byte> bytes) const {
    if (!release_) return files_;
    return {bytes.data(), [files = files_, file = entry.file->file(), bytes](const void*) { file->release(bytes); }};
  }

  std::shared_ptr<const CheckpointFiles> files_;
  std::vector<CheckpointFiles::Entry> tensors_;  // as in Network::tensors
  bool release_;
};

constexpr std::string_view kWrapper = "module.";  // in front of everything, from training on several devices

// Finds the tensors of a network among those of a file, which may name them with a prefix or in an old way.
class NameTable {
 public:
  NameTable(const CheckpointFiles& files, const Network& network, bool tied)
      : files_(files), network_(network), names_(family_names(network.family)), tied_(tied) {
    std::size_t most = 0;
    for (const std::string_view wrapped : {std::string_view(), kWrapper}) {
      for (const std::string_view prefix :
           {std::string_view(), names_.prefix, names_.prefixes[0], names_.prefixes[1]}) {
        const std::string candidate = std::string(wrapped) + std::string(prefix);
        const auto found = [&](const TensorSpec& spec) { return find(candidate, spec.name) != nullptr; };
        const auto n = static_cast<std::size_t>(std::ranges::count_if(network.tensors, found));
        if (n > most) {
          most = n;
          prefix_ = candidate;
        }
      }
    }
    n_found_ = most;
  }

  std::vector<CheckpointFiles::Entry> entries() const {
    std::vector<CheckpointFiles::Entry> entries;
    std::vector<const TensorSpec*> missing;
    for (const TensorSpec& spec : network_.tensors) {
      if (const CheckpointFiles::Entry* entry = find(prefix_, spec.name)) {
        check(spec, *entry);
        entries.push_back(*entry);
      } else {
        missing.push_back(&spec);
      }
    }
    if (!missing.empty()) throw not_found(missing);
    return entries;
  }

  // Notes on tensors of the file that a reader would expect to be used: those of further layers, and others inside the
  // layers, which are an error unless they are to be ignored.
  std::vector<std::string> left_out(bool ignore_unused) const {
    std::set<std::string> kinds;
    std::set<std::string> stems;  // "encoder.layer.#."
    std::set<const TensorInfo*> used;
    for (const TensorSpec& spec : network_.tensors) {
      const auto* entry = find(prefix_, spec.name);
      if (!entry) continue;
      used.insert(entry->tensor);
      const std::string kind = without_numbers(entry->tensor->name);
      if (const std::size_t number = kind.find('#'); number != kind.npos) {
        kinds.insert(kind);
        stems.insert(kind.substr(0, number + 1));
      }
    }
    Unused further;
    Unused inside;
    for (const auto& [name, entry] : files_.entries()) {
      if (used.contains(entry.tensor)) continue;
      const std::string kind = without_numbers(name);
      if (kinds.contains(kind)) {
        further.add(name);
      } else if (stems.contains(kind.substr(0, kind.find('#') + 1)) && !is_known_buffer(name)) {
        inside.add(name);
      }
    }
    std::vector<std::string> notes;
    if (further.n > 0) {
      notes.push_back(fmt::format("{}: {} tensors are not used, {} first: config.json has fewer layers than the file",
                                  files_.where(), further.n, in_quotes(further.names[0])));
    }
    if (inside.names.empty()) return notes;
    const std::string which =
        fmt::format("{}: {} tensor{} inside the layers {} not used: {}; the family {} has no such part", files_.where(),
                    inside.n, inside.n == 1 ? "" : "s", inside.n == 1 ? "is" : "are", inside.list(), network_.family);
    if (!ignore_unused) {
      throw input_error(
          "{}, and the numbers would be those of another network. config.json may say the wrong model_type; "
          "OpenOptions::ignore_unused goes on without them",
          which);
    }
    notes.push_back(which);
    return notes;
  }

 private:
  struct Unused {
    static constexpr std::size_t kNamed = 4;
    std::size_t n = 0;
    std::vector<std::string> names;  // the first kNamed
    void add(const std::string& name) {
      if (n++ < kNamed) names.push_back(name);
    }
    std::string list() const {
      const std::string text = fmt::format("{}", fmt::join(mapped<std::string>(names, in_quotes), ", "));
      return n > names.size() ? fmt::format("{} and {} more", text, n - names.size()) : text;
    }
  };

  // What files have inside layers without being weights, and what only a decoder uses.
  static bool is_known_buffer(std::string_view name) {
    return name.ends_with("rotary_emb.inv_freq") || name.ends_with(".attn.bias") || name.ends_with(".attention.bias") ||
           name.ends_with("masked_bias") || name.ends_with("position_ids") || name.find("crossattention") != name.npos;
  }

  static std::string without_numbers(std::string_view name) {
    std::string kind;
    for (const char c : name) {
      const bool digit = c >= '0' && c <= '9';
      if (!digit) kind += c;
      if (digit && !kind.ends_with('#')) kind += '#';
    }
    return kind;
  }

  const CheckpointFiles::Entry* find(const std::string& prefix, const std::string& name) const {
    if (const auto* entry = files_.find(prefix + name)) return entry;
    // Files converted from TensorFlow.
    constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kOld = {
        {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}}};
    for (const auto& [ours, old] : kOld) {
      if (!name.ends_with(ours)) continue;
      const std::string stem = prefix + name.substr(0, name.size() - ours.size());
      if (const auto* entry = files_.find(stem + std::string(old))) return entry;
    }
    if (names_.words.empty() || name != names_.words) return nullptr;
    const std::string wrapper = prefix.starts_with(kWrapper) ? std::string(kWrapper) : "";
    for (const std::string_view other : {names_.same[0], names_.same[1], tied_ ? names_.tied : std::string_view()}) {
      if (other.empty()) continue;
      for (const std::string& front : {prefix, wrapper}) {
        if (const auto* entry = files_.find(front + std::string(other))) return entry;
      }
    }
    return nullptr;
  }

  static void check(const TensorSpec& spec, const CheckpointFiles::Entry& entry) {
    const TensorInfo& tensor = *entry.tensor;
    if (!tensor.supported || is_integer(tensor.dtype)) {
      throw input_error("{}: tensor {} has type {}, expected F64, F32, F16 or BF16; quantised models are not read",
                        entry.file->where(), in_quotes(tensor.name), printable(tensor.dtype_name));
    }
    if (tensor.shape != spec.shape) {
      throw input_error("{}: tensor {} is {}, expected {} as config.json says", entry.file->where(),
                        in_quotes(tensor.name), shape_text(tensor.shape), shape_text(spec.shape));
    }
  }

  Error not_found(const std::vector<const TensorSpec*>& missing) const {
    const std::string wanted = prefix_ + missing[0]->name;
    if (n_found_ == 0) {
      const std::string some = files_.entries().empty() ? "no tensors" : in_quotes(files_.entries().begin()->first);
      return input_error(
          "{}: none of the {} tensors of the family {} is there; found {} and the like, expected {} {}, "
          "with or without "
          "'{}' in front. config.json may belong to another model",
          files_.where(), missing.size(), network_.family, some, in_quotes(missing[0]->name),
          shape_text(missing[0]->shape), names_.prefix);
    }
    std::string text = fmt::format("{}: tensor {} is missing, expected with shape {}", files_.where(),
                                   in_quotes(wanted), shape_text(missing[0]->shape));
    if (const std::string close = closest(wanted); !close.empty()) {
      text += fmt::format("; did somebody misspell it as {}?", in_quotes(close));
    }
    if (missing.size() > 1) text += fmt::format("; {} more are missing", missing.size() - 1);
    return input_error(text);
  }

  // A name of the file that nothing else claims and that differs by little; empty if there is none.
  std::string closest(const std::string& wanted) const {
    constexpr std::size_t kMostCompared = 50'000;
    std::set<const TensorInfo*> used;
    for (const TensorSpec& spec : network_.tensors) {
      if (const auto* entry = find(prefix_, spec.name)) used.insert(entry->tensor);
    }
    std::size_t least = std::min<std::size_t>(wanted.size() / 3 + 1, 12);
    std::string close;
    std::size_t n_compared = 0;
    for (const auto& [name, entry] : files_.entries()) {
      if (name.size() > 1000 || used.contains(entry.tensor)) continue;
      if (++n_compared > kMostCompared) break;
      if (const std::size_t distance = edit_distance(wanted, name, least); distance < least) {
        least = distance;
        close = name;
      }
    }
    return close;
  }

  const CheckpointFiles& files_;
  const Network& network_;
  const FamilyNames& names_;
  bool tied_;
  std::string prefix_;
  std::size_t n_found_ = 0;
};

}  // namespace

Model open_checkpoint(const fs::path& directory, bool ignore_unused) {
  const fs::path config_file = directory / "config.json";
  std::error_code error;
  if (!fs::exists(config_file, error)) {
    // If the weights are no better, that message says more.
    CheckpointFiles::open(directory);
    throw input_error("{}: has weights but no config.json, which says what they mean", directory.string());
  }
  const Config config(read_json_file(config_file), config_file.string(), ErrorKind::kInput);
  Model model;
  model.name = directory.string();
  model.directory = model.name;
  model.network = make_network(config);
  const auto files = CheckpointFiles::open(directory);
  const bool tied = config.flag("tie_word_embeddings", family_names(model.network.family).is_tied);
  const NameTable names(*files, model.network, tied);
  const auto weights = std::make_shared<CheckpointWeights>(files, names.entries());
  model.weights = weights;
  model.notes = names.left_out(ignore_unused);
  if (weights->is_mostly_unused()) {
    model.notes.push_back(
        fmt::format("{}: {:.1f} GB, of which the network uses less than a quarter: no SHA-256 of it is computed",
                    files->where(), static_cast<double>(files->n_bytes()) / 1e9));
  }
  return model;
}

}  // namespace rankfall
