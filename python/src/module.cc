#include "module.h"

#include <chrono>

#include <pybind11/stl.h>

#include <rankfall/error.h>
#include <rankfall/version.h>

namespace rankfall::python {

std::mutex& Computing::mutex() {
  static std::mutex one;
  return one;
}

Progress progress_of(const py::object& report) {
  using Clock = std::chrono::steady_clock;
  const auto pause = std::chrono::milliseconds(50);
  // The caller of the study holds a reference while it runs.
  const py::handle listener = report.is_none() ? py::handle() : py::handle(report);
  return [listener, pause, next = Clock::now() + pause](double done, double total, std::string_view what) mutable {
    const auto now = Clock::now();
    if (now < next) return;
    next = now + pause;
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (listener) listener(done, total, py::str(what.data(), what.size()));
  };
}

void bind_errors(py::module_& m) {
  // The classes are Python's own (errors.py): by kind, with the result of a claim that did not hold.
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Error& error) {
      const char* name = "RankfallError";
      switch (error.kind()) {
        case ErrorKind::kUsage:
          name = "UsageError";
          break;
        case ErrorKind::kInput:
          name = "InputError";
          break;
        case ErrorKind::kNumerical:
          name = "NumericalError";
          break;
        case ErrorKind::kClaim:
          name = "ClaimError";
          break;
      }
      const py::object type = py::module_::import("rankfall.errors").attr(name);
      PyErr_SetString(type.ptr(), error.what());
    }
  });
  m.attr("version") = RANKFALL_VERSION;
}

}  // namespace rankfall::python

PYBIND11_MODULE(_core, m) {
  using namespace rankfall::python;
  m.doc() = "The C++ library; use `import rankfall`.";
  bind_errors(m);
  bind_results(m);
  bind_studies(m);
  bind_models(m);
  bind_arrays(m);
  rankfall::guard_mapped_files();
}
