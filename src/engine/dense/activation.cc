#include "engine/dense/activation.h"

#include "engine/dense/activation_impl.h"

namespace rankfall {

template void activate<float>(Activation, MutableMatrixRef<float>);
template void activate<double>(Activation, MutableMatrixRef<double>);

}  // namespace rankfall
