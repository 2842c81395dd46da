#include "render/terminal/terminal.h"

#include <algorithm>

#include "render/terminal/screen.h"

namespace rankfall {
namespace {

constexpr int kMostSubject = 28;

void draw(const Sentences& sentences, Screen& screen) {
  int width = 0;
  for (const Sentence& one : sentences.list) width = std::max(width, display_width(screen.text(one.subject)));
  width = std::min({width, kMostSubject, screen.options.width - 22});
  for (const Sentence& one : sentences.list) screen.beside(one.subject, width, one.tone, one.text);
  if (!sentences.list.empty()) screen.out += '\n';
}

// A table beside it says the same.
void draw(const Tracks& /*tracks*/, Screen& /*screen*/) {}

}  // namespace

std::string terminal_text(const View& view, const TableOptions& given) {
  TableOptions options = given;
  options.width = std::max(options.width, 40);
  Screen screen(options);
  for (const Answer& answer : view.answers) screen.paragraph(answer.answer, colour_of(answer.tone));
  if (!view.answers.empty()) screen.out += '\n';
  if (!view.about.empty()) {
    screen.paragraph(view.about, Colour::kDim);
    screen.out += '\n';
  }
  for (const Figure& figure : view.figures) {
    if (figure.detail) continue;
    for (const Node& node : figure.nodes) {
      if (const auto* curves = std::get_if<Curves>(&node)) {
        rankfall::draw(*curves, figure.series, screen);
      } else {
        std::visit(
            [&](const auto& other) {
              if constexpr (!std::is_same_v<std::decay_t<decltype(other)>, Curves>) draw(other, screen);
            },
            node);
      }
    }
  }
  if (options.plot && !screen.has_plot) {
    screen.paragraph("Nothing to plot: this result has no curves.", Colour::kDim);
  }
  for (const std::string& line : legend(screen.marks)) screen.paragraph(line, Colour::kDim);
  for (const std::string& note : view.notes) screen.paragraph(note, Colour::kDim);
  return std::move(screen.out);
}

}  // namespace rankfall
