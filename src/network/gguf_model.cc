#include "network/gguf_model.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/errors.h"
#include "io/checkpoint_files.h"
#include "io/gguf.h"
#include "io/sha256.h"
#include "io/utf8.h"
#include "network/families/families.h"
#include "network/gguf_config.h"

namespace rankfall {
namespace {

// Where output i of ours is in the file.
struct OutputOrder {
  GgufOrder kind = GgufOrder::kSame;
  Index n_heads = 1, d_head = 1;

  Index operator()(Index i) const {
    switch (kind) {
      case GgufOrder::kSame:
        return i;
      case GgufOrder::kNeighbours: {
        const Index head = i / d_head, channel = i % d_head, half = d_head / 2;
        return head * d_head + channel % half * 2 + channel / half;
      }
      case GgufOrder::kHeadsLast: {
        const Index head = i / (3 * d_head), part = i / d_head % 3, channel = i % d_head;
        return (part * n_heads + head) * d_head + channel;
      }
    }
    return i;
  }
};

struct Entry {
  const GgufTensor* tensor = nullptr;
  OutputOrder order;
};

std::optional<DType> plain_type(const GgmlType& type) {
  if (type.name == "F64") return DType::kF64;
  if (type.name == "F32") return DType::kF32;
  if (type.name == "F16") return DType::kF16;
  if (type.name == "BF16") return DType::kBF16;
  return std::nullopt;
}

class GgufWeights final : public WeightSource {
 public:
  GgufWeights(std::shared_ptr<const GgufFile> file, std::vector<Entry> tensors)
      : file_(std::move(file)),
        tensors_(std::move(tensors)),
        release_(file_->file() && file_->n_bytes() > kReleaseAbove) {}

  TensorData rows(int tensor, Index first, Index count) const override {
    const Entry& entry = tensors_[static_cast<std::size_t>(tensor)];
    const GgufTensor& stored = *entry.tensor;
    const auto part = bytes_of(stored, first, count);
    if (const auto plain = plain_type(*stored.type); plain && entry.order.kind == GgufOrder::kSame) {
      return {*plain, part, keep(part)};
    }
    const auto n_cols = static_cast<std::size_t>(stored.n_cols());
    auto values = std::make_shared<std::vector<float>>(static_cast<std::size_t>(count) * n_cols);
    const std::span<float> out(*values);
    if (stored.n_rows() == 1) {  // a vector, whose columns are outputs
      std::vector<float> as_stored(n_cols);
      dequantise(*stored.type, part, as_stored);
      for (std::size_t i = 0; i < n_cols; ++i) {
        out[i] = as_stored[static_cast<std::size_t>(entry.order(static_cast<Index>(i)))];
      }
    } else if (entry.order.kind == GgufOrder::kSame) {
      dequantise(*stored.type, part, out);
    } else {
      for (Index i = 0; i < count; ++i) {
        dequantise(*stored.type, bytes_of(stored, entry.order(first + i), 1),
                   out.subspan(static_cast<std::size_t>(i) * n_cols, n_cols));
      }
    }
    if (release_) file_->file()->release(part);
    return {DType::kF32, std::as_bytes(std::span<const float>(*values)), values};
  }

  void prefetch(int tensor, Index first, Index count) const override {
    if (file_->file())
      file_->file()->prefetch(bytes_of(*tensors_[static_cast<std::size_t>(tensor)].tensor, first, count));
  }

  void check() const override {
    if (file_->file()) file_->file()->check();
  }

  std::string digest() const override {
    if (!file_->file()) return {};
    constexpr std::size_t kPiece = std::size_t{16} << 20;
    Sha256 digest;
    for (auto rest = file_->file()->bytes(); !rest.empty();) {
      const auto piece = rest.first(std::min(rest.size(), kPiece));
      rest = rest.subspan(piece.size());
      file_->file()->prefetch(rest.first(std::min(rest.size(), kPiece)));
      digest.add(piece);
      if (release_) file_->file()->release(piece);
    }
    check();
    return digest.hex();
  }

