#pragma once

#include <optional>
#include <string>

#include "report/table_text.h"

namespace rankfall {

// What Johnson-Lindenstrauss gives of one model and variant: a table for each claim, and what is found in words.
void add_sketches(const Rows& rows, TableText& out);

// Both tables of low-rank attention need these.
inline constexpr std::size_t kMostKinds = 24;  // beside each other; a file may have any number

std::optional<double> finite(std::optional<double> value);

// Three digits, or a dash.
std::string number(std::optional<double> value);

// Texts from a file, harmless on a terminal; signs are spelled out by who prints them.
std::string harmless(const std::string& text);

// "-0.412 +- 0.021" of a row that has a finite mean.
std::string power_text(const Row& row);

// Model and variant, then what is shown of them.
void lowrank_title(const Row& row, const std::string& words, TableText& out);

}  // namespace rankfall
