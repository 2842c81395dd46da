#pragma once

#include <rankfall/export.h>

namespace rankfall {

// Weights and inputs are read from mapped files, and the kernel ends a process with SIGBUS that reads a part of one
// which another program has cut off, or which the disk cannot read. After this call such a part reads as zeros instead,
// and the forward pass that used it ends in Error kInput, with the file's name. The command line calls it; a program
// that uses the library decides. Takes the signal SIGBUS for the whole process, unless it has a handler already; faults
// elsewhere end the process as before.
RANKFALL_API void guard_mapped_files();

// Throws Error kInput if such a part was read: of a file in use as long as it is, of a closed one once. Forward passes
// look for themselves at the files of their weights, after every sub-layer (WeightSource::check); call this before
// trusting what was computed from files in other ways.
RANKFALL_API void check_mapped_files();

}  // namespace rankfall
