#pragma once

#include <stdexcept>
#include <string>

namespace rankfall {

// A broken invariant: a bug of ours, not of the input. The command exits with 70.
class Bug : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace rankfall

// Checks an invariant in builds with RANKFALL_DCHECKS; elsewhere the condition is not evaluated.
#ifdef RANKFALL_DCHECKS
#define RANKFALL_DCHECK(condition)                                                                     \
  do {                                                                                                 \
    if (!(condition)) {                                                                                \
      throw ::rankfall::Bug(std::string(__FILE__ ":") + std::to_string(__LINE__) + ": " + #condition); \
    }                                                                                                  \
  } while (false)
#else
#define RANKFALL_DCHECK(condition) static_cast<void>(sizeof(!(condition)))
#endif
