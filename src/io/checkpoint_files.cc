#include "io/checkpoint_files.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/errors.h"
#include "base/mapped.h"
#include "base/parallel.h"
#include "io/json_file.h"
#include "io/mapped_file.h"
#include "io/sha256.h"
#include "io/utf8.h"

namespace rankfall {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWeights = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr std::size_t kMaxShards = 10'000;
constexpr std::size_t kMaxListed = 10'000;  // entries of a directory that are looked at

// Names in a directory, in order.
std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end && names.size() < kMaxListed;
       it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  if (names.empty()) return "nothing";
  constexpr std::size_t kShown = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, names.size()); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", printable(names[i]));
  }
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

// Characters that end a line, or change how the text around them is shown.
bool is_line_or_format(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF;
}

// A name inside Python's quotes, on one line whatever it holds: people copy the line and run it. Bytes that are not
// UTF-8 are written as Python has them in names of files (surrogateescape).
std::string python_text(const fs::path& path) {
  std::string text;
  const std::string name = path.string();
  for (std::string_view rest = name; !rest.empty();) {
    const Utf8Unit unit = utf8_decode(rest);
    if (!unit.valid) {
      text += fmt::format("\\udc{:02x}", static_cast<unsigned char>(rest.front()));
      rest.remove_prefix(1);
      continue;
    }
    if (is_line_or_format(unit.code)) {
      text += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(unit.code));
    } else {
      if (unit.code == U'\\' || unit.code == U'"') text += '\\';
      text += rest.substr(0, unit.length);
    }
    rest.remove_prefix(unit.length);
  }
  return text;
}

std::string pickle_advice(const fs::path& directory, const std::string& name) {
  const bool one_file = name == "pytorch_model.bin";
  const std::string from = python_text(directory / name);
  const std::string folder = python_text(directory);
  const std::string conversion =
      one_file ? fmt::format(
                     "  import torch; from safetensors.torch import save_file\n"
                     "  save_file({{k: v.contiguous().clone() for k, v in torch.load(\"{}\", \"cpu\", "
                     "weights_only=True).items()}}, "
                     "\"{}\", {{\"format\": \"pt\"}})",
                     from, python_text(directory / kWeights))
               : fmt::format(
                     "  from transformers import AutoModel\n"
                     "  AutoModel.from_pretrained(\"{0}\").save_pretrained(\"{0}\", safe_serialization=True)",
                     folder);
  return fmt::format(
      "the weights are in {}, a Python pickle. It is not read: loading a pickle can execute any code that is in it. "
      "Two lines of Python convert it:\n{}",
      printable(name), conversion);
}

// Pickles that are no weights.
bool is_training_state(std::string_view name) {
  return name.starts_with("training_args") || name.starts_with("optimizer") || name.starts_with("scheduler") ||
         name.starts_with("rng_state") || name.starts_with("scaler");
}

// What a directory without readable weights is, as far as its files' names say.
std::string describe_directory(const fs::path& directory) {
  const std::vector<std::string> names = names_in(directory);
  const auto first = [&](auto matches) -> std::optional<std::string> {
    const auto found = std::ranges::find_if(names, matches);
    return found == names.end() ? std::nullopt : std::optional(*found);
  };
  const auto named = [&](std::string_view wanted) {
    return first([&](const std::string& name) { return name == wanted; });
  };
  const auto ending = [&](std::string_view end) {
    return first([&](const std::string& name) { return name.ends_with(end); });
  };
  if (named("adapter_config.json") || named("adapter_model.safetensors")) {
    return "holds an adapter (LoRA or the like), not a model; merge it into its base model first";
  }
  if (named("model_index.json")) {
    return "is a pipeline of several models; give the folder of one of them, such as text_encoder";
  }
  if (named("snapshots") && named("refs")) {
    const std::vector<std::string> snapshots = names_in(directory / "snapshots");
    return fmt::format("is a folder of the hub's cache; the model is in {}",
                       (directory / "snapshots" / (snapshots.empty() ? "..." : snapshots.back())).string());
  }
  for (const char* pickle : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    if (named(pickle)) return pickle_advice(directory, pickle);
  }
  for (const char* pickle : {".bin", ".pt", ".pth", ".ckpt"}) {
    const auto found =
        first([&](const std::string& name) { return name.ends_with(pickle) && !is_training_state(name); });
    if (found) return pickle_advice(directory, *found);
  }
  for (const char* other : {".h5", ".msgpack", ".ot", ".gguf", ".onnx", ".tflite"}) {
    if (const auto found = ending(other)) {
      return fmt::format("has its weights in {}, which is not read; expected {}. {}", printable(*found), kWeights,
                         "AutoModel.from_pretrained(...).save_pretrained(...) of transformers writes it");
    }
  }
  if (const auto shard = first(
          [](const std::string& name) { return name.starts_with("model-0") && name.ends_with(".safetensors"); })) {
    return fmt::format("has {} but no {}, which says what is in which part", printable(*shard), kIndex);
  }
  if (const auto found = ending(".safetensors")) {
    return fmt::format("has {}, but no {}", printable(*found), kWeights);
  }
  return fmt::format("has neither {} nor {}; found {}", kWeights, kIndex, listed(names));
}

