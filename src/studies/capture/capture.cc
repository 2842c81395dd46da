#include "studies/capture/capture.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/errors.h"
#include "base/mapped.h"
#include "io/dtype.h"
#include "io/safetensors_writer.h"
#include "result/manifest.h"
#include "studies/driver.h"
#include "studies/part_of.h"
#include <rankfall/forward.h>
#include <rankfall/model.h>

namespace rankfall {
namespace {

// Which of n things are kept, and where each goes.
class Selection {
 public:
  Selection(std::span<const Index> chosen, Index n, const char* what) : slots_(static_cast<std::size_t>(n), -1) {
    for (const Index given : chosen) {
      const Index i = given < 0 ? given + n : given;
      if (i < 0 || i >= n) {
        throw usage_error("{} {}; there are 0 to {}, or -1 to -{} from the end", what, given, n - 1, n);
      }
      if (slots_[static_cast<std::size_t>(i)] >= 0) throw usage_error("{} {} is given twice", what, i);
      slots_[static_cast<std::size_t>(i)] = 0;
    }
    for (Index i = 0; i < n; ++i) {
      if (chosen.empty() || slots_[static_cast<std::size_t>(i)] >= 0) {
        slots_[static_cast<std::size_t>(i)] = std::ssize(kept_);
        kept_.push_back(i);
      }
    }
  }

  // Place of i among the kept ones; -1: not kept.
  Index slot(Index i) const { return i < std::ssize(slots_) ? slots_[static_cast<std::size_t>(i)] : -1; }
  const std::vector<Index>& kept() const { return kept_; }  // in order
  Index size() const { return std::ssize(kept_); }
  bool all() const { return kept_.size() == slots_.size(); }

 private:
  std::vector<Index> slots_;
  std::vector<Index> kept_;
};

// Where everything goes; shared by all samples and variants.
struct Layout {
  Selection states, blocks, tokens;
  Index n_samples, n_tokens, n_heads, d_model;

  // Rows of hidden_states and of attentions, in the file's order.
  Index hidden_row(Index state_slot, Index sample, Index token_slot) const {
    return (state_slot * n_samples + sample) * tokens.size() + token_slot;
  }
  Index attention_row(Index block_slot, Index sample, Index head, Index token_slot) const {
    return ((block_slot * n_samples + sample) * n_heads + head) * tokens.size() + token_slot;
  }
};

// Writes what it sees of one sample. A row of the file is a token's state, or a query's attention.
template <class T>
class CaptureObserver final : public Observer<T> {
 public:
  CaptureObserver(const Layout& layout, SafetensorsWriter& writer, std::size_t hidden_tensor,
                  std::optional<std::size_t> attention_tensor, Index sample, Index length)
      : layout_(layout),
        writer_(writer),
        hidden_tensor_(hidden_tensor),
        attention_tensor_(attention_tensor),
        sample_(sample),
        length_(length) {}

  Needs needs() const override {
    return {.hidden = true, .attention = attention_tensor_ ? Needs::Attention::kRows : Needs::Attention::kNone};
  }

  void hidden(Index state, const MatrixRef<T>& x) override {
    const Index slot = layout_.states.slot(state);
    if (slot < 0) return;
    write(hidden_tensor_, layout_.d_model, 0, x, [&](Index token) { return layout_.hidden_row(slot, sample_, token); });
    write_zeros(hidden_tensor_, layout_.d_model, [&](Index token) { return layout_.hidden_row(slot, sample_, token); });
  }

  void attention_rows(Index block, Index head, Index first_row, const MatrixRef<T>& rows) override {
    const Index slot = layout_.blocks.slot(block);
    if (slot < 0) return;
    const auto row = [&](Index token) { return layout_.attention_row(slot, sample_, head, token); };
    write(*attention_tensor_, layout_.n_tokens, first_row, rows, row);
    if (first_row == 0) write_zeros(*attention_tensor_, layout_.n_tokens, row);
  }

 private:
  // Row r of `values` belongs to token first + r; it is followed by zeros up to `width`.
  template <class RowOf>
  void write(std::size_t tensor, Index width, Index first, const MatrixRef<T>& values, const RowOf& row_of) const {
    const bool whole = layout_.tokens.all() && values.cols() == width && values.outerStride() == width;
    if (whole) {
      put(tensor, row_of(first) * width, {values.data(), static_cast<std::size_t>(values.size())});
      return;
    }
    std::vector<T> row(static_cast<std::size_t>(width), T(0));
    for (Index r = 0; r < values.rows(); ++r) {
      const Index slot = layout_.tokens.slot(first + r);
      if (slot < 0) continue;
      std::copy_n(values.data() + r * values.outerStride(), values.cols(), row.begin());
      put(tensor, row_of(slot) * width, row);
    }
  }

