#pragma once

#include <string_view>

namespace rankfall {

// Where a claim was made, and what would have refuted it: the rule by which its verdict is given, written down before
// anything is computed.
struct ClaimSource {
  std::string_view claim;  // AuditClaim::name
  std::string_view source, refuted_by;
};

// Throws std::logic_error for a name that is no claim: the table lacks a line.
const ClaimSource& source_of(std::string_view claim);

}  // namespace rankfall
