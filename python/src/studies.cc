#include <memory>
#include <string>
#include <vector>

#include <pybind11/stl.h>

#include "cli/call.h"
#include "module.h"
#include "results.h"

namespace rankfall::python {
namespace {

py::dict dict_of(const cli::Argument& argument) {
  py::dict out;
  out["name"] = argument.name;
  out["option"] = argument.option;
  out["help"] = argument.help;
  out["value"] = argument.value;
  out["default"] = argument.by_default;
  out["group"] = argument.group;
  out["required"] = argument.required;
  out["several"] = argument.several;
  out["joined"] = argument.joined;
  return out;
}

py::list functions() {
  py::list out;
  for (const cli::Function& function : cli::functions()) {
    py::dict one;
    one["name"] = function.name;
    one["summary"] = function.summary;
    one["notes"] = function.notes;
    py::list arguments;
    for (const cli::Argument& argument : function.arguments) arguments.append(dict_of(argument));
    one["arguments"] = arguments;
    out.append(one);
  }
  return out;
}

// Runs a study. `take` is called with the result, which is there even if a condition then turns out to hold.
void run_study(const std::string& name, const std::vector<std::string>& words, const py::dict& input,
               const py::object& report, const py::function& take) {
  cli::Host host;
  host.input = input_of(input);
  host.progress = progress_of(report);
  std::unique_ptr<ShownResult> taken;
  host.take = [&](const Result& result, const TableOptions& table) {
    taken = std::make_unique<ShownResult>(ShownResult{result, table});
  };
  const auto hand_over = [&] {
    if (taken) take(py::cast(std::move(taken)));
  };
  const int threads_before = threads();
  try {
    const Computing computing;
    cli::call(name, words, host);
    set_threads(threads_before);  // threads= is of this call
  } catch (...) {
    set_threads(threads_before);
    hand_over();
    throw;
  }
  hand_over();
}

}  // namespace

void bind_studies(py::module_& m) {
  m.def("functions", functions);
  m.def("run_study", run_study);
}

}  // namespace rankfall::python
