#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/stl.h>

#include "arrays.h"
#include "module.h"
#include <rankfall/error.h>
#include <rankfall/forward.h>
#include <rankfall/model.h>
#include <rankfall/sample.h>
#include <rankfall/tokenizer.h>
#include <rankfall/variants.h>

namespace rankfall::python {
namespace {

// A list of arrays as samples. The arrays are checked by python/rankfall/arrays.py.
template <class Content>
void add_matrices(const py::handle& arrays, std::vector<Sample>& samples) {
  for (const py::handle& item : arrays) {
    const auto array = py::cast<Dense<double>>(item);
    samples.push_back({Content{Matrix<double>(matrices_of(array).at(0))}});
  }
}

void add_pixels(const py::handle& arrays, std::vector<Sample>& samples) {
  for (const py::handle& item : arrays) {
    const auto array = py::cast<Dense<double>>(item);  // [channels, rows, columns]
    const Index channels = array.shape(0);
    const Index rest = array.size() / std::max<Index>(1, channels);
    samples.push_back({Pixels{Matrix<double>(Eigen::Map<const Matrix<double>>(array.data(), channels, rest)), 0}});
  }
}

template <class T>
void add_rows(const py::handle& rows, std::vector<Sample>& samples, std::vector<T> Sample::*member) {
  std::size_t i = 0;
  for (const py::handle& row : rows) {
    if (i == samples.size()) throw Error(ErrorKind::kUsage, "more masks or segments than samples");
    samples[i++].*member = py::cast<std::vector<T>>(row);
  }
  if (i != samples.size()) throw Error(ErrorKind::kUsage, "fewer masks or segments than samples");
}

}  // namespace

InputOptions input_of(const py::dict& given) {
  InputOptions options;
  if (given.contains("texts")) options.texts = py::cast<std::vector<std::string>>(given["texts"]);
  auto samples = std::make_shared<std::vector<Sample>>();
  if (given.contains("ids")) {
    for (const py::handle& ids : given["ids"]) samples->push_back({py::cast<TokenIds>(ids)});
  }
  if (given.contains("features")) add_matrices<Features>(given["features"], *samples);
  if (given.contains("hidden")) add_matrices<HiddenState>(given["hidden"], *samples);
  if (given.contains("pixels")) add_pixels(given["pixels"], *samples);
  if (given.contains("mask")) add_rows<std::uint8_t>(given["mask"], *samples, &Sample::valid);
  if (given.contains("segments")) add_rows<std::int32_t>(given["segments"], *samples, &Sample::segments);
  if (!samples->empty()) options.samples = samples;
  return options;
}

namespace {

// Keeps copies of the chosen states and heads of one sample.
template <class T>
class Keeper final : public Observer<T> {
 public:
  Keeper(const std::set<Index>& chosen, const std::set<std::pair<Index, Index>>& heads)
      : states_(chosen), heads_(heads) {}

  Needs needs() const override {
    return {.hidden = !states_.empty(),
            .attention = heads_.empty() ? Needs::Attention::kNone : Needs::Attention::kWhole};
  }
  void hidden(Index state, const MatrixRef<T>& x) override {
    if (states_.contains(state)) states[state] = x;
  }
  void attention(Index block, Index head, const MatrixRef<T>& p) override {
    if (!heads_.contains({block, head})) return;
    const std::lock_guard lock(mutex_);
    attentions[{block, head}] = p;
  }

  std::map<Index, Matrix<T>> states;
  std::map<std::pair<Index, Index>, Matrix<T>> attentions;

 private:
  const std::set<Index>& states_;
  const std::set<std::pair<Index, Index>>& heads_;
  std::mutex mutex_;
};

struct ForwardRequest {
  std::set<Index> states;
  std::set<std::pair<Index, Index>> heads;
};

// Per sample: {"last": array, "states": {layer: array}, "attention": {(block, head): array}}.
template <class T>
py::list run_forward(const Model& model, const std::vector<Sample>& samples, const ForwardRequest& request,
                     const Progress& progress) {
  std::vector<std::unique_ptr<Keeper<T>>> keepers;
  std::vector<Observer<T>*> observers;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    keepers.push_back(std::make_unique<Keeper<T>>(request.states, request.heads));
    observers.push_back(keepers.back().get());
  }
  std::vector<Matrix<T>> last;
  {
    const Computing computing;
    last = forward<T>(model.network, *model.weights, samples, observers, {.progress = progress});
  }
  py::list out;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    py::dict states, attentions, one;
    for (auto& [state, x] : keepers[i]->states) states[py::int_(state)] = array_of(std::move(x));
    for (auto& [at, p] : keepers[i]->attentions) {
      attentions[py::make_tuple(at.first, at.second)] = array_of(std::move(p));
    }
    one["last"] = array_of(std::move(last[i]));
    one["states"] = states;
    one["attention"] = attentions;
    out.append(one);
  }
  return out;
}

py::tuple forward_of(const Model& model, const InputOptions& input, std::uint64_t seed, bool f64,
                     const std::vector<Index>& states, const std::vector<std::pair<Index, Index>>& heads,
                     const py::object& report) {
  ForwardRequest request{{states.begin(), states.end()}, {heads.begin(), heads.end()}};
  InputOptions options = input;
  if (options.tokenizer.empty()) options.tokenizer = model.directory;
  Inputs inputs;
  {
    const Computing computing;
    inputs = open_inputs(model.network, options, seed);
  }
  const Progress progress = progress_of(report);
  py::list out = f64 ? run_forward<double>(model, inputs.samples, request, progress)
                     : run_forward<float>(model, inputs.samples, request, progress);
  return py::make_tuple(out, inputs.notes);
}

