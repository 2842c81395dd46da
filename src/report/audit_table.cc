#include "report/audit_table.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "report/paint.h"
#include "report/screen_text.h"

namespace rankfall {
namespace {

Colour claim_colour(const Row& row) {
  if (row.kind == "unexpected") return Colour::kBad;
  switch (row.status) {
    case Status::kHolds:
    case Status::kMeasured:
    case Status::kAgrees:
      return Colour::kGood;
    case Status::kDiffers:
      return Colour::kBad;
    case Status::kViolated:
      return Colour::kWarn;
    default:
      return Colour::kBold;
  }
}

}  // namespace

std::string audit_table(const Result& result, const TableOptions& options) {
  const Painter paint(options.colour);
  std::string out;
  std::string last;
  for (const Row& row : result.rows) {
    const std::string_view what = std::string_view(row.metric).substr(row.metric.find('.') + 1);
    const bool is_verdict = what == "verdict", is_statement = what == "statement" || what == "criterion";
    if (!is_verdict && !is_statement && what != "evidence" && what != "stopped" && what != "witness") continue;
    if (row.verdict.empty()) continue;
    if (row.claim != last) {
      if (!last.empty()) out += '\n';
      out += paint(Colour::kBold, screen_name(row.claim, options.unicode)) + '\n';
      last = row.claim;
    }
    std::string text = screen_prose(row.verdict, options.unicode);
    if (is_verdict && row.kind == "unexpected") text += ", which is not the recorded verdict";
    const Colour colour = is_verdict                       ? claim_colour(row)
                          : is_statement                   ? Colour::kPlain
                          : row.status == Status::kWarning ? Colour::kWarn
                                                           : Colour::kDim;
    for (const auto& line : wrap(text, options.width - 4, options.unicode)) {
      out += "    " + paint(colour, line) + '\n';
    }
  }
  return out;
}

}  // namespace rankfall
