#pragma once

#include <functional>

#include <rankfall/input.h>
#include <rankfall/process.h>
#include <rankfall/report.h>

// Another program that runs commands as functions (call.h), takes results as data and shows progress in its own way.

namespace rankfall::cli {

struct Host {
  InputOptions input = {};  // texts or samples in memory, instead of a file
  Progress progress = {};
  // Instead of files and standard output; before a condition that holds (fail_if) becomes an Error.
  std::function<void(const Result& result, const TableOptions& table)> take = {};
};

// The host of the call that runs in this thread; null in a command of its own.
const Host* host();

// Makes it so while this lives.
class HostScope {
 public:
  explicit HostScope(const Host& host);
  ~HostScope();
  HostScope(const HostScope&) = delete;
  HostScope& operator=(const HostScope&) = delete;
};

}  // namespace rankfall::cli
