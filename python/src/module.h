#pragma once

#include <optional>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <rankfall/input.h>
#include <rankfall/process.h>

// What the files of the Python module share. Each binds what its name says; the pure Python around them is
// python/rankfall/.

namespace rankfall::python {

namespace py = pybind11;

void bind_errors(py::module_& m);
void bind_results(py::module_& m);
void bind_studies(py::module_& m);
void bind_models(py::module_& m);
void bind_arrays(py::module_& m);

// Calls into the library, one after the other, without the interpreter's lock: OpenBLAS's number of threads belongs to
// the whole process. Calls back into Python (progress) take the lock for themselves; a call from there would wait for
// itself, and is an Error (kUsage). Ctrl-C ends waiting for a turn. A forked child begins with a free turn. Meanwhile
// mapped files are guarded: faulthandler, which has SIGBUS where it is enabled, gets what faults elsewhere.
class Computing {
 public:
  Computing();
  ~Computing();
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;

 private:
  std::optional<py::gil_scoped_release> released_;
  std::optional<MappedFilesGuard> guard_;
};

// Calls `report(done, total, what)` now and then, where it is not None, and ends the job with the exception that it
// raises, or KeyboardInterrupt after Ctrl-C.
Progress progress_of(const py::object& report);

// Samples from Python: the keys of InputOptions as a dict {"texts": [...], "ids": [...], "hidden": [...], ...}.
InputOptions input_of(const py::dict& given);

}  // namespace rankfall::python
