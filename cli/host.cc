#include "cli/host.h"

namespace rankfall::cli {
namespace {

thread_local const Host* current_host = nullptr;

}  // namespace

const Host* host() { return current_host; }

HostScope::HostScope(const Host& host) { current_host = &host; }
HostScope::~HostScope() { current_host = nullptr; }

}  // namespace rankfall::cli