 private:
  static std::span<const std::byte> bytes_of(const GgufTensor& tensor, Index first, Index count) {
    RANKFALL_DCHECK(first >= 0 && count >= 0 && first + count <= tensor.n_rows());
    return tensor.bytes.subspan(static_cast<std::size_t>(first) * tensor.row_bytes(),
                                static_cast<std::size_t>(count) * tensor.row_bytes());
  }
  std::shared_ptr<const void> keep(std::span<const std::byte> bytes) const {
    if (!release_) return file_;
    return {bytes.data(), [file = file_, bytes](const void*) { file->file()->release(bytes); }};
  }

  std::shared_ptr<const GgufFile> file_;
  std::vector<Entry> tensors_;  // as in Network::tensors
  bool release_;
};

// "layers.3.mlp.up_proj.weight" as "layers.#.mlp.up_proj", "3" and ".weight". Of T5's "block.3.layer.0" only the first
// number is a layer's.
struct NameParts {
  std::string stem, number, end;
};
NameParts parts_of(const std::string& name) {
  NameParts parts;
  const std::size_t dot = name.rfind('.');
  const std::string stem = name.substr(0, dot);
  parts.end = name.substr(dot);
  const std::size_t first = stem.find_first_of("0123456789");
  if (first == std::string::npos || first == 0 || stem[first - 1] != '.') {
    parts.stem = stem;
    return parts;
  }
  const std::size_t behind = std::min(stem.find('.', first), stem.size());
  parts.number = stem.substr(first, behind - first);
  parts.stem = stem.substr(0, first) + "#" + stem.substr(behind);
  return parts;
}

// The name in the file; nothing if the architecture has none for it.
std::optional<std::pair<std::string, GgufOrder>> name_of(const GgufArchitecture& of, const std::string& ours) {
  const NameParts parts = parts_of(ours);
  const auto found = std::ranges::find(of.names, parts.stem, &GgufName::ours);
  if (found == of.names.end()) return std::nullopt;
  std::string name(found->theirs);
  if (const std::size_t place = name.find('#'); place != std::string::npos) name.replace(place, 1, parts.number);
  return std::pair{name + parts.end, found->order};
}

// Which attention a tensor belongs to decides how many heads its outputs have.
std::map<int, OutputOrder> head_sizes(const Network& network) {
  std::map<int, OutputOrder> out;
  for (const SubLayer& layer : network.layers) {
    const Attention* a = layer.attention();
    if (!a) continue;
    const auto add = [&](const Linear& linear, Index n_heads) {
      out[linear.w.tensor] = {GgufOrder::kSame, n_heads, a->d_head};
      if (linear.b) out[linear.b->tensor] = {GgufOrder::kSame, n_heads, a->d_head};
    };
    add(a->k, a->n_kv_heads);
    add(a->q, a->n_heads);
  }
  return out;
}

// Weights that the original stores [in, out] lie [out, in] in the file.
void turn(Network& network) {
  const auto turn_linear = [&](Linear& linear) {
    if (!linear.w.transposed) return;
    std::swap(linear.w.row, linear.w.col);
    std::swap(linear.w.rows, linear.w.cols);
    linear.w.transposed = false;
  };
  std::set<int> turned;
  const auto note = [&](const Linear& linear) {
    if (linear.w.transposed) turned.insert(linear.w.tensor);
  };
  for (SubLayer& layer : network.layers) {
    for (Branch& branch : layer.branches) {
      if (auto* a = std::get_if<Attention>(&branch.f)) {
        for (Linear* linear : {&a->q, &a->k, &a->v, &a->o}) {
          note(*linear);
          turn_linear(*linear);
        }
      } else if (auto* mlp = std::get_if<Mlp>(&branch.f)) {
        for (Linear* linear : {&mlp->up, &mlp->down}) {
          note(*linear);
          turn_linear(*linear);
        }
      }
    }
  }
  for (const int tensor : turned) std::ranges::reverse(network.tensors[static_cast<std::size_t>(tensor)].shape);
}

std::vector<Entry> entries_of(const GgufFile& file, const GgufArchitecture& architecture, const Network& network,
                              std::set<const GgufTensor*>& used) {
  const std::map<int, OutputOrder> heads = head_sizes(network);
  std::vector<Entry> entries;
  for (std::size_t t = 0; t < network.tensors.size(); ++t) {
    const TensorSpec& spec = network.tensors[t];
    const auto name = name_of(architecture, spec.name);
    const GgufTensor* tensor = name ? file.find(name->first) : nullptr;
    if (!tensor) {
      throw input_error("{}: tensor {} is missing, expected with shape {}", file.where(),
                        in_quotes(name ? name->first : spec.name), shape_text(spec.shape));
    }
    if (!is_readable(*tensor->type)) {
      throw input_error("{}: tensor {} has type {}, expected {}", file.where(), in_quotes(tensor->name),
                        tensor->type->name, readable_ggml_types());
    }
    if (tensor->shape != spec.shape) {
      throw input_error("{}: tensor {} is {}, expected {} as the file's metadata say", file.where(),
                        in_quotes(tensor->name), shape_text(tensor->shape), shape_text(spec.shape));
    }
    Entry entry{tensor, {}};
    if (name->second != GgufOrder::kSame) {
      const auto found = heads.find(static_cast<int>(t));
      RANKFALL_DCHECK(found != heads.end());
      entry.order = found->second;
      entry.order.kind = name->second;
      if (entry.order.kind == GgufOrder::kNeighbours && entry.order.d_head % 2 != 0) {
        throw input_error("{}: heads have {} channels, expected an even number", file.where(), entry.order.d_head);
      }
    }
    used.insert(tensor);
    entries.push_back(entry);
  }
  return entries;
}

// Tensors inside the layers that the network has no part for would make the numbers those of another network.
std::vector<std::string> left_out(const GgufFile& file, const Network& network, const std::set<const GgufTensor*>& used,
                                  bool ignore_unused) {
  std::vector<std::string> inside;
  for (const GgufTensor& tensor : file.tensors()) {
    const bool in_layers = tensor.name.starts_with("blk.") || tensor.name.starts_with("enc.blk.");
    if (in_layers && !used.contains(&tensor)) inside.push_back(tensor.name);
  }
  if (inside.empty()) return {};
  const std::string which =
      fmt::format("{}: {} tensor{} inside the layers {} not used, {} first: the family {} has no such part",
                  file.where(), inside.size(), inside.size() == 1 ? "" : "s", inside.size() == 1 ? "is" : "are",
                  in_quotes(inside[0]), network.family);
  if (!ignore_unused) {
    throw input_error(
        "{}, and the numbers would be those of another network. OpenOptions::ignore_unused goes on "
        "without them",
        which);
  }
  return {which};
}

}  // namespace

Model open_gguf(const std::filesystem::path& path, bool ignore_unused) {
  Model model = gguf_model(GgufFile::open(path), ignore_unused);
  model.name = model.directory = path.string();
  return model;
}

Model gguf_model(std::shared_ptr<const GgufFile> file, bool ignore_unused) {
  const GgufValue* parts = file->value("split.count");
  if (const auto* count = parts ? std::get_if<std::int64_t>(parts) : nullptr; count && *count > 1) {
    constexpr std::string_view kJoin = "llama-gguf-split --merge";  // a command line
    throw input_error("{}: is one of {} parts of a model, expected the whole; `{} FIRST OUT` joins them", file->where(),
                      *count, kJoin);
  }
  const GgufArchitecture& architecture = gguf_architecture(*file);
  Model model;
  model.network = make_network(Config(gguf_config(*file), file->where(), ErrorKind::kInput));
  if (architecture.turned) turn(model.network);
  if (architecture.whole_gains) {
    for (TensorSpec& spec : model.network.tensors) spec.offset = 0;
  }
  std::set<const GgufTensor*> used;
  std::vector<Entry> entries = entries_of(*file, architecture, model.network, used);
  model.notes = left_out(*file, model.network, used, ignore_unused);
  model.weights = std::make_shared<GgufWeights>(std::move(file), std::move(entries));
  return model;
}

}  // namespace rankfall
