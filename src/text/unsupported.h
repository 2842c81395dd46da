#pragma once

#include <string>

#include "network/config.h"

namespace rankfall {

// A tokenizer's file asks for something that is not supported. Skipping it would give other tokens, so it is refused,
// with the way out that every model has.
[[noreturn]] inline void fail_unsupported(const Config& node, const std::string& what) {
  node.fail(what + " is not supported; token ids from another tokenizer can be given instead (InputOptions::ids)");
}
template <class... Args>
[[noreturn]] void fail_unsupported(const Config& node, fmt::format_string<Args...> format, Args&&... args) {
  fail_unsupported(node, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace rankfall
