#pragma once

namespace rankfall {

// What a forward pass computes in.
enum class Precision { kF32, kF64 };

}  // namespace rankfall
