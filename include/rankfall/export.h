#pragma once

// RANKFALL_API marks what the shared library exports; everything else is hidden.
#define RANKFALL_API __attribute__((visibility("default")))
