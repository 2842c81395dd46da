#include "report/audit_table.h"

#include <algorithm>
#include <vector>

#include "report/paint.h"
#include "report/screen_text.h"

namespace rankfall {
namespace {

Colour colour_of(const Row& row) {
  if (row.kind == "unexpected") return Colour::kBad;
  if (row.verdict.starts_with("holds")) return Colour::kGood;
  return row.verdict.starts_with("fails") ? Colour::kWarn : Colour::kBold;
}

}  // namespace

std::string audit_table(const Result& result, const TableOptions& options) {
  const Painter paint(options.colour);
  std::string out;
  std::string last;
  for (const Row& row : result.rows) {
    const bool is_verdict = row.metric == "audit.verdict";
    if (!is_verdict && row.metric != "audit.statement" && row.metric != "audit.evidence" &&
        row.metric != "audit.witness") {
      continue;
    }
    if (row.claim != last) {
      if (!last.empty()) out += '\n';
      out += paint(Colour::kBold, screen_name(row.claim, options.unicode)) + '\n';
      last = row.claim;
    }
    std::string text = screen_name(row.verdict, options.unicode);
    if (is_verdict && row.kind == "unexpected") text += ", which is not the recorded verdict";
    const Colour colour = is_verdict ? colour_of(row) : row.metric == "audit.statement" ? Colour::kPlain : Colour::kDim;
    for (const auto& line : wrap(text, options.width - 4, options.unicode)) {
      out += "    " + paint(colour, line) + '\n';
    }
  }
  return out;
}

}  // namespace rankfall