// The index comes with the checkpoint and may say anything: only files beside it are opened.
bool is_plain_name(std::string_view name) {
  return name.ends_with(".safetensors") && name.size() <= 255 && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

}  // namespace

std::shared_ptr<const CheckpointFiles> CheckpointFiles::open(const fs::path& directory) {
  const std::shared_ptr<CheckpointFiles> checkpoint(new CheckpointFiles);
  if (is_there(directory / kWeights)) {
    const auto file = SafetensorsFile::open(directory / kWeights);
    checkpoint->where_ = file->where();
    for (const TensorInfo& tensor : file->tensors()) checkpoint->entries_[tensor.name] = {file.get(), &tensor};
    checkpoint->files_[kWeights] = file;
  } else if (is_there(directory / kIndex)) {
    checkpoint->read_index(directory / kIndex);
  } else {
    throw input_error("{}: {}", directory.string(), describe_directory(directory));
  }
  return checkpoint;
}

void CheckpointFiles::read_index(const fs::path& index) {
  where_ = index.string();
  const nlohmann::json json = read_json_file(index);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || map == json.end() || !map->is_object()) {
    throw input_error("{}: found no object 'weight_map', expected the file of each tensor", where_);
  }
  for (const auto& [name, value] : map->items()) {
    const std::string file_name = value.is_string() ? value.get<std::string>() : value.dump();
    if (!value.is_string() || !is_plain_name(file_name)) {
      throw input_error("{}: tensor {} is said to be in {}, expected a .safetensors file beside the index", where_,
                        in_quotes(name), in_quotes(file_name));
    }
    auto& file = files_[file_name];
    if (!file) {
      if (files_.size() > kMaxShards) throw input_error("{}: more than {} files", where_, kMaxShards);
      if (!is_there(index.parent_path() / file_name)) {
        throw input_error("{}: there is no {} beside it; the download may be incomplete", where_, in_quotes(file_name));
      }
      file = SafetensorsFile::open(index.parent_path() / file_name);
    }
    const TensorInfo* tensor = file->find(name);
    if (!tensor) {
      throw input_error(
          "{}: tensor {} is said to be in {}, but is not; index and files may be of different "
          "versions",
          where_, in_quotes(name), in_quotes(file_name));
    }
    entries_[name] = {file.get(), tensor};
  }
}

const CheckpointFiles::Entry* CheckpointFiles::find(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

std::uint64_t CheckpointFiles::n_bytes() const {
  std::uint64_t n = 0;
  for (const auto& [name, file] : files_) n += file->file()->bytes().size();
  return n;
}

void CheckpointFiles::check() const {
  for (const auto& [name, file] : files_) file->file()->check();
}

std::string CheckpointFiles::digest() const {
  constexpr std::size_t kPiece = std::size_t{16} << 20;
  const bool release = n_bytes() > kReleaseAbove;
  const auto files = mapped<const SafetensorsFile*>(files_, [](const auto& file) { return file.second.get(); });
  std::vector<std::string> digests(files.size());
  parallel_for(std::ssize(files), [&](Index i) {
    const auto& file = files[static_cast<std::size_t>(i)]->file();
    Sha256 digest;
    for (auto rest = file->bytes(); !rest.empty();) {
      const auto piece = rest.first(std::min(rest.size(), kPiece));
      rest = rest.subspan(piece.size());
      file->prefetch(rest.first(std::min(rest.size(), kPiece)));
      digest.add(piece);
      if (release) file->release(piece);
    }
    digests[static_cast<std::size_t>(i)] = digest.hex();
  });
  check();
  if (digests.size() == 1) return digests[0];
  std::string all;
  for (const std::string& digest : digests) all += digest + "\n";
  return sha256(std::as_bytes(std::span(all)));
}

}  // namespace rankfall
