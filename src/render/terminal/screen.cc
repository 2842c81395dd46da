#include "render/terminal/screen.h"

#include <algorithm>
#include <iterator>

namespace rankfall {
namespace {

struct Mark {
  Status status;
  std::string_view mark, meaning;
};

// In at most four columns.
constexpr Mark kMarks[] = {
    {Status::kRoundingFloor, "·floor", "rounding noise, not a property of the network"},
    {Status::kBelowFloat32, "<f32", "below the rounding floor of float32; only exact arithmetic sees it"},
    {Status::kBelowFloat64, "<f64", "below the rounding floor of float64; only exact arithmetic sees it"},
    {Status::kOutOfRange, "<<", "below 10^(-10^308), where logarithms end"},
    {Status::kNotCarried, "?", "not carried by double precision either (metric log10_error)"},
    {Status::kExactlyZero, "= 0", "exactly zero"},
    {Status::kHolds, "ok", "applies and holds"},
    {Status::kVacuous, "vac", "vacuous: holds, but the bound exceeds the residual that enters the block"},
    {Status::kNotApplicable, "n/a", "does not apply: a condition fails"},
    {Status::kViolated, "!!", "violated"},
};

}  // namespace

Colour colour_of(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return Colour::kGood;
    case Tone::kWarning:
      return Colour::kWarn;
    case Tone::kBad:
      return Colour::kBad;
    case Tone::kNeutral:
      break;
  }
  return Colour::kBold;
}

std::vector<std::string> legend(const std::set<Status>& marks) {
  std::vector<std::string> out;
  for (const Mark& mark : kMarks) {
    if (marks.contains(mark.status)) out.push_back(std::string(mark.mark) + ": " + std::string(mark.meaning));
  }
  return out;
}

std::string Screen::mark(Status status) {
  const auto* found = std::ranges::find(kMarks, status, &Mark::status);
  if (found == std::end(kMarks)) return "";
  marks.insert(status);
  return text(found->mark);
}

void Screen::line(std::string harmless) {
  harmless.erase(harmless.find_last_not_of(' ') + 1);
  out += harmless + '\n';
}

void Screen::paragraph(std::string_view from_view, Colour colour, int indent) {
  for (const auto& part : wrap(text(from_view), options.width - indent, options.unicode)) {
    line(std::string(static_cast<std::size_t>(indent), ' ') + paint(colour, part));
  }
}

void Screen::title(std::string_view title, std::string_view about, std::string_view mean) {
  const std::string name = text(title);
  std::string what(about);
  if (!mean.empty()) what += (about.empty() ? "" : " · ") + std::string(mean);
  const auto fits = [&](std::string_view beside) {
    return display_width(name) + 2 + display_width(text(beside)) <= options.width;
  };
  const auto one_line = [&](std::string_view beside) {
    line(paint(Colour::kBold, name) + (name.empty() ? "" : "  ") + paint(Colour::kDim, text(beside)));
  };
  if (name.empty() && what.empty()) return;
  if (fits(what)) return one_line(what);
  if (!name.empty() && !mean.empty() && fits(mean)) {
    one_line(mean);
    what = about;
  } else {
    constexpr std::size_t kMostLines = 3;  // of a name from a file
    auto parts = wrap(name, options.width, options.unicode);
    parts.resize(name.empty() ? 0 : std::min(parts.size(), kMostLines));
    for (const auto& part : parts) line(paint(Colour::kBold, part));
  }
  if (!what.empty()) paragraph(what, Colour::kDim, name.empty() ? 0 : 2);
}

void Screen::beside(std::string_view name, int width, Tone tone, std::string_view from_view, Colour colour) {
  constexpr int kGap = 2;
  std::string begin = width == 0 ? "" : paint(colour_of(tone), fit(text(name), width, Align::kLeft, options.unicode));
  const int indent = width == 0 ? 0 : width + kGap;
  for (const auto& part : wrap(text(from_view), std::max(20, options.width - indent), options.unicode)) {
    line(begin + (width == 0 ? "" : std::string(kGap, ' ')) + paint(colour, part));
    begin.assign(static_cast<std::size_t>(width), ' ');
  }
}

}  // namespace rankfall
