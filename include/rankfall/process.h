#pragma once

#include <functional>
#include <string_view>

#include <rankfall/export.h>

namespace rankfall {

// Number of threads the library uses, 1 or more. Default: the cores this process may run on. Not a part of any result:
// results are bit-identical for every value. Process-wide; set it before calling anything else, not during a call.
RANKFALL_API void set_threads(int n);
RANKFALL_API int threads();

// Called from the thread that called the library, now and then: `done` of `total` units of work, and what is being
// done. The units are arbitrary but add up, so done/total is about the share of time gone. Throwing from it ends the
// job.
using Progress = std::function<void(double done, double total, std::string_view what)>;

// Weights and inputs are read from mapped files, and the kernel ends a process with SIGBUS that reads a part of one
// which another program has cut off, or which the disk cannot read. After this call such a part reads as zeros instead,
// and the forward pass that used it ends in Error kInput, with the file's name. The command line calls it; a program
// that uses the library decides. Takes the signal SIGBUS for the whole process, unless it has a handler already; faults
// elsewhere end the process as before.
RANKFALL_API void guard_mapped_files();

// The same for as long as it exists, and also where the process has a handler of SIGBUS, such as Python's faulthandler:
// faults elsewhere go to that handler, which is back when the last guard has ended. For programs that do not know what
// else runs in their process. Several may exist at once, in several threads.
class RANKFALL_API MappedFilesGuard {
 public:
  MappedFilesGuard();
  ~MappedFilesGuard();
  MappedFilesGuard(const MappedFilesGuard&) = delete;
  MappedFilesGuard& operator=(const MappedFilesGuard&) = delete;
};

// Throws Error kInput if such a part was read: of a file in use as long as it is, of a closed one once. Forward passes
// look for themselves at the files of their weights, after every sub-layer (WeightSource::check); call this before
// trusting what was computed from files in other ways.
RANKFALL_API void check_mapped_files();

}  // namespace rankfall
