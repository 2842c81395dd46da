#include "results.h"

#include <string>
#include <vector>

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "module.h"
#include "studies/doctor/doctor.h"
#include <rankfall/metric_info.h>

namespace rankfall::python {
namespace {

// Names of files may be any bytes: those that are not UTF-8 are Python's surrogates.
py::object text_object(std::string_view text) {
  return py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "surrogateescape"));
}

py::object value_of(const ManifestValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return text_object(*text);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    py::list list;
    for (const std::string& text : *texts) list.append(text_object(text));
    return list;
  }
  return std::visit([](const auto& v) -> py::object { return py::cast(v); }, value);
}

template <class T>
py::object or_none(const std::optional<T>& value) {
  return value ? py::cast(*value) : py::object(py::none());
}

py::object or_none(std::string_view text) { return text.empty() ? py::object(py::none()) : text_object(text); }

std::string text_of(const Prose& prose) {
  std::string text;
  prose.print(text);
  return text;
}

RowLevel level_of(const std::string& name) {
  if (name == "highest") return RowLevel::kHighest;
  if (name == "seeds") return RowLevel::kSeeds;
  if (name == "samples") return RowLevel::kSamples;
  return RowLevel::kAll;
}

// Columns by name, in the order of the files; None where a row has no value.
py::dict columns_of(const Result& result, const std::string& level) {
  const Result chosen = at_level(result, level_of(level));
  py::dict columns;
  const auto add = [&](const char* name, const auto& value) {
    py::list list;
    for (const Row& row : chosen.rows) list.append(value(row));
    columns[name] = list;
  };
  add("model", [](const Row& r) { return or_none(r.model); });
  add("variant", [](const Row& r) { return or_none(r.variant); });
  add("layer", [](const Row& r) { return or_none(r.layer); });
  add("head", [](const Row& r) { return or_none(r.head); });
  add("metric", [](const Row& r) { return or_none(r.metric); });
  add("mean", [](const Row& r) { return or_none(r.mean); });
  add("std", [](const Row& r) { return or_none(r.std); });
  add("n", [](const Row& r) { return or_none(r.n); });
  add("seed", [](const Row& r) { return or_none(r.seed); });
  add("sample", [](const Row& r) { return or_none(r.sample); });
  add("length", [](const Row& r) { return or_none(r.length); });
  add("origin", [](const Row& r) { return or_none(r.origin ? to_string(*r.origin) : std::string()); });
  add("path", [](const Row& r) { return or_none(r.path ? to_string(*r.path) : std::string()); });
  add("step", [](const Row& r) { return or_none(r.step); });
  add("kind", [](const Row& r) { return or_none(r.kind); });
  add("claim", [](const Row& r) { return or_none(r.claim); });
  add("tokens", [](const Row& r) { return or_none(r.tokens); });
  add("k", [](const Row& r) { return or_none(r.k); });
  add("basis", [](const Row& r) { return or_none(word(r.basis)); });
  add("status", [](const Row& r) { return or_none(word(r.status)); });
  add("reason", [](const Row& r) { return or_none(word(r.reason)); });
  add("text", [](const Row& r) { return or_none(r.text); });
  add("verdict", [](const Row& r) { return or_none(text_of(r.verdict)); });
  add("exact", [](const Row& r) { return or_none(r.exact); });
  return columns;
}

py::dict metric_dict(const MetricInfo& info) {
  py::dict out;
  out["name"] = info.name;
  out["words"] = info.words;
  out["formula"] = info.formula;
  out["tex"] = info.tex;
  out["unit"] = info.unit;
  out["group"] = info.group;
  out["members"] = info.members;
  return out;
}

}  // namespace

void bind_results(py::module_& m) {
  py::class_<ShownResult>(m, "Result")
      .def_property_readonly("command", [](const ShownResult& r) { return r.result.command; })
      .def_property_readonly("n_rows", [](const ShownResult& r) { return r.result.rows.size(); })
      .def("manifest",
           [](const ShownResult& r) {
             py::dict out;
             for (const auto& [key, value] : r.result.manifest.entries) out[py::str(key)] = value_of(value);
             return out;
           })
      .def("columns", [](const ShownResult& r, const std::string& level) { return columns_of(r.result, level); })
      .def("table",
           [](const ShownResult& r, int width, bool unicode, bool colour, bool plot,
              const std::vector<std::string>& metrics) {
             TableOptions options = r.table;
             options.width = width;
             options.unicode = unicode;
             options.colour = colour;
             options.plot = plot;
             if (!metrics.empty()) options.metrics = metrics;
             return to_table(r.result, options);
           })
      .def("answers", [](const ShownResult& r) { return answers(r.result, r.table); })
      .def("json", [](const ShownResult& r) { return to_json(r.result); })
      .def("csv",
           [](const ShownResult& r, const std::string& level) { return to_csv(at_level(r.result, level_of(level))); })
      .def("save",
           [](const ShownResult& r, const std::filesystem::path& file, const std::string& format,
              const std::string& level) {
             const Format as = format == "csv" ? Format::kCsv : format == "json" ? Format::kJson : Format::kTable;
             save(as == Format::kTable ? r.result : at_level(r.result, level_of(level)), file, as, r.table);
           })
      .def("charts", [](const ShownResult& r) {
        return make_page({{r.result.command, r.result}}).charts;
      });

  m.def("read_result", [](const std::filesystem::path& file) { return ShownResult{read_result(file).result, {}}; });
  m.def("result_from_json", [](const std::string& text) { return ShownResult{from_json(text, "the given text"), {}}; });
  m.def("save_page", [](const std::vector<std::pair<std::string, const ShownResult*>>& results,
                        const std::filesystem::path& file, const std::string& title) {
    std::vector<NamedResult> named;
    for (const auto& [name, shown] : results) named.push_back({name, shown->result});
    save(make_page(named, {.title = title, .subtitle = {}}), file, {});
  });
  m.def("metric_infos", [] {
    py::list out;
    for (const MetricInfo& info : all_metric_infos()) out.append(metric_dict(info));
    return out;
  });
  m.def("metric_info", [](const std::string& name) -> py::object {
    const auto info = find_metric(name);
    return info ? py::object(metric_dict(*info)) : py::object(py::none());
  });
  m.def("blas_kernel", [] {
    const BlasKernel kernel = loaded_blas_kernel();
    return std::pair(kernel.name, kernel.better);
  });
}

}  // namespace rankfall::python
