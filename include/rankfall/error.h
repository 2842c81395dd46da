#pragma once

#include <stdexcept>
#include <string>

#include <rankfall/export.h>

namespace rankfall {

// What went wrong, as the command's exit code says it.
enum class ErrorKind {
  kUsage = 2,      // impossible request: option, specification, size
  kInput = 3,      // a file that cannot be read or is not what it should be
  kNumerical = 4,  // NaN or infinity, no memory
  kClaim = 5,      // a proved claim or a threshold did not hold
};

// Bad input of any kind. The text says where, what was found, what was expected, and the likely cause.
class RANKFALL_API Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace rankfall
