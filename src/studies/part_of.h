#pragma once

#include <string>

#include <rankfall/process.h>

namespace rankfall {

// Progress of a job that is `size` out of `count`, and starts at `index`, as progress of all.
inline Progress part_of(const Progress& progress, double index, double count, const std::string& what,
                        double size = 1) {
  if (!progress) return {};
  return [=](double done, double total, std::string_view) { progress(index + size * done / total, count, what); };
}

}  // namespace rankfall