  // Tokens that this sample does not have.
  template <class RowOf>
  void write_zeros(std::size_t tensor, Index width, const RowOf& row_of) const {
    const std::vector<T> row(static_cast<std::size_t>(width), T(0));
    for (const Index token : layout_.tokens.kept()) {
      if (token >= length_) put(tensor, row_of(layout_.tokens.slot(token)) * width, row);
    }
  }

  void put(std::size_t tensor, Index first, std::span<const T> values) const { writer_.write(tensor, first, values); }

  const Layout& layout_;
  SafetensorsWriter& writer_;
  std::size_t hidden_tensor_;
  std::optional<std::size_t> attention_tensor_;
  Index sample_, length_;
};

template <class T>
void run(const Network& network, const WeightSource& weights, std::span<const Sample> samples, const Layout& layout,
         SafetensorsWriter& writer, std::size_t hidden_tensor, std::optional<std::size_t> attention_tensor,
         const Progress& progress) {
  std::vector<std::unique_ptr<CaptureObserver<T>>> observers;
  std::vector<Observer<T>*> pointers;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    observers.push_back(std::make_unique<CaptureObserver<T>>(layout, writer, hidden_tensor, attention_tensor,
                                                             static_cast<Index>(s), samples[s].n_tokens()));
    pointers.push_back(observers.back().get());
  }
  forward<T>(network, weights, samples, pointers, {.progress = progress});
}

bool has_padding(std::span<const Sample> samples, Index n_tokens) {
  return std::ranges::any_of(
      samples, [&](const Sample& sample) { return !sample.valid.empty() || sample.n_tokens() != n_tokens; });
}

// One row of n_tokens integers for each sample.
template <class ValueOf>
void write_integers(SafetensorsWriter& writer, std::size_t tensor, const Layout& layout, const ValueOf& value_of) {
  std::vector<std::int64_t> row(static_cast<std::size_t>(layout.n_tokens));
  for (Index s = 0; s < layout.n_samples; ++s) {
    for (Index t = 0; t < layout.n_tokens; ++t) row[static_cast<std::size_t>(t)] = value_of(s, t);
    writer.write(tensor, s * layout.n_tokens, std::span<const std::int64_t>(row));
  }
}

std::string to_text(const ManifestValue& value) {
  return std::visit(
      []<class T>(const T& v) {
        if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          return fmt::format("{}", fmt::join(v, ", "));
        } else {
          return fmt::format("{}", v);
        }
      },
      value);
}

// The result must not take the place of what it is made from, and its parts are written in any order: no pipes.
void check_target(const std::string& spec, const std::filesystem::path& file, const CaptureOptions& options) {
  namespace fs = std::filesystem;
  const auto refuse = [&](const std::string& why) {
    throw usage_error("{}: {}", file.empty() ? "''" : file.string(), why);
  };
  std::error_code error;
  if (file.empty() || file == "-") refuse("expected a file's name: states are not written to standard output");
  if (!fs::exists(file, error)) return;
  if (!fs::is_regular_file(file, error)) refuse("is no regular file");
  std::vector<fs::path> sources = {options.input.text, options.input.ids, options.input.features, options.input.hidden};
  sources.insert(sources.end(), options.input.pixels.begin(), options.input.pixels.end());
  if (fs::is_directory(spec, error)) {
    for (const auto& entry : fs::directory_iterator(spec, error)) sources.push_back(entry.path());
  }
  for (const fs::path& source : sources) {
    if (fs::equivalent(file, source, error) && !error) refuse("is part of the model or its input");
  }
}

Layout make_layout(const Sizes& sizes, const InputSize& size, const CaptureOptions& options) {
  const Selection states(options.layers, sizes.n_blocks + 1, "layer");
  std::vector<Index> blocks;
  for (const Index state : states.kept()) {
    if (state < sizes.n_blocks) blocks.push_back(state);
  }
  if (options.attention && blocks.empty()) {
    throw usage_error("attention of layer {} alone, the last state; attention belongs to blocks 0 to {}",
                      sizes.n_blocks, sizes.n_blocks - 1);
  }
  return {states,
          Selection(blocks, sizes.n_blocks, "block"),
          Selection(options.positions, size.n_tokens, "position"),
          size.n_samples,
          size.n_tokens,
          sizes.n_heads,
          sizes.d_model};
}

// The file's tensors, and which of them are whose.
struct Plan {
  struct OfVariant {
    std::size_t hidden = 0;
    std::optional<std::size_t> attention;
  };
  std::vector<TensorPlan> tensors;
  std::vector<OfVariant> variants;
  std::optional<std::size_t> ids, mask;

  std::size_t add(TensorPlan tensor) {
    tensors.push_back(std::move(tensor));
    return tensors.size() - 1;
  }
};

