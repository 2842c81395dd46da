#pragma once

#include <iosfwd>
#include <string>
#include <utility>

#include <rankfall/export.h>

namespace rankfall {

// A sentence for people. It can be made and printed, and nothing else: there is no way to compare it, search it or take
// it apart, so that nothing can come to depend on its wording. What programs need to know is beside it as data (Status,
// Reason, numbers).
class Prose {
 public:
  Prose() = default;
  Prose(std::string text) : text_(std::move(text)) {}  // NOLINT(google-explicit-constructor): sentences are assigned
  Prose(const char* text) : text_(text) {}             // NOLINT(google-explicit-constructor)

  bool empty() const { return text_.empty(); }

  // Appends it to what is being written.
  void print(std::string& out) const { out += text_; }
  RANKFALL_API friend std::ostream& operator<<(std::ostream& out, const Prose& prose);

 private:
  std::string text_;
};

}  // namespace rankfall
