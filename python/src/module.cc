#include "module.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <thread>

#include <pthread.h>
#include <pybind11/stl.h>

#include "cli/call.h"
#include <rankfall/error.h>
#include <rankfall/version.h>

namespace rankfall::python {

namespace {

// Whose turn it is to compute.
struct Turn {
  std::timed_mutex mutex;
  std::atomic<std::thread::id> owner{};
};

Turn& turn() {
  static auto* one = new Turn;  // outlives whatever threads are left at exit
  return *one;
}

// A thread of the parent may have had the turn, and does not exist here.
void forget_turn() { new (&turn()) Turn; }

}  // namespace

Computing::Computing() {
  if (turn().owner.load() == std::this_thread::get_id()) {
    throw Error(ErrorKind::kUsage, "rankfall was called from within a call of its own (progress, a signal handler)");
  }
  released_.emplace();  // before waiting for a turn: whoever has it may want the interpreter
  while (!turn().mutex.try_lock_for(std::chrono::milliseconds(100))) {
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
  turn().owner = std::this_thread::get_id();
  guard_.emplace();
}

Computing::~Computing() {
  guard_.reset();
  turn().owner = std::thread::id();
  turn().mutex.unlock();
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
      PyErr_SetString(type.ptr(), cli::with_argument_names(error.what()).c_str());
    }
  });
  m.attr("version") = RANKFALL_VERSION;
  pthread_atfork(nullptr, nullptr, forget_turn);
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
