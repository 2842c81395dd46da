#pragma once

#include <string>

#include <rankfall/progress.h>

namespace rankfall {

// Progress of one of `count` equal jobs, as progress of all.
inline Progress part_of(const Progress& progress, double index, double count, const std::string& what) {
  if (!progress) return {};
  return [=](double done, double total, std::string_view) { progress(index + done / total, count, what); };
}

}  // namespace rankfall
