#pragma once

#include <string>

#include <fmt/format.h>

#include <rankfall/result.h>

// Lets fmt print sentences: fmt::format("{}: {}", name, row.verdict).
template <>
struct fmt::formatter<rankfall::Prose> : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(const rankfall::Prose& prose, Context& context) const {
    std::string text;
    prose.print(text);
    return fmt::formatter<fmt::string_view>::format(text, context);
  }
};