Plan make_plan(const Layout& layout, std::span<const Sample> samples, const CaptureOptions& options) {
  const DType real = options.precision == Precision::kF32 ? DType::kF32 : DType::kF64;
  const auto variants = variants_or_full(options.variants);
  Plan plan;
  for (const Variant& variant : variants) {
    const std::string prefix = variants.size() > 1 ? variant.name + "/" : "";
    Plan::OfVariant& own = plan.variants.emplace_back();
    own.hidden = plan.add({prefix + "hidden_states",
                           real,
                           {layout.states.size(), layout.n_samples, layout.tokens.size(), layout.d_model}});
    if (!options.attention) continue;
    own.attention =
        plan.add({prefix + "attentions",
                  real,
                  {layout.blocks.size(), layout.n_samples, layout.n_heads, layout.tokens.size(), layout.n_tokens}});
  }
  const std::vector<Index> by_token = {layout.n_samples, layout.n_tokens};
  if (std::holds_alternative<TokenIds>(samples[0].content)) plan.ids = plan.add({"input_ids", DType::kI64, by_token});
  if (has_padding(samples, layout.n_tokens)) plan.mask = plan.add({"attention_mask", DType::kI64, by_token});
  return plan;
}

std::map<std::string, std::string> make_metadata(const Model& model, const Inputs& inputs, const Layout& layout,
                                                 const CaptureOptions& options) {
  Manifest manifest = base_manifest();
  add(manifest, "command", "capture");
  const auto variants = variants_or_full(options.variants);
  add(manifest, "variants", mapped<std::string>(variants, &Variant::name));
  add(manifest, "as_published", std::ranges::any_of(variants, &Variant::as_published));
  add(manifest, "precision", options.precision == Precision::kF32 ? "f32" : "f64");
  add_blas(manifest);
  add(manifest, "seed", options.seed);
  add(manifest, "layers", fmt::format("{}", fmt::join(layout.states.kept(), ", ")));
  add(manifest, "positions", layout.tokens.all() ? "all" : fmt::format("{}", fmt::join(layout.tokens.kept(), ", ")));
  Provenance provenance;
  provenance.add(model, options.input, inputs.source, size_of(inputs.samples));
  provenance.write(manifest);
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : manifest.entries) metadata[key] = to_text(value);
  return metadata;
}

void write_inputs(SafetensorsWriter& writer, const Plan& plan, const Layout& layout, std::span<const Sample> samples) {
  if (plan.ids) {
    write_integers(writer, *plan.ids, layout, [&](Index s, Index t) -> std::int64_t {
      const auto& ids = std::get<TokenIds>(samples[static_cast<std::size_t>(s)].content);
      return t < std::ssize(ids) ? ids[static_cast<std::size_t>(t)] : 0;
    });
  }
  if (plan.mask) {
    write_integers(writer, *plan.mask, layout, [&](Index s, Index t) -> std::int64_t {
      const Sample& sample = samples[static_cast<std::size_t>(s)];
      return t < sample.n_tokens() && (sample.valid.empty() || sample.valid[static_cast<std::size_t>(t)] != 0) ? 1 : 0;
    });
  }
}

}  // namespace

Captured capture(const std::string& spec, const std::filesystem::path& file, const CaptureOptions& options) {
  check_target(spec, file, options);
  const auto variants = variants_or_full(options.variants);
  const auto [model, inputs] = open_with_inputs(
      spec, options.seed, {{}, options.input.ignore_unused}, options.input,
      [&](const Model& opened, const InputSize& size) {
        check_memory(opened, variants,
                     {.n_samples = size.n_samples, .n_tokens = size.n_tokens, .precision = options.precision});
      });
  const Layout layout = make_layout(model.network.sizes, size_of(inputs.samples), options);
  const Plan plan = make_plan(layout, inputs.samples, options);
  SafetensorsWriter writer(file, plan.tensors, make_metadata(model, inputs, layout, options));
  write_inputs(writer, plan, layout, inputs.samples);
  for (std::size_t v = 0; v < variants.size(); ++v) {
    const Network network = apply(variants[v], model.network);
    const auto& own = plan.variants[v];
    const Progress progress = part_of(options.progress, static_cast<double>(v), static_cast<double>(variants.size()),
                                      model.name + " " + variants[v].name);
    const auto run_in = options.precision == Precision::kF32 ? run<float> : run<double>;
    run_in(network, *model.weights, inputs.samples, layout, writer, own.hidden, own.attention, progress);
  }
  writer.commit();

  Captured captured;
  for (const TensorPlan& tensor : plan.tensors) {
    captured.tensors.push_back({tensor.name, std::string(dtype_name(tensor.dtype)), tensor.shape});
  }
  captured.n_bytes = writer.n_bytes();
  captured.notes = model.notes;
  for (const auto& notes : {inputs.notes, notes_on_input(model, options.input)}) {
    captured.notes.insert(captured.notes.end(), notes.begin(), notes.end());
  }
  return captured;
}

}  // namespace rankfall
