#pragma once

#include <string>
#include <string_view>

namespace rankfall {

enum class Colour { kPlain, kBold, kDim, kBar, kGood, kWarn, kBad };

// Wraps text in ANSI escapes, or leaves it alone: the one place that knows them.
class Painter {
 public:
  explicit Painter(bool colour) : colour_(colour) {}

  std::string operator()(Colour colour, std::string_view text) const {
    if (!colour_ || colour == Colour::kPlain || text.empty()) return std::string(text);
    return std::string(code(colour)) + std::string(text) + "\x1b[0m";
  }

 private:
  static std::string_view code(Colour colour) {
    switch (colour) {
      case Colour::kPlain:
        break;
      case Colour::kBold:
        return "\x1b[1m";
      case Colour::kDim:
        return "\x1b[2m";
      case Colour::kBar:
        return "\x1b[36m";
      case Colour::kGood:
        return "\x1b[1;32m";
      case Colour::kWarn:
        return "\x1b[1;33m";
      case Colour::kBad:
        return "\x1b[1;31m";
    }
    return "";
  }

  bool colour_;
};

}  // namespace rankfall
