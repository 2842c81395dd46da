#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "render/terminal/paint.h"
#include "render/terminal/screen_text.h"
#include "view/view.h"
#include <rankfall/report.h>

namespace rankfall {

// A terminal that text grows on. Whatever comes from a view goes through text() once, which makes it harmless and,
// without Unicode, ASCII.
struct Screen {
  explicit Screen(const TableOptions& table_options) : options(table_options), paint(table_options.colour) {}

  std::string text(std::string_view from_view) const { return screen_text(from_view, options.unicode); }

  // Harmless text, without spaces at the end.
  void line(std::string harmless);
  // Wrapped, each line in this colour.
  void paragraph(std::string_view from_view, Colour colour = Colour::kPlain, int indent = 0);
  // A title in bold and what it is about: on one line if it fits, else below it; what it is a mean of stays beside it.
  // Harmless text stays what it is.
  void title(std::string_view title, std::string_view about, std::string_view mean = "");
  // `name` in its colour, the text beside it, wrapped; names are as wide as `width`.
  void beside(std::string_view name, int width, Tone tone, std::string_view from_view, Colour colour = Colour::kPlain);
  // A mark that is used: the legend at the end says what it means.
  std::string mark(Status status);

  const TableOptions& options;
  Painter paint;
  std::string out;
  std::set<Status> marks;
  bool has_plot = false;
};

Colour colour_of(Tone tone);
// Explains each mark that was used.
std::vector<std::string> legend(const std::set<Status>& marks);

void draw(const Curves& curves, const std::vector<Series>& series, Screen& screen);
void draw(const Table& table, Screen& screen);
void draw(const Heat& heat, Screen& screen);

}  // namespace rankfall
