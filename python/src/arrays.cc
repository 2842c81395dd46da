#include "arrays.h"

#include <cstdint>
#include <optional>

#include <pybind11/stl.h>

#include "module.h"
#include <rankfall/array_metrics.h>

namespace rankfall::python {
namespace {

using Mask = std::optional<Dense<std::uint8_t>>;

// One row of a mask for each of n matrices; a mask of fewer rows is repeated for the heads of a sample.
template <class T>
ArrayBatch<T> batch_of(const Dense<T>& array, const Mask& mask) {
  ArrayBatch<T> batch{matrices_of(array), {}};
  if (!mask) return batch;
  const Index n_masks = mask->shape(0);
  const Index length = mask->shape(1);
  const Index n = std::ssize(batch.samples);
  for (Index i = 0; i < n; ++i) {
    const Index row = n_masks == 0 ? 0 : i / std::max<Index>(1, n / n_masks);
    const std::uint8_t* first = mask->data() + row * length;
    batch.valid.emplace_back(first, first + length);
  }
  return batch;
}

py::tuple tuple_of(ArrayMetrics&& metrics) {
  return py::make_tuple(metrics.names, array_of(std::move(metrics.values)));
}

template <class T>
py::tuple states(const Dense<T>& x, const Mask& mask, const std::vector<std::string>& names) {
  ArrayMetrics out;
  {
    const auto batch = batch_of(x, mask);
    const Computing computing;
    out = state_metrics(batch, names);
  }
  return tuple_of(std::move(out));
}

template <class T>
py::tuple attentions(const Dense<T>& p, const Mask& mask, const std::vector<std::string>& names) {
  ArrayMetrics out;
  {
    const auto batch = batch_of(p, mask);
    const Computing computing;
    out = attention_metrics(batch, names);
  }
  return tuple_of(std::move(out));
}

template <class T>
std::vector<double> influence(const Dense<T>& before, const Dense<T>& after, const Mask& mask) {
  const auto a = batch_of(before, mask);
  const auto b = batch_of(after, mask);
  const Computing computing;
  return block_influence(a, b);
}

template <class T>
py::tuple logits(const Dense<T>& q, const Dense<T>& k, double scale, bool causal, const Mask& mask) {
  const auto queries = matrices_of(q);
  const auto keys = batch_of(k, mask);
  std::vector<double> max_logit, logit_range;
  {
    const Computing computing;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const auto measures = logit_measures<T>(queries[i], keys.samples[i], scale, causal,
                                              keys.valid.empty() ? std::vector<std::uint8_t>() : keys.valid[i]);
      max_logit.push_back(measures.max_logit);
      logit_range.push_back(measures.logit_range);
    }
  }
  return py::make_tuple(max_logit, logit_range);
}

template <class T>
void bind_for(py::module_& m) {
  m.def("state_metrics", states<T>, py::arg("x").noconvert(), py::arg("mask"), py::arg("metrics"));
  m.def("attention_metrics", attentions<T>, py::arg("p").noconvert(), py::arg("mask"), py::arg("metrics"));
  m.def("block_influence", influence<T>, py::arg("before").noconvert(), py::arg("after").noconvert(), py::arg("mask"));
  m.def("logit_measures", logits<T>, py::arg("q").noconvert(), py::arg("k").noconvert(), py::arg("scale"),
        py::arg("causal"), py::arg("mask"));
}

}  // namespace

void bind_arrays(py::module_& m) {
  bind_for<float>(m);
  bind_for<double>(m);
  m.def("state_metric_names", state_metric_names);
  m.def("attention_metric_names", attention_metric_names);
}

}  // namespace rankfall::python