py::object norm_words(const std::optional<Norm>& norm) {
  if (!norm) return py::none();
  return py::str(norm->kind == Norm::Kind::kLayer ? "layer" : norm->kind == Norm::Kind::kRms ? "rms" : "affine");
}

py::dict dict_of(const Branch& branch) {
  py::dict out;
  if (const auto* attention = std::get_if<Attention>(&branch.f)) {
    out["function"] = "attention";
    out["n_heads"] = attention->n_heads;
    out["n_kv_heads"] = attention->n_kv_heads;
    out["d_head"] = attention->d_head;
    out["scale_logits"] = attention->scale;
    out["causal"] = attention->mask.causal;
    out["window"] = attention->mask.window;
  } else if (const auto* mlp = std::get_if<Mlp>(&branch.f)) {
    out["function"] = "mlp";
    out["width"] = mlp->up.n_out();
    out["gated"] = mlp->gate.has_value();
  } else {
    out["function"] = "elementwise";
  }
  out["norm_in"] = norm_words(branch.in);
  out["norm_out"] = norm_words(branch.out);
  out["scale"] = branch.scale;
  return out;
}

py::dict dict_of(const SubLayer& layer) {
  py::dict out;
  out["block"] = layer.block;
  out["formula"] = formula(layer);
  out["skip"] = layer.skip;
  py::list branches;
  for (const Branch& branch : layer.branches) branches.append(dict_of(branch));
  out["branches"] = branches;
  out["norm_post"] = norm_words(layer.post);
  return out;
}

py::dict sizes_of(const Network& network) {
  py::dict out;
  out["family"] = network.family;
  out["n_blocks"] = network.sizes.n_blocks;
  out["n_heads"] = network.sizes.n_heads;
  out["d_model"] = network.sizes.d_model;
  out["vocab"] = network.sizes.vocab;
  out["max_positions"] = network.sizes.max_positions;
  return out;
}

py::list tensors_of(const Network& network) {
  py::list out;
  for (const TensorSpec& tensor : network.tensors) out.append(py::make_tuple(tensor.name, tensor.shape));
  return out;
}

Model rewritten(const Model& model, const Variant& variant) {
  Model out = model;
  out.network = apply(variant, model.network);
  return out;
}

}  // namespace

void bind_models(py::module_& m) {
  py::class_<InputOptions>(m, "Input").def(py::init([](const py::dict& given, const py::dict& options) {
    InputOptions input = input_of(given);
    for (const auto& [key, value] : options) {
      const auto name = py::cast<std::string>(key);
      if (name == "text") input.text = py::cast<std::string>(value);
      if (name == "ids") input.ids = py::cast<std::string>(value);
      if (name == "features") input.features = py::cast<std::string>(value);
      if (name == "hidden") input.hidden = py::cast<std::string>(value);
      if (name == "pixels") input.pixels = py::cast<std::vector<std::string>>(value);
      if (name == "tokenizer") input.tokenizer = py::cast<std::string>(value);
      if (name == "samples") input.n_samples = py::cast<Index>(value);
      if (name == "tokens") input.n_tokens = py::cast<Index>(value);
      if (name == "pad") input.pad = py::cast<bool>(value);
    }
    return input;
  }));
  py::class_<Model>(m, "Model")
      .def_readonly("name", &Model::name)
      .def_readonly("directory", &Model::directory)
      .def_readonly("drawn", &Model::drawn)
      .def_readonly("notes", &Model::notes)
      .def("digest",
           [](const Model& model) {
             const Computing computing;
             return model.weights->digest();
           })
      .def("describe", [](const Model& model) { return describe(model.network); })
      .def("layers",
           [](const Model& model) {
             py::list out;
             for (const SubLayer& layer : model.network.layers) out.append(dict_of(layer));
             return out;
           })
      .def("sizes", [](const Model& model) { return sizes_of(model.network); })
      .def("tensors", [](const Model& model) { return tensors_of(model.network); })
      .def("without",
           [](const Model& model, const std::string& parts) { return rewritten(model, variant_without(parts)); })
      .def("variant", [](const Model& model, const std::string& name) { return rewritten(model, variant_named(name)); })
      .def("with_attention",
           [](const Model& model, const std::string& kind) {
             Model out = model;
             out.network = with_attention(model.network, attention_named(kind));
             return out;
           })
      .def("forward", forward_of);
  m.def("load", [](const std::string& spec, std::uint64_t seed, std::optional<Index> depth, bool ignore_unused) {
    const Computing computing;
    return open_model(spec, seed, {depth, ignore_unused});
  });
  m.def("presets", preset_names);
  m.def("families", [] {
    std::vector<std::string> names;
    for (const FamilyInfo& family : family_infos()) names.push_back(family.model_type);
    return names;
  });
  m.def("attention_kinds", attention_names);
  m.def("set_threads", [](int n) {
    if (n < 1 || n > 4096) throw Error(ErrorKind::kUsage, "threads: expected 1 to 4096");
    set_threads(n);
  });
  m.def("threads", threads);
  m.def("tokenize", [](const std::string& directory, const std::string& text) {
    const auto tokenizer = Tokenizer::open(directory, SpecialTokens::kAsStored);
    py::list out;
    const auto add = [&](const Piece& piece) { out.append(py::make_tuple(piece.id, py::bytes(piece.text))); };
    for (const Piece& piece : tokenizer->front()) add(piece);
    for (const Piece& piece : tokenizer->pieces(text)) add(piece);
    for (const Piece& piece : tokenizer->back()) add(piece);
    return out;
  });
}

}  // namespace rankfall::python
