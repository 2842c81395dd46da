#include "model/activation.h"

#include "model/activation_impl.h"

namespace rankfall {

template void activate<float>(Activation, MutableMatrixRef<float>);
template void activate<double>(Activation, MutableMatrixRef<double>);

}  // namespace rankfall
