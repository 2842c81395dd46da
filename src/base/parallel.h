#pragma once

#include <functional>

#include <rankfall/index.h>
#include <rankfall/process.h>

namespace rankfall {

// Calls body(i) for i in [0, n), on up to threads() threads, in any order; returns when all are done. May be nested: an
// inner call shares the same threads. Bodies must not depend on which thread runs them, so thread-local scratch is
// wrong here (a thread that waits in an inner call may start another outer body). If bodies throw, the exception of the
// smallest i is rethrown, whatever the number of threads, after all others ended.
void parallel_for(Index n, const std::function<void(Index)>& body);

}  // namespace rankfall
